/* SPDX-License-Identifier: MIT */
/* Figures as people read them, with their units. The script of page.html writes
 * them the same way. */
#ifndef RELAYD_HTTP_FIGURES_H
#define RELAYD_HTTP_FIGURES_H

#include <stdint.h>

#include "common/buf.h"

/* "1,234,567" */
void figures_count(struct buf *b, uint64_t n);
/* "0.4", "12", "1,234" */
void figures_number(struct buf *b, double n);
/* "999 B", "1.0 KiB" */
void figures_bytes(struct buf *b, double n);
/* The two largest units: "3 d 4 h", "12 min 5 s", "0 s". */
void figures_duration(struct buf *b, uint64_t seconds);

#endif
