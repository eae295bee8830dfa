/* SPDX-License-Identifier: MIT */
/*
 * --fd-pool-size, divided: what the daemon itself needs, and shares of the
 * rest. Together they never exceed it, so each share can be used up without
 * harm to the others. Main thread, before others start.
 */
#ifndef RELAYD_NET_DESCRIPTORS_H
#define RELAYD_NET_DESCRIPTORS_H

#include "common/compiler.h"
#include "common/status.h"

struct options;

/* An ordinary session: control and data connection, its directory, its trace
 * chunk with the folder of its streams, and both again while it rotates. One
 * begins only where so many are there for it. */
#define SESSION_FDS 7

struct descriptors {
	unsigned files;	  /* of trace files, per worker */
	unsigned viewers; /* viewers' connections */
	unsigned ended;	  /* sessions of each viewer (VIEWER_ENDED_MAX) */
};

/*
 * Limits the shares of common/fds.h. O->workers is lowered where they would
 * need more than half of what is there. E_LIMIT: too few, logged.
 */
enum status descriptors_divide(
    struct descriptors *out, struct options *o) MUST_CHECK;

/* What the daemon itself needs at most. */
unsigned descriptors_own(const struct options *o);

#endif
