/* SPDX-License-Identifier: MIT */
/* Computed by top from two answers. Any thread. */
#ifndef TOOLS_CTL_TOP_H
#define TOOLS_CTL_TOP_H

#include <stdint.h>

#include "tools/ctl/options.h"
#include "tools/ctl/session.h"

/* Set the rates of NOW, requested NS after BEFORE; 0: there is no BEFORE. Both
 * are in the order of their ids. */
void top_rates(
    struct sessions *now, const struct sessions *before, uint64_t ns);

/* The sessions sorted by KEY, the largest first, or by name. The caller frees
 * the array. */
const struct relay_session **top_order(
    const struct sessions *s, enum sort_key key);

#endif
