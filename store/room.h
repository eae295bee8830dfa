/* SPDX-License-Identifier: MIT */
/*
 * Room on the disk of one output directory, as one worker sees it, and what is
 * done when there is none.
 *
 * Packets may be lost then; but what makes the rest readable must not be:
 * metadata, index records of packets that are there, folders, the journal. For
 * these each worker has a reserve, a file without a name in the output
 * directory. It is given up in parts as they need it
 * (room_yield()), and filled again when there is room. While the disk is full,
 * packets are tried only when there is more room than the reserve lacks, so
 * that they do not take what was given up. When the process ends, in any way,
 * the file is gone.
 *
 * Single owner.
 */
#ifndef STORE_ROOM_H
#define STORE_ROOM_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "common/status.h"

/* Bytes of the reserve: metadata of 2,000 event classes and 50 folders, or the
 * records of 10,000 packets. On a small disk it is that part of it. */
#define ROOM_RESERVE (UINT64_C(1) << 20)
#define ROOM_RESERVE_PART 64
/* So much of it is given up at a time: the largest thing that is written at
 * once, and its folder. */
#define ROOM_YIELD (UINT64_C(64) << 10)
/* How often a full disk is looked at, and a write is tried although there seems
 * to be no room: some file systems do not know. */
#define ROOM_LOOK_NS (200 * NS_PER_MS)
#define ROOM_TRY_NS (500 * NS_PER_MS)

struct room {
	int dir_fd; /* borrowed */
	int fd;	    /* of the reserve; -1: there is none */
	uint64_t held;
	bool is_forgone; /* there is to be no reserve */
	bool is_full;	 /* the last write that lacked room was the last one */
	uint64_t look_ns, try_ns;
};

/* Does ERROR, an errno, say that room lacks, or a quota is used up? */
static inline bool
room_is_lack(int error)
{
	return error == ENOSPC || error == EDQUOT;
}

void room_init(struct room *r, int dir_fd);
void room_free(struct room *r);
/* From now on without a reserve: no file of the relay is open while nothing is
 * recorded, so that the file system can be mounted read-only. */
void room_forgo(struct room *r);

/* A write or the making of a file or folder met no room. */
void room_lacks(struct room *r);
/* A packet was written: there is room. */
static inline void
room_has(struct room *r)
{
	r->is_full = false;
}
/* May a packet of BYTES be tried now? */
bool room_may_try(struct room *r, uint64_t bytes);
/* Something that is needed met no room (E_NOSPC): true: try it again.
 * NULL: there is no reserve. */
bool room_yield(struct room *r);

/* For the end of a turn: fill the reserve, see whether there is room again.
 * Returns after how many ns to call it again; UINT64_MAX: when something
 * happens. */
uint64_t room_tick(struct room *r);

#endif
