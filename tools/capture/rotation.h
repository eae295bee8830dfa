/* SPDX-License-Identifier: MIT */
/* When an output begins a new part: a directory, or a file. */
#ifndef TOOLS_CAPTURE_ROTATION_H
#define TOOLS_CAPTURE_ROTATION_H

#include <stdbool.h>
#include <stdint.h>

struct rotation {
	uint64_t max_bytes, max_ns; /* of a part; 0: no limit */
	uint64_t bytes, began_ns;   /* of the current part */
};

/* Are MORE bytes too many for the current part? It takes any number of first
 * ones. */
static inline bool
rotation_is_full(const struct rotation *r, uint64_t more)
{
	return r->max_bytes != 0 && r->bytes != 0 &&
	       r->bytes + more > r->max_bytes;
}

/* Is the time of the current part over? */
static inline bool
rotation_is_over(const struct rotation *r, uint64_t now_ns)
{
	return r->max_ns != 0 && now_ns >= r->began_ns + r->max_ns;
}

static inline void
rotation_begin(struct rotation *r, uint64_t now_ns)
{
	r->bytes = 0;
	r->began_ns = now_ns;
}

#endif
