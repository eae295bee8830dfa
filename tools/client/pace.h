/* SPDX-License-Identifier: MIT */
/*
 * How fast bytes may leave: a token bucket. The bucket holds what 10 ms bring,
 * at least 1 KiB. One message may overdraw it, so that any rate moves any
 * message. When it is empty, nothing leaves before it has a grain again. A
 * grain is the least of three: a full bucket, 64 KiB, what a second brings. So
 * each call moves enough bytes to be worth it. Tokens are bytes. Single owner;
 * the caller tells the time.
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
