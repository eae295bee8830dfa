/* SPDX-License-Identifier: MIT */
/*
 * The viewer port (live protocol 2.4 - 2.15, live 1): it decodes requests and
 * encodes replies. All integers are big-endian, structures are packed.
 *
 * Depends on: common/. Knows nothing of sockets, sessions or files.
 */
#ifndef PROTO_LIVE_H
#define PROTO_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/reader.h"
#include "common/status.h"

struct buf;
struct state_table;

#define LIVE_MAJOR 2
#define LIVE_MINOR 15 /* for minor 15 LIST_SESSIONS has the new layout */
#define LIVE_MINOR_FORMATS 15

#define LIVE_HEADER_LEN 16
#define LIVE_PAYLOAD_MAX 20

enum live_cmd {
#define LIVE(wire, name, allowed, size, status_at) LIVE_CMD_##name = wire,
#include "proto/live.tbl.h"
#undef LIVE
};

enum live_state { LIVE_IN_NEW = 1, LIVE_IN_GREETED = 2 };

struct live_row {
	const char *name; /* NULL: no such command */
	unsigned allowed;
	unsigned payload; /* bytes */
	int status_at;	  /* in a reply, bytes; -1: nowhere */
};

/* Never NULL. */
const struct live_row *live_row(uint32_t cmd);

#define LIVE_UNKNOWN_COMMAND 11 /* the last reply before the close */

enum live_connection_type { LIVE_CLIENT_COMMAND = 1, LIVE_CLIENT_NOTIFICATION };

enum live_attach {
	LIVE_ATTACH_OK = 1,
	LIVE_ATTACH_ALREADY,
	LIVE_ATTACH_UNKNOWN,
	LIVE_ATTACH_NOT_LIVE,
	LIVE_ATTACH_SEEK_ERR,
	LIVE_ATTACH_NO_SESSION,
};
enum live_seek { LIVE_SEEK_BEGINNING = 1, LIVE_SEEK_LAST };
enum live_index_status {
	LIVE_INDEX_OK = 1,
	LIVE_INDEX_RETRY,
	LIVE_INDEX_HUP,
	LIVE_INDEX_ERR,
	LIVE_INDEX_INACTIVE,
};
enum live_packet_status { LIVE_PACKET_OK = 1, LIVE_PACKET_ERR = 3 };
enum live_metadata_status {
	LIVE_METADATA_OK = 1,
	LIVE_METADATA_NO_NEW,
	LIVE_METADATA_ERR,
};
enum live_streams_status {
	LIVE_STREAMS_OK = 1,
	LIVE_STREAMS_NO_NEW,
	LIVE_STREAMS_ERR,
	LIVE_STREAMS_HUP,
};
enum live_create_status { LIVE_CREATE_OK = 1, LIVE_CREATE_ERR };
enum live_detach_status {
	LIVE_DETACH_OK = 1,
	LIVE_DETACH_UNKNOWN,
	LIVE_DETACH_ERR,
};
#define LIVE_FLAG_NEW_METADATA 1u
#define LIVE_FLAG_NEW_STREAM 2u

struct live_request {
	uint32_t cmd;		     /* as on the wire; may be unknown */
	uint32_t major, minor, type; /* CONNECT */
	uint64_t id;		     /* session or stream, by command */
	uint32_t seek;		     /* ATTACH_SESSION */
	uint64_t offset;	     /* GET_PACKET, bytes */
	uint32_t length;	     /* GET_PACKET, bytes */
};
extern const struct state_table live_request_state;

/*
 * Is a whole request at the front of the N bytes at P? OK: *USED bytes. E_MORE:
 * the request is not whole yet. An unknown command is whole when its header is
 * here.
 */
enum status live_request_decode(const uint8_t *p, size_t n,
    struct live_request *out, size_t *used) MUST_CHECK;
/* For tests and tools. */
void live_request_encode(struct buf *b, const struct live_request *q);

struct live_index {
	uint64_t offset;		    /* bytes */
	uint64_t packet_size, content_size; /* bits */
	uint64_t timestamp_begin, timestamp_end;
	uint64_t events_discarded;
	uint64_t ctf_stream;
	uint32_t status, flags;
};

struct live_session_record {
	uint64_t id;
	uint32_t live_timer_us, clients, streams;
	const char *hostname, *name;
	uint32_t trace_format; /* 0: CTF 1.8, 1: CTF 2 */
};

struct live_stream_record {
	uint64_t id, trace_id;
	bool is_metadata;
	const char *path, *channel;
};
#define LIVE_STREAM_RECORD_LEN 4371 /* those of sessions are shorter */

void live_reply_u32(struct buf *b, uint32_t value);
void live_reply_connect(
    struct buf *b, uint64_t viewer_session, uint32_t major, uint32_t minor);
/* MINOR: the smaller one of viewer and relay. */
void live_reply_session(
    struct buf *b, unsigned minor, const struct live_session_record *s);
void live_reply_stream(struct buf *b, const struct live_stream_record *s);
void live_reply_index(struct buf *b, const struct live_index *i);
void live_reply_packet(
    struct buf *b, uint32_t status, uint32_t length, uint32_t flags);
void live_reply_metadata(struct buf *b, uint64_t length, uint32_t status);

/*
 * The viewer's side. MINOR is as for live_reply_session(). Strings are
 * borrowed from the reply. What does not fit sets r->bad.
 */

/* The size of the reply to CMD of which N bytes at P are here; 0: more bytes
 * are needed to know it. */
uint64_t live_reply_size(
    uint32_t cmd, unsigned minor, const uint8_t *p, size_t n);

struct live_listed {
	uint64_t id;
	uint32_t live_timer_us, clients, streams;
	uint32_t trace_format; /* 0: CTF 1.8, 1: CTF 2 */
	struct span hostname, name;
};
void live_listed_decode(
    struct reader *r, unsigned minor, struct live_listed *out);

struct live_announced {
	uint64_t id, trace_id;
	bool is_metadata;
	struct span path, channel;
};
void live_announced_decode(struct reader *r, struct live_announced *out);
void live_index_decode(struct reader *r, struct live_index *out);

/* The status in the N bytes at P, a whole reply to CMD; 0: it has none. */
uint32_t live_reply_status(uint32_t cmd, const uint8_t *p, size_t n);
/* What such a status is called; NULL: there is none with this number. */
const char *live_status_name(uint32_t cmd, uint32_t status);

#endif
