/* SPDX-License-Identifier: MIT */
/*
 * The recorded refusals (live 7, 1): two connections in one run, each request
 * served as it was recorded, each reply compared byte by byte. The sessions
 * are made so that their ids are the recorded ones; stream and trace ids are
 * translated. One viewer per session, as the reference.
 */
#include <stdlib.h>
#include <string.h>

#include "relayd/record/session.h"
#include "relayd/record/stream.h"
#include "tests/lib/dialogue.h"
#include "tests/lib/live_pair.h"
#include "tests/lib/unit.h"

#define FIRST_SESSION 13
#define FIRST_VIEWER 18
#define MINOR_AT 12 /* of a CONNECT reply */
#define RECORD 4371
#define SESSION_RECORD 339

static struct live_pair pair;
static struct buf out;

/* Streams as the ATTACH reply of errors-1 names them: recorded id, ours. */
static struct {
	uint64_t recorded, ours;
} ids[3];

static uint64_t
our_id(uint64_t recorded)
{
	for (size_t i = 0; i < ARRAY_LEN(ids); i++)
		if (ids[i].recorded == recorded)
			return ids[i].ours;
	return recorded;
}

/* What differs on purpose. */
enum difference {
	SAME,
	OUR_VERSION,
	NO_SPURIOUS_NEW_STREAM,
	NOBODY_ATTACHED,
};

static const struct {
	const char *file;
	unsigned reply; /* from 0 */
	enum difference difference;
	const char *why;
} differences[] = {
	{ "live-errors-1", 0, OUR_VERSION, "we say 2.15" },
	{ "live-errors-2", 0, OUR_VERSION, "we say 2.15" },
	{ "live-errors-1", 18, NO_SPURIOUS_NEW_STREAM,
	    "doc/compat.md: NEW_STREAM only when there is one" },
	{ "live-errors-1", 23, NOBODY_ATTACHED,
	    "doc/compat.md: a wrong seek value attaches nobody" },
};

static enum difference
difference_of(const char *file, unsigned reply)
{
	for (size_t i = 0; i < ARRAY_LEN(differences); i++)
		if (strcmp(differences[i].file, file) == 0 &&
		    differences[i].reply == reply)
			return differences[i].difference;
	return SAME;
}

struct side {
	const char *name;
	struct dialogue d;
	size_t at;
	unsigned replies;
	struct viewer *viewer;
	struct live_request q;
};

/* The recorded part NEXT for a reply of command CMD. */
static const struct dialogue_part *
find_reply(const struct dialogue *d, uint32_t cmd, uint32_t status, size_t from)
{
	struct live_request q = { 0 };
	size_t used;

	for (size_t i = from; i < d->n; i++) {
		const struct dialogue_part *p = &d->parts[i];

		if (!p->is_reply)
			ck_assert_int_eq(
			    live_request_decode(p->p, p->n, &q, &used), OK);
		else if (q.cmd == cmd &&
			 (cmd != LIVE_CMD_attach_session || p->n > 8) &&
			 (cmd != LIVE_CMD_get_packet || p->n > 12) &&
			 (cmd != LIVE_CMD_get_next_index || p->p[59] == status))
			return p;
	}
	ck_abort_msg("no such reply");
	return NULL;
}

static uint64_t
word(const uint8_t *p)
{
	struct reader r = reader_over(p, 8);

	return reader_u64(&r);
}

/* The three streams, in the recorded order, and the recorded packet. */
static void
make_streams(struct session *session, const struct dialogue *d)
{
	const struct dialogue_part *attach = find_reply(
	    d, LIVE_CMD_attach_session, 0, 0);
	const struct dialogue_part *index = find_reply(
	    d, LIVE_CMD_get_next_index, LIVE_INDEX_OK, 0);
	const struct dialogue_part *packet = find_reply(
	    d, LIVE_CMD_get_packet, 0, 0);
	struct stream *t[3];

	ck_assert_uint_eq(attach->n, 8 + 3 * RECORD);
	for (unsigned i = 0; i < 3; i++) {
		const uint8_t *rec = attach->p + 8 + i * RECORD;

		t[i] = live_pair_stream(session, (const char *)rec + 20,
		    (const char *)rec + 4116, 0, 0);
		ids[i].recorded = word(rec);
	}
	session_publish(session);
	if (session->id != FIRST_SESSION)
		return; /* only listed */
	for (unsigned i = 0; i < 3; i++) {
		ids[i].ours = t[i]->live->id;
		if (t[i]->is_metadata)
			live_pair_metadata(t[i], "x", 1);
		else
			live_pair_packet(
			    t[i], &(struct live_pair_packet){
				      .begin = word(index->p + 24),
				      .end = word(index->p + 32),
				      .bytes = (uint32_t)(packet->n - 12),
				      .raw = packet->p + 12,
				      .content_bits = word(index->p + 16),
				      .ctf_stream = word(index->p + 48) });
	}
}

