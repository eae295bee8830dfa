/* SPDX-License-Identifier: MIT */
/*
 * The control port (relay protocol 2.1 - 2.15, streaming 2.4 - 2.7): it decodes
 * commands into structs that are valid once decoded, and encodes replies. A
 * decoder ignores bytes after what its command needs, except for
 * ROTATE_STREAMS. All integers are big-endian on the wire.
 *
 * Depends on: common/. Knows nothing of sockets, sessions or files.
 */
#ifndef PROTO_RELAY_H
#define PROTO_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/reader.h"
#include "common/relpath.h"
#include "common/secret.h"
#include "common/status.h"

struct buf;

#define RELAY_MAJOR 2
#define RELAY_MINOR 15 /* what we announce, and the newest that exists */

enum relay_cmd {
#define RELAY(wire, name, since, allowed, max) RELAY_CMD_##name = wire,
#include "proto/relay.tbl.h"
#undef RELAY
};

/* Where a connection stands, for the table's "allowed" column. */
enum relay_state { IN_NEW = 1, IN_SESSION = 2 };

struct relay_row {
	const char *name; /* for logs; NULL: no such command */
	unsigned since_minor;
	unsigned allowed; /* of enum relay_state, or-ed */
	uint64_t max_payload;
};

/* The row of a command number from the wire, never NULL; the row of an unknown
 * number has a NULL name. */
const struct relay_row *relay_row(uint32_t cmd);

/* Reply codes (streaming 2.6). */
enum relay_code {
	RELAY_OK = 10,
	RELAY_UNKNOWN_ERROR = 11,
	RELAY_FATAL = 25,
	RELAY_NO_MEMORY = 26,
	RELAY_INVALID = 97,
	RELAY_INVALID_PROTOCOL = 152,
	RELAY_FILE_CREATION_ERROR = 153,
};
#define RELAY_PENDING_UNKNOWN UINT32_C(0xffffffff)

/* Limits on names, with their NUL (streaming 7.1, 7.2). */
#define RELAY_SESSION_NAME_MAX 255
#define RELAY_HOSTNAME_MAX_OLD 64 /* < 2.11 */
#define RELAY_HOSTNAME_MAX 256
#define RELAY_BASE_PATH_MAX 4096
#define RELAY_BASE_DEPTH_MAX 32 /* its folders: each is looked at */
#define RELAY_CHANNEL_MAX 264
#define RELAY_PATH_FIELD_OLD 4096 /* the field; the name is < 255 */
#define RELAY_PATH_MAX 255
#define RELAY_OVERRIDE_NAME_MAX 255

/* The UUID of a session daemon. */
struct relay_uuid {
	uint8_t b[16];
};
bool relay_uuid_is_nil(const struct relay_uuid *uuid);

struct relay_version {
	uint32_t major, minor;
};

/* A u64 that may be absent. */
struct relay_optional {
	bool is_set;
	uint64_t value;
};

/*
 * CREATE_SESSION (2). The struct owns its names; relay_create_session_clear()
 * frees them. Names follow streaming 7.1: session and host name are one
 * component each, do not begin with '.', and are NULL before 2.4; the base path
 * does not begin with '/'.
 */
struct relay_create_session {
	struct relpath *session_name, *hostname;
	struct relpath *base_path; /* NULL: none */
	uint32_t live_timer_us;	   /* 0: not live */
	bool is_snapshot;
	bool name_has_time;
	struct relay_uuid uuid;	     /* zero before 2.11 */
	bool has_peer_id;	     /* from 2.11 */
	uint64_t peer_session;	     /* the peer's session id; 0 is valid */
	uint64_t creation_time;	     /* s since the epoch; 0 before 2.11 */
	struct relay_optional chunk; /* current_chunk_id */
	uint32_t trace_format;	     /* 1: CTF 1.8, 2: CTF 2; 1 before 2.15 */
	/* Not in this message, but in RESUME before it: the session may be
	 * resumed by who knows the key. */
	bool may_resume;
	struct secret key;
};

/* ADD_STREAM (1). The struct owns its names; relay_add_stream_clear() frees
 * them. */
