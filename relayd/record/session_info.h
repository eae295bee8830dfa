/* SPDX-License-Identifier: MIT */
/*
 * What a session counts, and what is told of it: in the log when it ends, as
 * news, and to those who ask. The session's worker only.
 */
#ifndef RELAYD_RECORD_SESSION_INFO_H
#define RELAYD_RECORD_SESSION_INFO_H

#include <stdbool.h>

#include "relayd/stats/news.h"

struct session;
struct shard;

/* It is there: it is counted and told. */
void session_began(struct session *s);
/* Its control connection ends; ABORTED: by an error. Called while its streams
 * are still what the peer left. */
void session_ends(struct session *s, bool aborted);
/* All of it is written, and it is about to be freed: one line in the log. */
void session_has_ended(struct session *s);

/* Tell KIND of the session; not for losses and viewers. */
void session_tell(struct session *s, enum news_kind kind);

/* Answer what I asks of this shard's sessions. */
void shard_answer(const struct shard *sh, struct info *i);

#endif
