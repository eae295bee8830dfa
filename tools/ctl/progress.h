/* SPDX-License-Identifier: MIT */
/* How much of a file is done: a line on standard error, if it is a terminal. */
#ifndef TOOLS_CTL_PROGRESS_H
#define TOOLS_CTL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *name; /* as it can be shown; borrowed */
	uint64_t size;	  /* bytes in all */
	uint64_t first;	  /* that were there at the beginning */
	uint64_t began_ns, shown_ns;
};

void progress_begin(
    struct progress *p, const char *name, uint64_t at, uint64_t size);
/* Is it time to show it again? */
bool progress_is_due(const struct progress *p);
/* AT bytes are there; may be called often. */
void progress_show(struct progress *p, uint64_t at);
void progress_end(struct progress *p, uint64_t at);

#endif
