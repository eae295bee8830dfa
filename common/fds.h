/* SPDX-License-Identifier: MIT */
/*
 * The descriptors of the process. Each use has an account of its own, so that
 * many descriptors for one use take none from the others. Trace files have
 * their own limit, in each store, and viewers' connections an account in their
 * pool. Most tests set no limit. Any thread.
 */
#ifndef COMMON_FDS_H
#define COMMON_FDS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/account.h"

/* Raise the process' soft limit of descriptors to its hard limit; returns the
 * limit then. */
uint64_t fds_raise_limit(void);

enum fds_share {
	FDS_SESSIONS,	  /* connections and directories of sessions */
	FDS_EXTRA,	  /* part of these: more than a session needs */
	FDS_CONTROL,	  /* control connections without a session */
	FDS_DATA,	  /* data connections without a first packet */
	FDS_VIEWER_FILES, /* files that viewers read */
	FDS_SHARES	  /* the number of shares */
};

/* The limits are set before threads start. */
extern struct account fds[FDS_SHARES];

/* Count one descriptor. Returns false, with errno EMFILE, if the share is used
 * up. */
static inline bool
fds_take(enum fds_share s)
{
	if (account_take(&fds[s], 1))
		return true;
	errno = EMFILE;
	return false;
}

static inline void
fds_give(enum fds_share s)
{
	account_sub(&fds[s], 1);
}

/* The number that may still be taken. */
static inline uint64_t
fds_left(enum fds_share s)
{
	const uint64_t used = account_used(&fds[s]);

	return used < fds[s].hard ? fds[s].hard - used : 0;
}

/*
 * Descriptors of FDS_SESSIONS that no session needs now are lent for files that
 * can be closed at once. Without a limit of FDS_SESSIONS nothing is lent.
 */

/* Promise N descriptors to the current sessions together. Returns false, and
 * changes nothing, if they are not free because too many are lent. Main
 * thread. */
bool fds_promise(uint64_t n);
/* Lend N more, unless less than a quarter of all would be left for new
 * sessions. */
bool fds_lend(unsigned n);
void fds_lent_back(unsigned n);
/* Must lent descriptors be returned soon, because sessions need them? Until
 * then, new sessions have the quarter that fds_lend() leaves. */
bool fds_are_wanted(void);

#endif
