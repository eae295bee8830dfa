/* SPDX-License-Identifier: MIT */
/*
 * An account of the process's descriptors. Each use has a share, so that many
 * descriptors for one use take none from the others. Trace files have an
 * account of their own, in each store, and viewers' connections in their pool.
 * A share without a limit takes any number, as in most tests. Any thread.
 */
#ifndef COMMON_FDS_H
#define COMMON_FDS_H

#include <stdbool.h>
#include <stdint.h>

enum fds_share {
	FDS_SESSIONS,	  /* their connections and their folders */
	FDS_EXTRA,	  /* part of the former: beyond what a session needs */
	FDS_CONTROL,	  /* control connections that have no session yet */
	FDS_DATA,	  /* data connections without a first packet */
	FDS_VIEWER_FILES, /* files that viewers read */
	FDS_SHARES	  /* the number of shares */
};

/* Called before threads start. */
void fds_limit(enum fds_share s, uint64_t max);
uint64_t fds_max(enum fds_share s);

/* Take one descriptor. False, with errno EMFILE: the share is used up, nothing
 * was taken. */
bool fds_take(enum fds_share s);
void fds_give(enum fds_share s);
/*
 * Descriptors of FDS_SESSIONS that no session may need are lent for files that
 * can be closed at once. Without a limit of FDS_SESSIONS nothing is lent.
 */

/* N belong to the sessions that are there. False, and nothing changes: so many
 * are lent that they are not free. Main thread. */
bool fds_promise(uint64_t n);
/* N more are lent, unless less than a quarter of all would be free for sessions
 * that come. */
bool fds_lend(unsigned n);
void fds_lent_back(unsigned n);
/* So many sessions came that what is lent must go back soon: until it has, they
 * have that quarter. */
bool fds_are_wanted(void);
/* How many are taken. */
uint64_t fds_used(enum fds_share s);
/* How many more may be taken. */
uint64_t fds_left(enum fds_share s);

#endif
