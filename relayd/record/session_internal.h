/* SPDX-License-Identifier: MIT */
/* What the files of a session share: session*.c. Nobody else includes it. */
#ifndef RELAYD_RECORD_SESSION_INTERNAL_H
#define RELAYD_RECORD_SESSION_INTERNAL_H

#include "relayd/record/session.h"

/* session_chunk.c */
/* Peers before 2.11 have no chunks: make the one that is the output
 * directory. */
enum status session_anonymous_chunk(struct session *s) MUST_CHECK;

/* session_place.c */
/* Bind to the chunk of a sibling, or to a directory (streaming 3.5.5). */
enum status session_find_place(struct session *s) MUST_CHECK;

/* session_path.c */
/* The session's path below the output directory (streaming 5.2). E_REFUSED,
 * E_NOMEM. */
enum status session_wanted_path(struct relpath **out,
    const struct relay_create_session *wish, bool by_session) MUST_CHECK;

#endif
