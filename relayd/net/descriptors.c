/* SPDX-License-Identifier: MIT */
#include "relayd/net/descriptors.h"

#include <sys/resource.h>

#include "common/fds.h"
#include "common/log.h"
#include "relayd/net/health.h"
#include "relayd/process/options.h"
#include "relayd/live/viewer.h"

/* Standard streams 3, output directory 1, main loop 4, listening sockets with
 * their spare descriptors 8, pipe to the waiting parent or socket of the
 * journal 1, a file of the run directory 1. */
#define OWN_FDS (18 + HEALTH_CLIENTS_MAX)
/* Loop 2, UDP, output directory, journal, reserve, and 2 while folders are made
 * or moved. */
#define WORKER_FDS 8
/* The eventfd of the thread. */
#define SYNCER_FDS 2
/* Loop 2, and folders while a file is being opened. */
#define LIVE_WORKER_FDS 4
/* The parts are sixteenths of the rest; sessions have what remains. Idle trace
 * files can be closed and opened again, descriptors of sessions cannot. A
 * connection without a session needs its descriptor for a short time only,
 * unless many wait. */
#define PARTS 16
#define PARTS_FILES 2
#define PARTS_VIEWERS 1
#define PARTS_VIEWER_FILES 1
#define PARTS_CONTROL 1
#define PARTS_DATA 2
/* HTTP clients, of which at most 64 are served (relayd/http/server.h). */
#define PARTS_HTTP 1
#define HTTP_MAX 64
/* Loop 2, listening socket, the process's memory, one to wait by. */
#define HTTP_FDS 5
/* Loop 2, output directory and notes 3, the directory being deleted or measured
 * and one below it 4, and one for a look-up. */
#define RETENTION_FDS 10
/* Listening socket and clients of the admin socket. */
#define ADMIN_CLIENTS 4
#define ADMIN_FDS (1 + ADMIN_CLIENTS)
/* The smallest rest with which one session can be served. */
#define REST_MIN 20
#define SHARE_MIN 2
/* Sessions may together use one part in so many of their share beyond
 * SESSION_FDS each. */
#define EXTRA_PART 32

static unsigned
available(const struct options *o)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    limit.rlim_cur < o->fd_pool_size)
		return (unsigned)limit.rlim_cur;
	return o->fd_pool_size;
}

unsigned
descriptors_own(const struct options *o)
{
	return OWN_FDS + (o->sync.mode == SYNC_TIME ? SYNCER_FDS : 0u) +
	       WORKER_FDS * o->workers + LIVE_WORKER_FDS * o->live_workers +
	       RETENTION_FDS + (o->admin_socket.is_off ? 0u : ADMIN_FDS) +
	       (o->has_http || !o->admin_socket.is_off ? HTTP_FDS : 0u);
}

unsigned
descriptors_admin(const struct options *o)
{
	return o->admin_socket.is_off ? 0 : ADMIN_CLIENTS;
}

static unsigned
share(unsigned rest, unsigned parts, unsigned min)
{
	const unsigned n = rest / PARTS * parts + rest % PARTS * parts / PARTS;

	return n < min ? min : n;
}

unsigned
descriptors_http(const struct options *o)
{
	const unsigned n = available(o), own = descriptors_own(o);
	unsigned mine;

	if (!o->has_http || n < own)
		return 0;
	mine = share(n - own, PARTS_HTTP, SHARE_MIN);
	return mine < HTTP_MAX ? mine : HTTP_MAX;
}

static unsigned
limit(enum fds_share s, unsigned rest, unsigned parts)
{
	const unsigned n = share(rest, parts, SHARE_MIN);

	fds[s].hard = n;
	return n;
}

static unsigned
ended_share(unsigned n)
{
	n /= VIEWER_ENDED_SHARE;
	if (n < VIEWER_ENDED_MIN)
		return VIEWER_ENDED_MIN;
	return n < VIEWER_ENDED_MAX ? n : VIEWER_ENDED_MAX;
}

enum status
descriptors_divide(struct descriptors *out, struct options *o)
{
	const unsigned wanted = o->workers, n = available(o);
	unsigned rest, others;

	if (n < descriptors_own(o) + REST_MIN + SHARE_MIN)
		o->admin_socket.is_off = true;
	if (o->has_http && n < descriptors_own(o) + REST_MIN + SHARE_MIN) {
		log_warn("HTTP is off: there are only %u file descriptors "
			 "(ulimit -n, --fd-pool-size)",
		    n);
		o->has_http = false;
	}
	while (o->workers > 1 && descriptors_own(o) > n / 2)
		o->workers--;
	if (n < descriptors_own(o) + REST_MIN) {
		log_error("too few file descriptors: %u, at least %u are "
			  "needed (ulimit -n, --fd-pool-size)",
		    n, descriptors_own(o) + REST_MIN);
		return E_LIMIT;
	}
	if (o->workers < wanted)
		log_warn("%u of %u workers start: there are only %u file "
			 "descriptors (ulimit -n, --fd-pool-size)",
		    o->workers, wanted, n);
	rest = n - descriptors_own(o);
	/* The data file and the index file of a stream are open together. */
	out->files = share(rest, PARTS_FILES, SHARE_MIN * o->workers) /
		     o->workers;
	out->ended = ended_share(n);
	out->viewers = share(rest, PARTS_VIEWERS, SHARE_MIN);
	others = out->files * o->workers + out->viewers + descriptors_http(o) +
		 limit(FDS_VIEWER_FILES, rest, PARTS_VIEWER_FILES) +
		 limit(FDS_CONTROL, rest, PARTS_CONTROL) +
		 limit(FDS_DATA, rest, PARTS_DATA);
	fds[FDS_SESSIONS].hard = rest - others;
	fds[FDS_EXTRA].hard = 1 + (rest - others) / EXTRA_PART;
	return OK;
}
