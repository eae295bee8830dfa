/* SPDX-License-Identifier: MIT */
/* Shared by the files of a viewed session. Not OK, except E_STOPPED: v->why. */
#ifndef TOOLS_SEND_VIEWED_INTERNAL_H
#define TOOLS_SEND_VIEWED_INTERNAL_H

#include "common/buf.h"
#include "common/list.h"
#include "tools/send/live_viewer.h"
#include "tools/send/tsdl.h"
#include "tools/send/viewed.h"

struct viewed_part {
	bool is_attached;
	bool is_ours; /* its metadata says so */
	bool has_hup; /* the relay has no more streams of it */
};

struct viewed_trace {
	struct list node, streams;
	unsigned part;
	uint64_t id; /* of the relay: unique over all sessions */
	char *path;
	uint64_t metadata_id;
	bool has_metadata_id;
	bool is_stale;	     /* the relay has more metadata */
	struct buf metadata; /* as the relay has it, from its beginning */
	struct tsdl tsdl;
	bool is_readable;   /* TSDL is valid */
	bool is_announced;  /* to the sink */
	bool is_over;	    /* all its streams have ended */
	unsigned number;    /* of the sink's stream of metadata */
	send_position sent; /* bytes of METADATA */
};

struct viewed_stream {
	struct list node;
	struct viewed_trace *trace;
	uint64_t id;
	char *channel;
	bool is_announced;
	unsigned number;	/* of the sink's stream */
	send_position position; /* where the sink began */
	uint64_t count;		/* packets that the relay has shown */
	bool has_next;
	uint64_t next;	 /* packet_seq_num that comes next, if HAS_NEXT */
	uint64_t beacon; /* the last one, cycles */
};

struct viewed {
	const struct viewed_config *config;
	struct viewed_parts *ids;
	struct viewed_totals *totals;
	struct live_viewer viewer;
	struct viewed_part parts[VIEWED_PARTS_MAX];
	unsigned n_parts;
	struct list traces;
	struct send_session session;
	struct send_output *out; /* NULL: not open yet */
	char *why;
	bool is_stale;	     /* the relay has new streams */
	bool has_new;	     /* streams that the sink does not show yet */
	bool has_news;	     /* this turn had something new */
	uint64_t streams_ns; /* when to ask for streams */
	unsigned pause_ms;
	uint64_t stop_ns; /* deadline for the end; 0: it has not begun */
};

enum status viewed_fail(struct viewed *v, enum status st, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* The result ST of the sink. */
enum status viewed_of_sink(struct viewed *v, enum status st) MUST_CHECK;
/* Ask the relay; as live_viewer_ask(), and a failure is that of V. */
enum status viewed_request(struct viewed *v, const struct live_request *q,
    struct reader *r) MUST_CHECK;
/* A request with an id. */
enum status viewed_ask(struct viewed *v, enum live_cmd cmd, uint64_t id,
    struct reader *r) MUST_CHECK;
/* Take all metadata that the relay has of T. E_EXISTS: it is another session
 * with the same name. */
enum status viewed_fetch_metadata(
    struct viewed *v, struct viewed_trace *t) MUST_CHECK;
/* Tell the sink what is new of T: streams together with their metadata (live 6,
 * P1). */
enum status viewed_announce(
    struct viewed *v, struct viewed_trace *t) MUST_CHECK;
/* Take new parts, streams and metadata, if the relay said that it has some. */
enum status viewed_catch_up(struct viewed *v) MUST_CHECK;

/* viewed_packets.c: ask S for its next packet, and send that on. S is gone if
 * it has ended; then *IS_PACKET is false. */
enum status viewed_ask_next(
    struct viewed *v, struct viewed_stream *s, bool *is_packet) MUST_CHECK;

#endif
