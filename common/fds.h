/* SPDX-License-Identifier: MIT */
/*
 * An account of the descriptors of the process. Each use has a share, so that
 * many descriptors for one use take none from the others. Trace files have
 * their own account, in each store, and viewers' connections in their pool. A
 * share without a limit is unlimited, as in most tests. Any thread.
 */
#ifndef COMMON_FDS_H
#define COMMON_FDS_H

#include <stdbool.h>
#include <stdint.h>

enum fds_share {
	FDS_SESSIONS,	  /* connections and directories of sessions */
	FDS_EXTRA,	  /* part of these: more than a session needs */
	FDS_CONTROL,	  /* control connections without a session */
	FDS_DATA,	  /* data connections without a first packet */
	FDS_VIEWER_FILES, /* files that viewers read */
	FDS_SHARES	  /* the number of shares */
};

/* Called before threads start. */
void fds_limit(enum fds_share s, uint64_t max);
uint64_t fds_max(enum fds_share s);

/* Count one descriptor. Returns false, with errno EMFILE, if the share is used
 * up. */
bool fds_take(enum fds_share s);
void fds_give(enum fds_share s);
/*
 * Descriptors of FDS_SESSIONS that no session needs now are lent for files that
 * can be closed at once. Without a limit of FDS_SESSIONS nothing is lent.
 */

/* N descriptors are promised to the current sessions. Returns false, and
 * changes nothing, if so many are lent that they are not free. Main thread. */
bool fds_promise(uint64_t n);
/* Lend N more, unless less than a quarter of all would be left for new
 * sessions. */
bool fds_lend(unsigned n);
void fds_lent_back(unsigned n);
/* There are so many sessions that lent descriptors must be returned soon; until
 * then, new sessions have that quarter. */
bool fds_are_wanted(void);
/* The number in use. */
uint64_t fds_used(enum fds_share s);
/* The number that may still be taken. */
uint64_t fds_left(enum fds_share s);

#endif
