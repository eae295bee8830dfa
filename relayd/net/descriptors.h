/* SPDX-License-Identifier: MIT */
/*
 * How --fd-pool-size is divided: what the daemon itself needs, and shares of
 * the rest. The shares never exceed the total, so that no use can take the
 * descriptors of another. Main thread, before other threads start.
 */
#ifndef RELAYD_NET_DESCRIPTORS_H
#define RELAYD_NET_DESCRIPTORS_H

#include "common/compiler.h"
#include "common/status.h"

struct options;

/* Descriptors of an ordinary session: control and data connection, its
 * directory, its trace chunk, and the next chunk while it rotates. A session is
 * admitted only while so many are free, so that all sessions can rotate at
 * once. */
#define SESSION_FDS 5

struct descriptors {
	unsigned files;	  /* trace files, per worker */
	unsigned viewers; /* viewers' connections */
	unsigned ended;	  /* ended streams of each viewer (VIEWER_ENDED_MAX) */
};

/*
 * Sets the limits of the shares in common/fds.h. With very few descriptors
 * O->has_http is cleared; then O->workers is lowered until the daemon itself
 * needs at most half of them. E_LIMIT: too few descriptors, which is logged.
 */
enum status descriptors_divide(
    struct descriptors *out, struct options *o) MUST_CHECK;

/* The descriptors that the daemon itself needs. */
unsigned descriptors_own(const struct options *o);
/* The largest number of HTTP clients; 0: HTTP is disabled. */
unsigned descriptors_http(const struct options *o);
/* The largest number of clients of the admin socket. */
unsigned descriptors_admin(const struct options *o);

#endif
