/* SPDX-License-Identifier: MIT */
/* What libtrace knows of a packet, as a record. */
#ifndef TOOLS_CAPTURE_PACKET_H
#define TOOLS_CAPTURE_PACKET_H

#include <libtrace.h>
#include <stdbool.h>

#include "tools/capture/record.h"

/* RECORD but its order, and *BYTES, which are P's. False: it is no packet of a
 * network. */
bool packet_describe(
    libtrace_packet_t *p, struct record *record, const uint8_t **bytes);

#endif
