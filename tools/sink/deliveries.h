/* SPDX-License-Identifier: MIT */
/*
 * Which records of each session a topic has acknowledged, and a file with it
 * for the next run. The thread that polls the client reports what was
 * delivered; the thread of a session's output opens it and reads. Any thread
 * may call a function whose first parameter is the whole of them.
 */
#ifndef TOOLS_SINK_DELIVERIES_H
#define TOOLS_SINK_DELIVERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/list.h"
#include "common/publish.h"
#include "common/reader.h"
#include "common/status.h"

/* What topics have of sessions that have ended is remembered, because their
 * source may list them for a while. Then the session that ended first is
 * forgotten. As many as a relay lists (VIEWER_ENDED_MAX, relayd/live/viewer.h).
 */
#define DELIVERIES_ENDED_MAX 512

struct deliveries {
	struct list sessions;
	unsigned n_ended; /* of these */
	struct published is_in_use;
};

struct delivery_session {
	struct list node, streams;
	char *key;
	bool is_ended; /* all of it is delivered, and no output has it */
	uint64_t sent; /* records; of the output's thread */
	/* Of these, records that were delivered or refused. */
	struct published done;
	struct published lost; /* a record was refused: ERROR says why */
	struct published bytes, packets; /* delivered in this run */
	char error[256];
};

struct delivery_stream {
	struct list node;
	struct delivery_session *session;
	char *name;
	/* What precedes it is delivered: a packet_seq_num, or bytes of
	 * metadata. */
	struct published next;
	struct published bytes, packets; /* delivered in this run */
};

void deliveries_init(struct deliveries *d);
void deliveries_free(struct deliveries *d);

/* Find the session or stream, or add it. NULL: out of memory. What they return
 * stays until deliveries_end(). *HAD_ENDED (NULL is fine): that was called for
 * the session before. */
struct delivery_session *deliveries_session(
    struct deliveries *d, struct span key, bool *had_ended);
struct delivery_stream *deliveries_stream(
    struct deliveries *d, struct delivery_session *s, struct span name);
/* All that was sent of S is done, and nothing more comes. */
void deliveries_end(struct deliveries *d, struct delivery_session *s);

/* A record of S was delivered, or, with an ERROR, refused. STREAM: not NULL if
 * it has what precedes NEXT; PACKET_BYTES are those of a packet that is whole
 * now (UINT64_MAX: none is). */
struct delivery {
	struct delivery_session *session;
	struct delivery_stream *stream;
	uint64_t next, packet_bytes;
};
void delivery_done(const struct delivery *f, const char *error);

/* Read what the file PATH has; it need not exist. E_MALFORMED: another file;
 * E_IO: errno; E_NOMEM. */
enum status deliveries_read(struct deliveries *d, const char *path) MUST_CHECK;
enum status deliveries_write(struct deliveries *d, const char *path) MUST_CHECK;

#endif
