/* SPDX-License-Identifier: MIT */
/*
 * One recorder: its control connection, its data sockets, its files, and who
 * else wants its pages. It ends in order (CLOSE), when its connection is lost,
 * when it breaks a rule or a limit, or when the listener ends; what came until
 * then is put into its file, which does not wait for who else wants it.
 * libevent; the loop's thread.
 */
#ifndef TOOLS_FTRACE_RECORDER_H
#define TOOLS_FTRACE_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/compiler.h"
#include "common/list.h"
#include "common/status.h"
#include "tools/ftrace/page_feed.h"
#include "tools/ftrace/recording.h"

/* From the connection until the recorder has said how many CPUs it has; stock
 * waits as long for each message. */
#define GREETING_MS 5000
/* The whole metadata; and the longest silence within it, as stock. */
#define METADATA_MS 120000
#define METADATA_SILENCE_MS 5000
/* What is under way when a recorder has ended, at most. */
#define DRAIN_MS 300000
/* When the listener is told to end, who else wants its pages has so long for
 * the last ones. */
#define SINK_STOP_MS 10000
/* Recorders at a time, with those whose files are being finished; of one
 * host. */
#define RECORDERS_MAX 256
#define RECORDERS_OF_HOST_MAX 64
/* CPUs of one recorder: more ports do not fit into the answer. Descriptors
 * decide earlier. */
#define RECORDER_CPUS_MAX 1600
/* Without files, metadata is held in memory: that of all recorders. */
#define METADATA_MEMORY_BYTES (256 << 20)

/* What the pages of all recorders may need while they come, and what else their
 * sinks have; half of it those of one host. Pages of 4 KiB need 12 KiB for each
 * CPU. */
#define PAGES_MEMORY_BYTES (UINT64_C(1) << 30)

struct background;
struct event_base;
struct recorder;

/* What all recorders of a listener share. */
struct recorders {
	struct event_base *base;
	struct recordings recordings;
	bool is_kept; /* false: --no-file */
	struct background *names, *finishing;
	const struct recorder_sink_maker *maker; /* NULL: files only */
	const char *bind_host;
	uint16_t port_first, port_last;
	bool is_ending;
	uint64_t ending_ns; /* since when */

	struct list list;
	unsigned n;
	uint64_t fds, fds_max; /* descriptors that they have, and may have */
	uint64_t memory;       /* of metadata in memory */
	/* For tests and for who waits for the end; NULL: nobody. */
	void (*gone)(void *arg);
	void *arg;
};

/* A connection was accepted. What is refused is logged and closed. */
void recorder_accept(
    struct recorders *all, int take_fd, const struct sockaddr *peer);
/* A recording that a former listener has left is put together. */
void recorder_finish_left(struct recorders *all, struct recording *take);
/* The listener ends: read what is here, and put together what there is. They
 * are gone when ALL->n is 0: their files are there, and SINK_STOP_MS are over
 * at the latest. */
void recorders_end(struct recorders *all);

#endif