struct relay_add_stream {
	struct relpath *channel; /* one component */
	struct relpath *path;
	uint64_t tracefile_size;  /* bytes, 0: unlimited */
	uint64_t tracefile_count; /* 0: no limit on the number of files */
};

/* CLOSE_STREAM (7), DATA_PENDING (8); RESET_METADATA (17), which has the
 * metadata version (informative) in place of the packet number. */
struct relay_stream_seq {
	uint64_t stream;
	uint64_t last_net_seq; /* all ones: no packet was sent */
};

struct relay_send_metadata {
	uint64_t stream;
	uint32_t padding;
	const uint8_t *data; /* borrowed from the payload */
	uint64_t size;
};

struct relay_index { /* SEND_INDEX (13); sizes in bits, times in cycles */
	uint64_t stream;
	uint64_t net_seq;
	uint64_t packet_size; /* 0: a live beacon */
	uint64_t content_size;
	uint64_t timestamp_begin, timestamp_end;
	uint64_t events_discarded;
	uint64_t ctf_stream;	 /* CTF stream class id */
	uint64_t ctf_instance;	 /* from 2.8, else 0 */
	uint64_t packet_seq_num; /* from 2.8, else 0 */
};

struct relay_rotate {		     /* ROTATE_STREAMS (18) */
	struct relay_optional chunk; /* not set: streams go to no chunk */
	uint32_t count;
	struct reader positions; /* borrowed; read by relay_rotate_next() */
};

struct relay_position {
	uint64_t stream, rotate_at; /* rotate_at: a packet_seq_num */
};

struct relay_create_chunk { /* CREATE_TRACE_CHUNK (19) */
	uint64_t id;
	uint64_t creation_time;
	struct relpath *override_name; /* owned; NULL: none */
};

enum relay_close_cmd {
	RELAY_CLOSE_ARCHIVE = 0,
	RELAY_CLOSE_NOTHING = 1,
	RELAY_CLOSE_DELETE = 2,
};

struct relay_close_chunk { /* CLOSE_TRACE_CHUNK (20) */
	uint64_t id;
	uint64_t close_time;
	bool has_command;
	uint32_t command; /* as sent; may be above RELAY_CLOSE_DELETE */
};

/*
 * Decoders: OK or E_MALFORMED (also E_NOMEM where names are owned). On failure
 * nothing is owned. R covers the whole payload. MINOR is that of the session
 * (of the connection for CREATE_SESSION).
 */
enum status relay_version_decode(
    struct reader *r, struct relay_version *out) MUST_CHECK;
/* E_MALFORMED also for a bad name, a nil UUID, an unknown trace format, and
 * minor 0: all get the same reply. */
enum status relay_create_session_decode(struct reader *r, unsigned minor,
    struct relay_create_session *out) MUST_CHECK;
/* A path that is not allowed (streaming 7.2) is E_REFUSED: after its reply the
 * connection stays open (streaming 3.1); after E_MALFORMED the connection
 * closes. */
enum status relay_add_stream_decode(
    struct reader *r, unsigned minor, struct relay_add_stream *out) MUST_CHECK;
enum status relay_stream_seq_decode(
    struct reader *r, struct relay_stream_seq *out) MUST_CHECK;
/* All commands whose payload is a handle, an id or flags. */
enum status relay_id_decode(struct reader *r, uint64_t *out) MUST_CHECK;
enum status relay_send_metadata_decode(
    struct reader *r, struct relay_send_metadata *out) MUST_CHECK;
enum status relay_index_decode(
    struct reader *r, unsigned minor, struct relay_index *out) MUST_CHECK;
/* Exactly one of the three header shapes must fit the payload's size
 * (streaming 2.7, ROTATE_STREAMS). */
enum status relay_rotate_decode(
    struct reader *r, struct relay_rotate *out) MUST_CHECK;
struct relay_position relay_rotate_next(struct relay_rotate *rot);
/* A bad override name (streaming 7.3) is E_REFUSED, a short payload
 * E_MALFORMED: their replies differ. */
enum status relay_create_chunk_decode(
    struct reader *r, struct relay_create_chunk *out) MUST_CHECK;
