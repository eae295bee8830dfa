/* SPDX-License-Identifier: MIT */
/*
 * How fast bytes may leave: a token bucket. It holds what 10 ms bring, 1 KiB at
 * least, and may be overdrawn by one message, so that any rate moves any
 * message. Once it is spent, nothing leaves before there is a grain again: all
 * that it holds, 64 KiB, or what a second brings, whichever is least. So bytes
 * go in pieces that are worth a call. Tokens are bytes. Single owner; the time
 * is the caller's.
 */
#ifndef TOOLS_CLIENT_PACE_H
#define TOOLS_CLIENT_PACE_H

#include <stddef.h>
#include <stdint.h>

struct pace {
	uint64_t rate; /* bytes per second; 0: no limit */
	int64_t tokens;
	uint64_t at_ns;
};

void pace_init(struct pace *p, uint64_t rate, uint64_t now_ns);
/* How many bytes may leave now; SIZE_MAX without a limit. */
size_t pace_allowance(struct pace *p, uint64_t now_ns);
void pace_spend(struct pace *p, size_t bytes);
/* When something may leave again; now_ns if it may now. */
uint64_t pace_ready_ns(const struct pace *p, uint64_t now_ns);

#endif
