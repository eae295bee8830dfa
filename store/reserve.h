/* SPDX-License-Identifier: MIT */
/*
 * Disk space for what makes recorded packets readable, for one output directory
 * and one worker.
 *
 * On a full disk packets may be lost, but metadata, index records of recorded
 * packets, folders and the journal must not be. For these each worker has a
 * reserve, a file without a name in the output directory. It is released in
 * steps as they need it (reserve_release()) and filled again when there is
 * space. While the disk is full, packets are written only if more space is free
 * than the reserve is short of, so that they do not take what was released. The
 * file disappears when the process ends, however it ends.
 *
 * Single owner.
 */
#ifndef STORE_RESERVE_H
#define STORE_RESERVE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "common/status.h"

/* The size of the reserve: metadata of 2,000 event classes and 50 folders, or
 * the records of 10,000 packets; at most this part of the disk. */
#define RESERVE_BYTES (UINT64_C(1) << 20)
#define RESERVE_PART 64
/* How much is released at a time: the largest write, and its folder. */
#define RESERVE_STEP (UINT64_C(64) << 10)
/* While the disk is full: how often its free space is checked, and how often a
 * write is tried in spite of it, as some file systems report it wrongly. */
#define RESERVE_LOOK_NS (200 * NS_PER_MS)
#define RESERVE_TRY_NS (500 * NS_PER_MS)

struct reserve {
	int dir_fd;	 /* borrowed */
	int fd;		 /* the reserve; -1: none */
	uint64_t held;	 /* bytes */
	bool is_forgone; /* reserve_disable() was called */
	/* No write has succeeded since one failed; false again when a packet is
	 * written. */
	bool is_full;
	uint64_t look_ns, try_ns;
};

/* Does ERROR, an errno, mean a full disk or a used-up quota? */
static inline bool
errno_is_disk_full(int error)
{
	return error == ENOSPC || error == EDQUOT;
}

void reserve_init(struct reserve *r, int dir_fd);
void reserve_free(struct reserve *r);
/* Use no reserve from now on: the relay then has no file open while nothing is
 * recorded, so that the file system can be mounted read-only. */
void reserve_disable(struct reserve *r);

/* A write or the creation of a file or folder failed with a full disk. */
void reserve_disk_full(struct reserve *r);
/* May a packet of BYTES be written now? While the disk is full, only if there
 * is space for it. */
bool reserve_may_write(struct reserve *r, uint64_t bytes);
/* Something necessary failed with E_NOSPC. Returns true if space was released,
 * and it should be tried again. R may be NULL: there is no reserve. */
bool reserve_release(struct reserve *r);

/* Fill the reserve and check for free space; call it at the end of a cycle.
 * Returns the number of ns until the next call; UINT64_MAX: none is needed
 * until a write fails or the reserve is released. */
uint64_t reserve_tick(struct reserve *r);

#endif
