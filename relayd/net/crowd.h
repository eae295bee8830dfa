/* SPDX-License-Identifier: MIT */
/*
 * Who may wait in the lobby when many do: connections that have said nothing
 * yet cost a descriptor each, and tracers need theirs. Main thread.
 */
#ifndef RELAYD_NET_CROWD_H
#define RELAYD_NET_CROWD_H

#include <stdbool.h>

#include "common/compiler.h"

struct conn;
struct desk;

/*
 * C is new in the lobby D, not attached yet. When its share is used up,
 *	control: the one that waits longest goes, before others one that has
 *	    not said VERSION: a tracer says what it wants at once;
 *	data: a tracer's may be silent until its first packet, so who is there
 *	    stays, but for the newest of another host when few wait from C's.
 * False: C is turned away; the caller destroys it.
 */
bool crowd_admit(struct desk *d, struct conn *c) MUST_CHECK;

/* C leaves the lobby for a session. False: there is no descriptor for it; the
 * caller destroys it. */
bool crowd_leave(struct desk *d, struct conn *c) MUST_CHECK;

/* May another session begin, beside N? A line is logged if not. */
bool crowd_has_room_for_session(
    struct desk *d, const struct conn *c, unsigned n) MUST_CHECK;

#endif