static void
make_sessions(const struct dialogue *d)
{
	static const uint32_t timers[] = { 200000, 0, 1000000 };
	const struct dialogue_part *list = find_reply(
	    d, LIVE_CMD_list_sessions, 0, 0);

	publish(&pair.session_ids, FIRST_SESSION - 1);
	publish(&pair.viewer_ids, FIRST_VIEWER - 1);
	pair.host = "vm";
	for (unsigned id = 0; id < 3; id++) {
		const uint8_t *rec = list->p + 4;

		while (word(rec) != FIRST_SESSION + id)
			rec += SESSION_RECORD;
		make_streams(live_pair_session(&pair, (const char *)rec + 84,
				 timers[id], false),
		    d);
	}
	live_pair_deliver_all(&pair);
}

/* Records of lists come in any order. */
static void
assert_same_records(const uint8_t *a, const uint8_t *b, size_t n, size_t size)
{
	for (size_t i = 0; i < n; i++) {
		bool has = false;

		for (size_t k = 0; k < n && !has; k++)
			has = memcmp(a + i * size, b + k * size, size) == 0;
		ck_assert_msg(has, "record %zu is missing", i);
	}
}

static void
assert_streams(const struct dialogue_part *want)
{
	struct bytes w = bytes_copy(want->p, want->n);

	/* Only the names are compared: ids are a daemon's own. */
	for (size_t at = 8; at < w.n; at += RECORD) {
		uint64_t trace = word(buf_data(&out) + 16);
		struct buf id = { 0 };

		buf_u64(&id, our_id(word(w.p + at)));
		buf_u64(&id, trace);
		memcpy(w.p + at, buf_data(&id), 16);
		buf_free(&id);
	}
	ck_assert_mem_eq(buf_data(&out), w.p, 8);
	assert_same_records(
	    w.p + 8, buf_data(&out) + 8, (w.n - 8) / RECORD, RECORD);
	free(w.p);
}

static void
assert_reply(const struct side *s, const struct dialogue_part *want)
{
	struct bytes w = bytes_copy(want->p, want->n);

	ck_assert_msg(buf_len(&out) == w.n, "%s reply %u: %zu bytes for %zu",
	    s->name, s->replies, buf_len(&out), w.n);
	switch (difference_of(s->name, s->replies)) {
	case SAME:
		break;
	case OUR_VERSION:
		w.p[MINOR_AT + 3] = LIVE_MINOR;
		break;
	case NO_SPURIOUS_NEW_STREAM:
		ck_assert_uint_eq(w.n, 64);
		w.p[63] &= (uint8_t)~LIVE_FLAG_NEW_STREAM;
		break;
	case NOBODY_ATTACHED:
		for (size_t at = 4; at < w.n; at += SESSION_RECORD)
			memset(w.p + at + 12, 0, 4);
		break;
	}
	if (s->q.cmd == LIVE_CMD_list_sessions) {
		ck_assert_mem_eq(buf_data(&out), w.p, 4);
		assert_same_records(w.p + 4, buf_data(&out) + 4,
		    (w.n - 4) / SESSION_RECORD, SESSION_RECORD);
	} else if (s->q.cmd == LIVE_CMD_attach_session && w.n > 8) {
		assert_streams(want);
	} else {
		ck_assert_msg(memcmp(buf_data(&out), w.p, w.n) == 0,
		    "%s: reply %u differs", s->name, s->replies);
	}
	free(w.p);
}

/* One request with its reply. */
static void
play(struct side *s)
{
	const struct dialogue_part *part = &s->d.parts[s->at++];
	enum live_outcome outcome;
	size_t used;

	ck_assert(!part->is_reply);
	ck_assert_int_eq(
	    live_request_decode(part->p, part->n, &s->q, &used), OK);
	switch (s->q.cmd) {
	case LIVE_CMD_get_next_index:
	case LIVE_CMD_get_packet:
	case LIVE_CMD_get_metadata:
		s->q.id = our_id(s->q.id);
		break;
	}
	outcome = live_pair_tell(s->viewer, &s->q, &out);
	ck_assert_int_eq(outcome,
	    live_row(s->q.cmd)->name == NULL ? LIVE_REPLY_LAST : LIVE_REPLY);
	assert_reply(s, &s->d.parts[s->at++]);
	s->replies++;
}

TEST(each_refusal_as_it_was_recorded)
{
	static char peer[] = "viewer";
	struct side sides[2] = { { .name = "live-errors-1" },
		{ .name = "live-errors-2" } };

	live_pair_open(&pair, true, 1);
	for (int i = 0; i < 2; i++) {
		sides[i].d = dialogue_read(sides[i].name);
		ck_assert_int_eq(
		    viewer_create(&sides[i].viewer, &pair.viewers, peer), OK);
	}
	make_sessions(&sides[0].d);
	/* In the order of the recording. */
	for (;;) {
		struct side *next = NULL;

		for (int i = 0; i < 2; i++)
			if (sides[i].at < sides[i].d.n &&
			    (next == NULL || sides[i].d.parts[sides[i].at].us <
						 next->d.parts[next->at].us))
				next = &sides[i];
		if (next == NULL)
			break;
		play(next);
	}
	ck_assert_uint_eq(sides[0].replies + sides[1].replies, 30);
	for (int i = 0; i < 2; i++) {
		dialogue_free(&sides[i].d);
		viewer_destroy(sides[i].viewer);
	}
	live_pair_close(&pair);
	buf_free(&out);
}
