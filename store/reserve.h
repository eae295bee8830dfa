/* SPDX-License-Identifier: MIT */
/*
 * Room on the disk of one output directory, as one worker sees it, and what is
 * done when there is none.
 *
 * Packets may be lost then; but what makes the rest readable must not be:
 * metadata, index records of packets that are there, folders, the journal. For
 * these each worker has a reserve, a file without a name in the output
 * directory. It is given up in parts as they need it
 * (reserve_release()), and filled again when there is room. While the disk is full,
 * packets are tried only when there is more room than the reserve lacks, so
 * that they do not take what was given up. When the process ends, in any way,
 * the file is gone.
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

/* Bytes of the reserve: metadata of 2,000 event classes and 50 folders, or the
 * records of 10,000 packets. On a small disk it is that part of it. */
#define RESERVE_BYTES (UINT64_C(1) << 20)
#define RESERVE_PART 64
/* So much of it is given up at a time: the largest thing that is written at
 * once, and its folder. */
#define RESERVE_STEP (UINT64_C(64) << 10)
/* How often a full disk is looked at, and a write is tried although there seems
 * to be no room: some file systems do not know. */
#define RESERVE_LOOK_NS (200 * NS_PER_MS)
#define RESERVE_TRY_NS (500 * NS_PER_MS)

struct reserve {
	int dir_fd; /* borrowed */
	int fd;	    /* of the reserve; -1: there is none */
	uint64_t held;
	bool is_forgone; /* there is to be no reserve */
	bool is_full;	 /* the last write that lacked room was the last one */
	uint64_t look_ns, try_ns;
};

/* Does ERROR, an errno, say that room lacks, or a quota is used up? */
static inline bool
errno_is_disk_full(int error)
{
	return error == ENOSPC || error == EDQUOT;
}

void reserve_init(struct reserve *r, int dir_fd);
void reserve_free(struct reserve *r);
/* From now on without a reserve: no file of the relay is open while nothing is
 * recorded, so that the file system can be mounted read-only. */
void reserve_disable(struct reserve *r);

/* A write or the making of a file or folder met no room. */
void reserve_disk_full(struct reserve *r);
/* A packet was written: there is room. */
static inline void
reserve_disk_ok(struct reserve *r)
{
	r->is_full = false;
}
/* May a packet of BYTES be tried now? */
bool reserve_may_write(struct reserve *r, uint64_t bytes);
/* Something that is needed met no room (E_NOSPC): true: try it again.
 * NULL: there is no reserve. */
bool reserve_release(struct reserve *r);

/* For the end of a turn: fill the reserve, see whether there is room again.
 * Returns after how many ns to call it again; UINT64_MAX: when something
 * happens. */
uint64_t reserve_tick(struct reserve *r);

#endif
