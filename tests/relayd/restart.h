/* SPDX-License-Identifier: MIT */
/*
 * A restart of what one live worker has, within one process: viewers are
 * written as a state and read back. Sessions, streams, logs and folders stay:
 * the program is linked with RESTART_LDFLAGS, which replace the functions that
 * write and read them.
 */
#ifndef TESTS_RELAYD_RESTART_H
#define TESTS_RELAYD_RESTART_H

#include "common/state.h"

struct viewers;

/* VS, which has no viewers, begins again with the same options and sessions, as
 * in the next process. */
void restart_viewers(struct viewers *vs);
/* What was written in O, with copies of its descriptors. */
void restart_read(struct state_in *in, const struct state_out *o);
/* Nothing that was written is needed any more. */
void restart_done(struct state_in *in, struct state_out *o);

#endif
