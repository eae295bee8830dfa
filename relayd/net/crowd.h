/* SPDX-License-Identifier: MIT */
/*
 * Which connections may wait in the lobby when there are many: each silent
 * connection costs a descriptor, and tracers need theirs. Main thread.
 */
#ifndef RELAYD_NET_CROWD_H
#define RELAYD_NET_CROWD_H

#include <stdbool.h>

#include "common/compiler.h"

struct conn;
struct desk;

/*
 * C is new in the lobby D, and not attached yet. When its share is used up, a
 * connection is closed to make room:
 *	control: the oldest that has not said VERSION, else the oldest: a tracer
 *	    says what it wants at once;
 *	data: the newest of another host, if few connections of C's host wait,
 *	    else none: a tracer's connection may be silent until its first
 *	    packet.
 * False: C is turned away; the caller destroys it.
 */
bool crowd_admit(struct desk *d, struct conn *c) MUST_CHECK;

/* C leaves the lobby for a session. False: sessions have no descriptor left;
 * the caller destroys C. */
bool crowd_leave(struct desk *d, struct conn *c) MUST_CHECK;

/* May another session begin beside the N that are there? If not, a line is
 * logged. */
bool crowd_has_room_for_session(
    struct desk *d, const struct conn *c, unsigned n) MUST_CHECK;

#endif
