/* SPDX-License-Identifier: MIT */
/*
 * Which connections may wait in the acceptor when there are many: each silent
 * connection costs a descriptor, and tracers need theirs. Main thread.
 */
#ifndef RELAYD_NET_ADMISSION_H
#define RELAYD_NET_ADMISSION_H

#include <stdbool.h>

#include "common/compiler.h"

struct conn;
struct desk;

/*
 * C is new in the acceptor D, and not attached yet. When its share is used up,
 *a connection is closed to make room: control: the oldest that has not said
 *VERSION, else the oldest: a tracer says what it wants at once; data: the
 *newest of another host, if few connections of C's host wait, else none: a
 *tracer's connection may be silent until its first packet. False: C is turned
 *away; the caller destroys it.
 */
bool admission_connect(struct desk *d, struct conn *c) MUST_CHECK;

/* C leaves the acceptor for a session. False: sessions have no descriptor left;
 * the caller destroys C. */
bool admission_take_session(struct desk *d, struct conn *c) MUST_CHECK;

/*
 * The last sessions that fit are for hosts that have few. Who has more is
 * refused first, and a host that is alone has nearly all. A session that is
 * there is never ended for another one, as its tracer would not come again.
 *	HOST_FEW: what one machine needs, kernel, 64-bit and 32-bit user space;
 *	HOST_RESERVE_PART: this part of all, but HOST_RESERVE_MIN at least, and
 *	    a quarter at most.
 */
#define HOST_FEW 3
#define HOST_RESERVE_PART 16
#define HOST_RESERVE_MIN 8

/* The same for a new session, beside the N that are there, OF_HOST of them of
 * C's host. False: no room for it, which is logged. */
bool admission_new_session(
    struct desk *d, struct conn *c, unsigned n, unsigned of_host) MUST_CHECK;
/* A session has gone, N are there: the others' descriptors may be lent. */
void admission_session_gone(unsigned n);

#endif
