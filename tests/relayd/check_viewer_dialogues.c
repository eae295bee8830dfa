/* SPDX-License-Identifier: MIT */
/*
 * The recorded viewer connections of whole sessions against the endpoint.
 * Before a recorded request is served, the test sends what the tracer must have
 * sent by then; afterwards the reply is compared with the recorded one. Ids are
 * translated. A difference that is allowed on purpose is named where the test
 * allows it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/reader.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream.h"
#include "relayd/record/cycle.h"
#include "tests/lib/dialogue.h"
#include "tests/lib/live_pair.h"
#include "tests/lib/unit.h"

#define RECORD LIVE_STREAM_RECORD_LEN
#define RECORDS_AT 8 /* in ATTACH and GET_NEW_STREAMS replies */
#define PACKET_AT 12 /* and data in GET_PACKET's */
#define METADATA_AT 12
#define STREAMS 16

static const struct {
	const char *name;
	uint64_t file_size;
	unsigned packets; /* that the viewer was given */
} dialogues[] = {
	{ "live-peruid", 0, 8 },
	{ "live-inactive", 0, 8 },
	{ "live-perpid", 0, 11 },
	{ "live-clear", 0, 8 },
	{ "live-bigpkt", 0, 4 },
	{ "live-begin", 8192, 9 },
};

struct player {
	struct stream *t; /* NULL: closed */
	uint64_t recorded, ours;
	uint64_t seq, beacon;
	uint64_t metadata; /* bytes sent in this chunk */
	bool is_metadata;
	char path[256];
};

static struct live_pair pair;
static struct session *session;
static struct viewer *viewer;
static struct dialogue d;
static struct buf out;
static struct player players[STREAMS];
static unsigned n_players, n_packets, row;
static uint64_t chunk, recorded_session;

static uint64_t
word(const uint8_t *p)
{
	struct reader r = reader_over(p, 8);

	return reader_u64(&r);
}

static uint32_t
half(const uint8_t *p)
{
	struct reader r = reader_over(p, 4);

	return reader_u32(&r);
}

static struct live_index
recorded_index(const struct dialogue_part *reply)
{
	struct buf b = { 0 };
	struct live_index i;

	ck_assert_uint_eq(reply->n, 64);
	buf_bytes(&b, reply->p, reply->n);
	i = live_pair_index_of(&b);
	buf_free(&b);
	return i;
}

static struct player *
player_of(uint64_t recorded)
{
	for (unsigned i = 0; i < n_players; i++)
		if (players[i].recorded == recorded)
			return &players[i];
	ck_abort_msg("stream %" PRIu64 " is not known", recorded);
	return NULL;
}

static struct live_request
request_at(size_t at)
{
	struct live_request q;
	size_t used;

	ck_assert(at < d.n && !d.parts[at].is_reply);
	ck_assert_int_eq(
	    live_request_decode(d.parts[at].p, d.parts[at].n, &q, &used), OK);
	return q;
}

/* The next reply to CMD of stream ID, after AT; NULL: none. */
static const struct dialogue_part *
next_reply(size_t at, uint32_t cmd, uint64_t id, bool (*is_it)(const uint8_t *))
{
	for (; at + 1 < d.n; at += 2) {
		struct live_request q = request_at(at);

		if (q.cmd == cmd && q.id == id && is_it(d.parts[at + 1].p))
			return &d.parts[at + 1];
	}
	return NULL;
}

static bool
is_packet(const uint8_t *reply)
{
	return half(reply) == LIVE_PACKET_OK && half(reply + 4) > 0;
}

static bool
is_metadata_ok(const uint8_t *reply)
{
	return half(reply + 8) == LIVE_METADATA_OK;
}

/* ---- what the tracer sends */

static void
add_streams(const struct dialogue_part *reply)
{
	for (size_t at = RECORDS_AT; at < reply->n; at += RECORD) {
		const char *path = (const char *)reply->p + at + 20;
		const char *channel = (const char *)reply->p + at + 4116;
		struct player *p = &players[n_players++];

		ck_assert_uint_lt(n_players, STREAMS);
		p->recorded = word(reply->p + at);
		p->is_metadata = half(reply->p + at + 16) == 1;
		(void)snprintf(p->path, sizeof(p->path), "%s", path);
		p->t = live_pair_stream(session, path, channel,
		    p->is_metadata ? 0 : dialogues[row].file_size, 0);
		ck_assert_ptr_nonnull(p->t);
	}
	session_publish(session);
	for (unsigned i = 0; i < n_players; i++)
		if (players[i].t != NULL)
			players[i].ours = players[i].t->live->id;
	live_pair_deliver_all(&pair);
}

