/* SPDX-License-Identifier: MIT */
/*
 * Ids and handles. Handles cannot be guessed; tests use a sequence instead, so
 * that replays are exact. One source per thread.
 */
#ifndef COMMON_IDS_H
#define COMMON_IDS_H

#include <stdbool.h>
#include <stdint.h>

struct id_source {
	bool is_sequence; /* tests: 1, 2, 3, ... instead of random bits */
	uint64_t next;
};

/* 56 random bits over WORKER in the low 8; never 0, never all ones. */
uint64_t ids_handle(struct id_source *src, unsigned worker);

/* The worker number in a handle. */
static inline unsigned
ids_worker(uint64_t handle)
{
	return (unsigned)(handle & 0xff);
}

/* 64 bits of the system's random source, for hash seeds. */
uint64_t ids_random(void);

#endif
