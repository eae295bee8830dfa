/* SPDX-License-Identifier: MIT */
/*
 * How --fd-pool-size is divided: what the daemon itself needs, and shares of
 * the rest. Together they never exceed it, so one share that is used up does
 * not harm the others. Main thread, before other threads start.
 */
#ifndef RELAYD_NET_DESCRIPTORS_H
#define RELAYD_NET_DESCRIPTORS_H

#include "common/compiler.h"
#include "common/status.h"

struct options;

/* Descriptors of an ordinary session: control and data connection, its
 * directory, its trace chunk, and the next chunk while it rotates. A session
 * begins only where so many are left, so that all can rotate at once. */
#define SESSION_FDS 5

struct descriptors {
	unsigned files;	  /* trace files, per worker */
	unsigned viewers; /* viewers' connections */
	unsigned ended;	  /* ended streams of each viewer (VIEWER_ENDED_MAX) */
};

/*
 * Sets the limits of the shares in common/fds.h. O->workers is lowered while
 * the daemon itself would need more than half of all descriptors; before that,
 * when hardly any are there, O->has_http is cleared. E_LIMIT:
 * there are too few, which is logged.
 */
enum status descriptors_divide(
    struct descriptors *out, struct options *o) MUST_CHECK;

/* What the daemon itself needs at most. */
unsigned descriptors_own(const struct options *o);
/* How many HTTP clients there may be; 0: there is no HTTP. */
unsigned descriptors_http(const struct options *o);
/* The same of the admin socket. */
unsigned descriptors_admin(const struct options *o);

#endif