static void
send_packet(struct player *p, size_t at, const struct live_index *i)
{
	const struct dialogue_part *reply = next_reply(
	    at, LIVE_CMD_get_packet, p->recorded, is_packet);

	ck_assert_ptr_nonnull(reply);
	live_pair_packet(p->t, &(struct live_pair_packet){ .seq = p->seq++,
				   .begin = i->timestamp_begin,
				   .end = i->timestamp_end,
				   .bytes = (uint32_t)(i->packet_size / 8),
				   .raw = reply->p + PACKET_AT,
				   .content_bits = i->content_size,
				   .ctf_stream = i->ctf_stream });
}

/* What was written before the viewer came, so that offsets are the same. */
static void
send_what_was_before(size_t at)
{
	static const uint8_t zeros[1 << 16];

	for (; n_players > 0 && at + 1 < d.n; at += 2) {
		struct live_request q = request_at(at);
		struct live_index i;
		struct player *p;

		if (q.cmd != LIVE_CMD_get_next_index)
			continue;
		i = recorded_index(&d.parts[at + 1]);
		p = player_of(q.id);
		if (i.status != LIVE_INDEX_OK || p->seq > 0)
			continue;
		/* Where it begins anew: of the chunk that will be cleared. */
		if (i.offset == 0)
			i.offset = 4096;
		ck_assert_uint_le(i.offset, sizeof(zeros));
		live_pair_packet(
		    p->t, &(struct live_pair_packet){ .seq = p->seq++,
			      .begin = 1,
			      .end = 2,
			      .bytes = (uint32_t)i.offset,
			      .raw = zeros });
	}
}

static void
send_metadata(struct player *p, size_t at)
{
	const struct dialogue_part *reply = next_reply(
	    at, LIVE_CMD_get_metadata, p->recorded, is_metadata_ok);

	if (reply == NULL)
		return;
	live_pair_metadata(
	    p->t, reply->p + METADATA_AT, reply->n - METADATA_AT);
	p->metadata += reply->n - METADATA_AT;
}

static struct player *
metadata_beside(const struct player *p)
{
	for (unsigned i = 0; i < n_players; i++)
		if (players[i].is_metadata &&
		    strcmp(players[i].path, p->path) == 0)
			return &players[i];
	return NULL;
}

/* The tracer begins each chunk with all of the metadata. */
static void
send_metadata_again(struct player *p)
{
	const struct dialogue_part *reply = next_reply(
	    0, LIVE_CMD_get_metadata, p->recorded, is_metadata_ok);

	ck_assert_ptr_nonnull(reply);
	live_pair_metadata(
	    p->t, reply->p + METADATA_AT, reply->n - METADATA_AT);
	p->metadata = reply->n - METADATA_AT;
}

static void
clear(void)
{
	live_pair_create_chunk(session, ++chunk);
	for (unsigned i = 0; i < n_players; i++) {
		live_pair_rotate(players[i].t, true, chunk, players[i].seq);
		players[i].metadata = 0;
	}
	live_pair_close_chunk(session, chunk - 1, RELAY_CLOSE_DELETE);
	while (cycle_delete_some(pair.shard))
		;
}

static void
close_stream(struct player *p)
{
	stream_close(p->t, p->seq == 0 ? UINT64_MAX : p->seq - 1);
	p->t = NULL;
}

static void
before_index(size_t at, struct player *p, const struct live_index *i)
{
	struct player *m = metadata_beside(p);

	/* The only reason in these recordings. */
	if (i->status == LIVE_INDEX_RETRY && i->flags == LIVE_FLAG_NEW_METADATA)
		clear();
	if (i->status == LIVE_INDEX_OK && m->metadata == 0)
		send_metadata_again(m);
	if (i->status == LIVE_INDEX_OK && p->seq == 0)
		ck_assert_uint_eq(i->offset, 0);
	if (i->status == LIVE_INDEX_OK)
		send_packet(p, at, i);
	if (i->status == LIVE_INDEX_INACTIVE && i->timestamp_end > p->beacon) {
		p->beacon = i->timestamp_end;
		live_pair_beacon(p->t, p->beacon);
	}
	if (i->status == LIVE_INDEX_HUP)
		close_stream(p);
}

/* What must have happened for the reply after the request at AT. */
static void
prepare(size_t at, const struct live_request *q)
{
	const struct dialogue_part *reply = &d.parts[at + 1];
	struct live_index i;

	switch (q->cmd) {
	case LIVE_CMD_attach_session:
		add_streams(reply);
		if (q->seek == LIVE_SEEK_LAST)
			send_what_was_before(at);
		break;
	case LIVE_CMD_get_new_streams:
		add_streams(reply);
		if (half(reply->p) != LIVE_STREAMS_HUP)
			break;
		session_end(session, false);
		session = NULL;
		live_pair_deliver_all(&pair);
		break;
	case LIVE_CMD_get_metadata:
		if (is_metadata_ok(reply->p) && player_of(q->id)->metadata == 0)
			send_metadata(player_of(q->id), at);
		break;
	case LIVE_CMD_get_next_index:
		i = recorded_index(reply);
		before_index(at, player_of(q->id), &i);
		break;
	}
}

