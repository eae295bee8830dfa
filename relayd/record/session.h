/* SPDX-License-Identifier: MIT */
/*
 * A relay session: what one control connection created (streaming 3.2), its
 * streams, its place on disk and its trace chunks. It outlives the control
 * connection by as long as bytes for records that are here may still come.
 *
 * Lives on one worker; that thread only. Knows no sockets.
 */
#ifndef RELAYD_RECORD_SESSION_H
#define RELAYD_RECORD_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "common/idmap.h"
#include "common/list.h"
#include "common/relpath.h"
#include "common/status.h"
#include "proto/relay.h"

struct chunk;
struct live_session;
struct session_dir;
struct session_udp;
struct shard;
struct siblings;
struct stream;

/* Memory of whole packets that one session may have waiting for their records
 * or their turn before its data sockets are not read: 64 MiB, as the UDP
 * transport's window_bytes, or a quarter of max_memory if that is less. */
#define SESSION_HELD_MAX (UINT64_C(64) << 20)
/* Records of one session that may wait for their bytes: 32 MiB of memory. Far
 * above what sockets hold of bytes that are under way. */
#define SESSION_RECORDS_MAX 131072

/* Times. A gap in the numbers waits while another data connection may fill it;
 * a session whose control connection is gone waits so long for the next bytes
 * that are still under way. */
#define GAP_NS (1 * NS_PER_S)
#define LINGER_NS (10 * NS_PER_S)

/*
 * Where packets of a session come from, as the session knows it: a member of a
 * data connection's endpoint (struct ingest), which knows the session.
 */
struct session_input {
	struct list node; /* session->inputs, then shard->orphans */
	const struct session_input_ops *ops;
};
struct session_input_ops {
	/* Inside a header or a packet? */
	bool (*is_mid_message)(const struct session_input *in);
	/* The session goes away; it has let go of IN. */
	void (*session_gone)(struct session_input *in);
};

struct session {
	struct list shard_node, siblings_node, ending_node;
	struct shard *shard;
	struct siblings *siblings;
	uint64_t id;	/* ours, from 1 */
	unsigned minor; /* of the protocol, frozen at CREATE_SESSION */
	struct relay_create_session wish; /* as decoded; names owned */
	char *tag;			  /* "peer=... session=...", for logs */
	bool has_index;			  /* minor >= 4 and no snapshot */
	struct live_session *live; /* what viewers see of it; may be NULL */
	uint64_t latest;	   /* timestamp_end of all indexes */
	bool has_told_end;
	struct session_dir *dir;
	struct chunk *current, *pending; /* pending closure */
	bool has_rotated;

	struct list streams;	 /* struct stream, by session_node */
	struct list traces;	 /* struct trace, by node */
	struct idmap trace_keys; /* of their paths -> struct trace */
	struct list inputs;	 /* struct session_input, by node */
	struct session_udp *udp; /* NULL: packets come over TCP */
	bool had_input;		 /* a data connection was bound once */

	uint64_t held_bytes; /* memory of packets that wait */
	uint64_t n_records;  /* that wait for their bytes, of all streams */
	bool is_held;	     /* too many: inputs are not read */

	bool is_ended; /* no control connection any more */
	uint64_t linger_until_ns;
};

/*
 * CREATE_SESSION, decoded: TAKE_WISH's names move in (also on failure).
 * E_REFUSED: unknown current chunk, a path too long, a time that is no date;
 * E_IO: the directory cannot be made; E_NOMEM. PEER is for logs, copied.
 */
enum status session_create(struct session **out, struct shard *sh,
    struct relay_create_session *take_wish, unsigned minor,
    const char *peer) MUST_CHECK;

/* A stream was added in the folder PATH. Before 2.4 CREATE_SESSION has no
 * names: logs and viewers call the session by its place from its first stream
 * on. */
void session_found_place(struct session *s, const struct relpath *path);

/* The output path below the base; "" for peers before 2.11. */
const char *session_path(const struct session *s);

/*
 * The control connection is gone; ABORTED: by an error. Commits what is whole;
 * streams that still wait for bytes stay, all else closes. The session may be
 * gone on return.
 */
void session_end(struct session *s, bool aborted);

/* Close all streams now, whatever they wait for, and free. */
void session_destroy(struct session *s);

/* If it is ended and no stream is left: destroyed, true. */
bool session_reap(struct session *s);

/* The session's stream of that handle; NULL: none of its own. */
struct stream *session_stream(const struct session *s, uint64_t handle);

/* A packet has arrived: more may be under way. */
void session_heard(struct session *s);
/* Is a data connection in the middle of a packet? */
bool session_is_hearing(const struct session *s);

/* A data connection has been bound. */
void session_input_came(struct session *s, struct session_input *in);
/* ... and is gone, out of the list. The session may be gone on return. */
void session_input_gone(struct session *s);

/* Can bytes still come? */
static inline bool
session_may_receive(const struct session *s)
{
	return !s->had_input || !list_empty(&s->inputs);
}

/* N more, or less, bytes of memory wait for their record or turn. */
void session_hold(struct session *s, int64_t n);

/* Bytes of a reply's path with its NUL that peers refuse (streaming 3.5.4,
 * 3.15, 8.2). */
#define SESSION_REPLY_PATH 4096

/* Commands on trace chunks (streaming 5.5). The code is the reply's;
 * *CLOSE: the connection ends after it. */
uint32_t session_create_chunk(struct session *s,
    const struct relay_create_chunk *q, bool *close) MUST_CHECK;
/* PATH (RELPATH_MAX bytes) is the reply's on RELAY_OK. */
uint32_t session_close_chunk(struct session *s,
    const struct relay_close_chunk *q, bool *close, char *path) MUST_CHECK;
bool session_chunk_exists(const struct session *s, uint64_t id);
uint32_t session_rotate(
    struct session *s, struct relay_rotate *rot, bool *close) MUST_CHECK;

/* DATA_PENDING's frame (streaming 3.11). */
void session_begin_pending(struct session *s);
bool session_end_pending(const struct session *s);

/* STREAMS_SENT: viewers may see what there is. */
void session_publish(struct session *s);

/* The stream path of a peer before 2.11 by streaming 5.3. */
enum status session_old_path(struct relpath **out,
    const struct relay_create_session *wish, const struct relpath *path,
    uint64_t created) MUST_CHECK;

#endif