enum status relay_close_chunk_decode(
    struct reader *r, struct relay_close_chunk *out) MUST_CHECK;

/* RESUME (resume 1). E_REFUSED: the key is all zeros. */
enum status relay_resume_decode(
    struct reader *r, struct secret *out) MUST_CHECK;

void relay_create_session_clear(struct relay_create_session *c);
void relay_add_stream_clear(struct relay_add_stream *a);
void relay_create_chunk_clear(struct relay_create_chunk *c);

/* Replies that are more than a code (buf_u32()) are appended to B; a failure to
 * append sets B->bad. */
void relay_reply_version(struct buf *b, uint32_t major, uint32_t minor);
void relay_reply_configuration(struct buf *b, uint32_t code, uint64_t flags);
#define RELAY_CONFIG_CLEAR_ALLOWED UINT64_C(1)
/* In the request: is there UDP (udp 1), or RESUME (resume 1)? In the reply:
 * there is. */
#define RELAY_CONFIG_UDP (UINT64_C(1) << 63)
#define RELAY_CONFIG_RESUME (UINT64_C(1) << 62)
/* PATH is NULL on failure; MINOR decides the layout. */
void relay_reply_session(struct buf *b, unsigned minor, uint64_t id,
    uint32_t code, const char *path);
void relay_reply_stream(struct buf *b, uint64_t handle, uint32_t code);
void relay_reply_close_chunk(struct buf *b, uint32_t code, const char *path);
void relay_reply_exists(struct buf *b, uint32_t code, bool exists);

/* STREAM_WRITTEN (resume 3): what the relay has of a stream. */
struct relay_written {
	uint64_t bytes;		 /* of metadata; of packets, with padding */
	uint64_t packets;	 /* 0: none; then the next field is 0 */
	uint64_t packet_seq_num; /* of the last packet that is written or was
				    lost here */
};
#define RELAY_WRITTEN_LEN 24 /* in the reply, after the code */
void relay_reply_written(
    struct buf *b, uint32_t code, const struct relay_written *w);
/* The reply after its code. */
enum status relay_written_decode(
    struct reader *r, struct relay_written *out) MUST_CHECK;

/*
 * Requests with their header, for senders and tests; a failure to append sets
 * B->bad. Before 2.11 names are cut to the size of their field. ROTATE_STREAMS
 * has the 20-byte fixed part, its padding is zero. The value of a
 * relay_optional is sent even when it is not set.
 */
void relay_request_version(struct buf *b, uint32_t major, uint32_t minor);
/* Strings are C strings; BASE_PATH may be "". */
struct relay_session_request {
	const char *session_name, *hostname, *base_path;
	uint32_t live_timer_us;
	bool is_snapshot, name_has_time;
	struct relay_uuid uuid;
	uint64_t peer_session, creation_time;
	struct relay_optional chunk;
	uint32_t trace_format;
};
void relay_request_create_session(
    struct buf *b, unsigned minor, const struct relay_session_request *q);
void relay_request_add_stream(struct buf *b, unsigned minor,
    const char *channel, const char *path, uint64_t tracefile_size,
    uint64_t tracefile_count, uint64_t chunk);
void relay_request_resume(struct buf *b, const struct secret *key);
void relay_request_id(struct buf *b, enum relay_cmd cmd, uint64_t id);
void relay_request_stream_seq(
    struct buf *b, enum relay_cmd cmd, uint64_t stream, uint64_t seq);
void relay_request_metadata(struct buf *b, uint64_t stream, const void *data,
    size_t size, uint32_t padding);
/* The payload alone, which relay_index_decode() reads. */
void relay_index_encode(
    struct buf *b, unsigned minor, const struct relay_index *i);
void relay_request_index(
    struct buf *b, unsigned minor, const struct relay_index *i);
void relay_request_rotate(struct buf *b, struct relay_optional chunk,
    const struct relay_position *positions, uint32_t count);
/* OVERRIDE_NAME may be NULL. */
void relay_request_create_chunk(
    struct buf *b, uint64_t id, uint64_t creation, const char *override_name);
void relay_request_close_chunk(struct buf *b, uint64_t id, uint64_t close_time,
    struct relay_optional command);

#endif
