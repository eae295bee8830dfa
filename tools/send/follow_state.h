/* SPDX-License-Identifier: MIT */
/*
 * A file for the next tracepulse-send --follow: the identity of the session, so
 * that it goes on, and what is on the relay's disk, one line for each stream,
 * for relays that cannot say that. Who can read it may continue the session.
 */
#ifndef TOOLS_SEND_FOLLOW_STATE_H
#define TOOLS_SEND_FOLLOW_STATE_H

#include "common/compiler.h"
#include "common/status.h"
#include "tools/sink/sink.h"

struct followed;

/* Of SESSION: identity and creation_time. OK, too, if there is no file PATH
 * yet: they do not change. Not OK: f->error. */
enum status follow_state_read(struct followed *f, struct send_session *session,
    const char *path) MUST_CHECK;
/* What followed_note() noted. The file is replaced as a whole. E_IO: errno. */
enum status follow_state_write(const struct followed *f,
    const struct send_session *session, const char *path) MUST_CHECK;

#endif
