/* SPDX-License-Identifier: MIT */
/*
 * Which connections may wait on the acceptor while descriptors are short: each
 * silent connection costs one, and tracers need theirs. Main thread.
 */
#ifndef RELAYD_NET_ADMISSION_H
#define RELAYD_NET_ADMISSION_H

#include <stdbool.h>

#include "common/compiler.h"

struct conn;
struct conns;

/*
 * Take a descriptor for C, a new connection that is not attached to SET yet.
 * When the share of its kind is used up, another waiting connection is closed:
 *	control: the oldest that has not sent VERSION, else the oldest, because
 *	    a tracer sends its request at once;
 *	data: the newest of another host, if C's host has few that wait; else
 *	    none, because a tracer's data connection may be silent until its
 *	    first packet.
 * False: C is refused; the caller destroys it.
 */
bool admission_connect(struct conns *set, struct conn *c) MUST_CHECK;

/* C joins an existing session. False: the sessions' share of descriptors is
 * used up; the caller destroys C. */
bool admission_take_session(struct conns *set, struct conn *c) MUST_CHECK;

/*
 * The last slots for sessions are reserved for hosts with fewer than HOST_FEW
 * sessions; a single host may use all others. A running session never ends for
 * another one, because its tracer would not reconnect.
 *	HOST_FEW: what one machine needs: kernel, 64-bit and 32-bit user space;
 *	HOST_RESERVE_PART: one part in so many, at least HOST_RESERVE_MIN and at
 *	    most a quarter.
 */
#define HOST_FEW 3
#define HOST_RESERVE_PART 16
#define HOST_RESERVE_MIN 8

/* C requests a new session; N sessions exist, OF_HOST of them of C's host.
 * False: no slot is free, which is logged. */
bool admission_new_session(
    struct conns *set, struct conn *c, unsigned n, unsigned of_host) MUST_CHECK;
/* A session ended and N remain: its descriptors may be lent (common/fds.h). */
void admission_session_gone(unsigned n);

#endif
