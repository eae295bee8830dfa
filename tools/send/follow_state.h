/* SPDX-License-Identifier: MIT */
/* A file with what is on the relay's disk, for the next tracepulse-send
 * --follow: one line for each stream. */
#ifndef TOOLS_SEND_FOLLOW_STATE_H
#define TOOLS_SEND_FOLLOW_STATE_H

#include "common/compiler.h"
#include "common/status.h"

struct followed;

/* OK, too, if there is no file PATH yet. Not OK: f->error. */
enum status follow_state_read(struct followed *f, const char *path) MUST_CHECK;
/* What followed_mark() marked. The file is replaced as a whole. E_IO: errno. */
enum status follow_state_write(
    const struct followed *f, const char *path) MUST_CHECK;

#endif
