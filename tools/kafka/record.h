/* SPDX-License-Identifier: MIT */
/*
 * The records of a Kafka topic that carries sessions (doc/kafka.md): keys,
 * which are text, and values, whose integers are big-endian. A record is valid
 * once decoded. Any thread.
 *
 * Knows nothing of Kafka's library.
 */
#ifndef TOOLS_KAFKA_RECORD_H
#define TOOLS_KAFKA_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/reader.h"
#include "common/status.h"
#include "proto/relay.h"

struct buf;

#define RECORD_VERSION 1
/* The largest packet, the default of --max-packet-size of a relay: parts of a
 * larger one are refused before they take memory. */
#define RECORD_PACKET_MAX (UINT32_C(256) << 20)
/* The longest "PATH/CHANNEL", which both limits of ADD_STREAM allow. */
#define RECORD_STREAM_MAX (RELAY_PATH_MAX + RELAY_CHANNEL_MAX)
/* A key has two names, two numbers and their slashes; one of the topic of
 * sessions also has what it is for. */
#define RECORD_KEY_MAX (RELAY_HOSTNAME_MAX + RELAY_SESSION_NAME_MAX + 56)
#define RECORD_TABLE_KEY_MAX (RECORD_KEY_MAX + RECORD_STREAM_MAX + 32)

/* On the wire; the name is that of the header "kind". */
enum record_kind {
#define RECORD(wire, id, name, has_stream) RECORD_##id = wire,
#include "tools/kafka/record.tbl.h"
#undef RECORD
};
const char *record_kind_name(enum record_kind kind);

/* Which session it is. Two sessions with the same key are one. */
struct record_key {
	struct span hostname, session_name; /* one component each */
	uint64_t begin_s;		    /* since the epoch */
	uint8_t uuid[16];
};

struct record_session {
	uint32_t live_timer_us; /* 0: not live */
	bool name_has_time;	/* nothing is to be appended to the name */
};

struct record_packet {
	struct relay_index index; /* stream and net_seq are 0 */
	uint32_t size;		  /* of the packet, bytes, without padding */
	uint32_t padding;	  /* zero bytes that follow it on disk */
	uint32_t offset;	  /* of this part, bytes */
};

struct record_state {
	bool is_ended;
	uint64_t time_ns;	       /* since the epoch, of the sender */
	uint64_t packets, bytes, lost; /* of the session, acknowledged */
};

/* Spans and DATA are borrowed from what was decoded. */
struct record {
	enum record_kind kind;
	struct span stream; /* PATH/CHANNEL; empty: of the session */
	union {
		struct record_session session;
		uint64_t metadata_offset; /* of the first byte of DATA */
		struct record_packet packet;
		struct {
			uint64_t timestamp; /* cycles */
			uint64_t ctf_stream;
		} beacon;
		struct {
			uint64_t first_seq, count; /* of packet_seq_num */
		} loss;
		uint64_t
		    next_seq; /* STREAM_END: of the packet after the last */
		struct record_state state;
	};
	const uint8_t *data; /* METADATA, PACKET */
	size_t size;
};

/* Append the key of a session: HOST/SESSION/BEGIN/UUID. */
void record_key_encode(struct buf *b, const struct record_key *k);
/* Append the key of R in the topic of sessions: that of its session, and what
 * R is: where two records have the same key, the later replaces the other. */
void record_table_key_encode(
    struct buf *b, const struct record_key *k, const struct record *r);
/* Both kinds of keys. E_MALFORMED, E_NOMEM. */
enum status record_key_decode(
    struct record_key *out, struct span key) MUST_CHECK;
/* The bytes of KEY that name the session: the partition follows from them. All
 * of KEY if it is not one of ours. */
struct span record_key_session(struct span key);

/* Append the value of R, which is valid. */
void record_encode(struct buf *b, const struct record *r);
/* E_PROTOCOL: another version or an unknown kind. E_MALFORMED, E_NOMEM. */
enum status record_decode(
    struct record *out, const void *p, size_t n) MUST_CHECK;
/* The most bytes of a value beside its data. */
#define RECORD_VALUE_HEAD_MAX (4 + RECORD_STREAM_MAX + 92)

/* Is S a path, in the only way to write it, and a channel? E_MALFORMED,
 * E_NOMEM. */
enum status record_stream_check(struct span s) MUST_CHECK;
/* "PATH/CHANNEL" in its two halves. */
struct span record_stream_path(struct span stream);
struct span record_stream_channel(struct span stream);

#endif
