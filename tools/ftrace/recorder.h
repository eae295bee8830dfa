/* SPDX-License-Identifier: MIT */
/*
 * One recorder: its control connection, its data sockets, its files, and its
 * live session. It ends with CLOSE, with its connection, when it breaks a rule
 * or a limit, or when the listener ends; what has arrived until then is in its
 * file. The file does not wait for the live session. libevent; the loop's
 * thread.
 */
#ifndef TOOLS_FTRACE_RECORDER_H
#define TOOLS_FTRACE_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/compiler.h"
#include "common/list.h"
#include "common/status.h"
#include "tools/ftrace/live.h"
#include "tools/ftrace/recording.h"

/* From the connection until the recorder has stated its CPUs; stock waits as
 * long for each message. */
#define GREETING_MS 5000
/* The whole metadata; and the longest pause in it, as in stock. */
#define METADATA_MS 120000
#define METADATA_SILENCE_MS 5000
/* The most time for data in flight after a recorder has ended. */
#define DRAIN_MS 300000
/* The time that live sessions get for the last pages when the listener is told
 * to end. */
#define LIVE_STOP_MS 10000
/* The most recorders at a time, in all and of one host, including those whose
 * files are being joined. */
#define RECORDERS_MAX 256
#define RECORDERS_OF_HOST_MAX 64
/* Metadata of all recorders, which is in memory if no files are written. */
#define METADATA_MEMORY_BYTES (256 << 20)

/* The memory of the pages of all recorders in transit, and of their live
 * sessions; half of it for one host. Pages of 4 KiB take 12 KiB for each CPU.
 */
#define PAGES_MEMORY_BYTES (UINT64_C(1) << 30)

struct background;
struct command_loop;
struct recorder;

/* What the recorders of a listener share. */
struct recorders {
	struct command_loop *loop;
	struct recordings recordings;
	struct background *finishing; /* joins files */
	struct live_options *live;    /* NULL: files only */
	const char *bind_host;
	uint16_t port_first, port_last;
	bool is_ending;
	uint64_t ending_ns; /* since when */

	struct list list;
	unsigned n;
	uint64_t fds_max; /* descriptors that all may use */
	/* A recorder is gone; NULL: not used. */
	void (*gone)(void *arg);
	void *arg;
};

/* Handles a new connection to ARG, a struct recorders. Refusals are logged and
 * closed. */
void recorder_accept(void *arg, int take_fd, const struct sockaddr *peer);
/* Joins the files of a recording that a former listener left; the same. */
void recorder_finish_left(void *arg, struct recording *take);
/* Ends all recorders: reads what has arrived, and joins the files. ALL->n is 0
 * when all are gone, after LIVE_STOP_MS at the latest. */
void recorders_end(struct recorders *all);

#endif
