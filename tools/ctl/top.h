/* SPDX-License-Identifier: MIT */
/* What top computes of two answers. Any thread. */
#ifndef TOOLS_CTL_TOP_H
#define TOOLS_CTL_TOP_H

#include <stdint.h>

#include "tools/ctl/options.h"
#include "tools/ctl/session.h"

/* The rates of NOW, which was asked for NS after BEFORE; 0: there was none.
 * Both are in the order of their ids. */
void top_rates(
    struct sessions *now, const struct sessions *before, uint64_t ns);

/* The sessions by KEY, the most first, by name the first first. The array is
 * the caller's. */
const struct session **top_order(const struct sessions *s, enum sort_key key);

#endif