/* ---- what the viewer is answered */

static void
compare_streams(const struct dialogue_part *want)
{
	ck_assert_uint_eq(buf_len(&out), want->n);
	ck_assert_mem_eq(buf_data(&out), want->p, RECORDS_AT);
	for (size_t at = RECORDS_AT; at < want->n; at += RECORD) {
		const struct player *p = player_of(word(want->p + at));
		bool has = false;

		for (size_t k = RECORDS_AT; k < want->n && !has; k += RECORD)
			has = live_pair_u64(&out, k) == p->ours &&
			      memcmp(buf_data(&out) + k + 16, want->p + at + 16,
				  RECORD - 16) == 0;
		ck_assert_msg(has, "stream %" PRIu64, p->recorded);
	}
}

static void
compare_index(size_t at, const struct dialogue_part *want, uint64_t last_beacon)
{
	struct live_index w = recorded_index(want),
			  got = live_pair_index_of(&out);

	/* doc/compat.md: only when there is one. */
	w.flags &= ~LIVE_FLAG_NEW_STREAM;
	/* During a clear the reference knows nothing, we know what we knew, and
	 * what the viewer has of the metadata. */
	if (w.status == LIVE_INDEX_RETRY && w.flags != 0 &&
	    got.status == LIVE_INDEX_INACTIVE) {
		ck_assert_uint_eq(got.timestamp_end, last_beacon);
		return;
	}
	ck_assert_msg(memcmp(&w, &got, sizeof(w)) == 0,
	    "request %zu: status %" PRIu32 " for %" PRIu32 ", flags %" PRIu32
	    " for %" PRIu32 ", end %" PRIu64 " for %" PRIu64 ", offset %" PRIu64
	    " for %" PRIu64,
	    at / 2, got.status, w.status, got.flags, w.flags, got.timestamp_end,
	    w.timestamp_end, got.offset, w.offset);
	n_packets += got.status == LIVE_INDEX_OK;
}

static void
compare(size_t at, const struct live_request *q)
{
	const struct dialogue_part *want = &d.parts[at + 1];

	switch (q->cmd) {
	case LIVE_CMD_connect: /* version and id are ours */
	case LIVE_CMD_list_sessions:
		break;
	case LIVE_CMD_attach_session:
	case LIVE_CMD_get_new_streams:
		compare_streams(want);
		break;
	case LIVE_CMD_get_next_index:
		compare_index(at, want, player_of(q->id)->beacon);
		break;
	case LIVE_CMD_get_metadata:
		/* After the end the reference says once more NO_NEW. */
		if (session == NULL) {
			ck_assert_uint_eq(
			    live_pair_u32(&out, 8), LIVE_METADATA_ERR);
			break;
		}
		/* fall through */
	default:
		ck_assert_msg(buf_len(&out) == want->n &&
				  memcmp(buf_data(&out), want->p, want->n) == 0,
		    "request %zu, command %" PRIu32, at / 2, q->cmd);
	}
}

static void
play(size_t at)
{
	struct live_request q = request_at(at);

	prepare(at, &q);
	switch (q.cmd) {
	case LIVE_CMD_attach_session:
	case LIVE_CMD_get_new_streams:
	case LIVE_CMD_detach_session:
		if (recorded_session == 0)
			recorded_session = q.id;
		ck_assert_uint_eq(q.id, recorded_session);
		q.id = 1;
		break;
	case LIVE_CMD_get_next_index:
	case LIVE_CMD_get_packet:
	case LIVE_CMD_get_metadata:
		q.id = player_of(q.id)->ours;
		break;
	}
	ck_assert_int_eq(live_pair_tell(viewer, &q, &out), LIVE_REPLY);
	q = request_at(at);
	compare(at, &q);
}

TEST_ROWS(each_reply_as_it_was_recorded, ARRAY_LEN(dialogues))
{
	static char peer[] = "viewer";

	row = (unsigned)_i;
	d = dialogue_read(dialogues[row].name);
	live_pair_open(&pair, true, 0);
	session = live_pair_session(&pair, "one", 200000, false);
	ck_assert_uint_eq(session->id, 1);
	live_pair_deliver_all(&pair);
	ck_assert_int_eq(viewer_create(&viewer, &pair.viewers, peer), OK);
	for (size_t at = 0; at + 1 < d.n; at += 2)
		play(at);
	ck_assert_uint_eq(n_packets, dialogues[row].packets);
	ck_assert_ptr_null(session);
	viewer_destroy(viewer);
	live_pair_close(&pair);
	dialogue_free(&d);
	buf_free(&out);
}
