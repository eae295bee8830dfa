/* SPDX-License-Identifier: MIT */
/*
 * Random sessions and viewers against a model that says what each viewer must
 * see: every packet once, in order, from the place where the viewer began; only
 * packets that a clear or a ring took are skipped; times never go back; each
 * stream gives one HUP, after its last packet. The writers' side is real
 * (shard, files), and so is the viewers' side; events between them arrive late.
 * TP_MODEL_SEED repeats one run, a failure prints its seed; TP_TEST_LONG runs a
 * hundred times as many.
 */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "relayd/live/live_objects.h"
#include "relayd/live/viewer.h"
#include "relayd/live/viewer_internal.h"
#include "store/folder.h"
#include "store/packet_log.h"
#include "tests/relayd/model.h"

#define VIEWERS 3
#define STEPS 1500
#define SEEDS 12

struct m_position {
	enum { ABSENT, HIDDEN, ANNOUNCED } state;
	uint64_t pos, bound, last_time, sent, given;
	uint64_t time_before, min_begin;
	bool has_bound;
	uint64_t pinned; /* packet of the last OK; NONE: none */
};

struct m_viewer {
	struct viewer *v;
	bool wants_empty_ok, was_flagged, had_empty_ok;
	struct live_session *attached[SESSIONS]; /* by slot */
	bool has_ended[SESSIONS];
	uint64_t given[SESSIONS];
	struct m_position at[STREAMS];
};

static struct buf out;
static struct m_viewer *viewers;

static struct m_position *
metadata_of(struct m_viewer *v, unsigned trace)
{
	for (unsigned i = 0; i < n_streams; i++)
		if (streams[i].trace == trace && streams[i].is_metadata &&
		    v->at[i].state != ABSENT)
			return &v->at[i];
	return NULL;
}

static struct m_stream *
stream_of(struct m_viewer *v, const struct m_position *p)
{
	return &streams[p - v->at];
}

static bool
has_data_positions(const struct m_viewer *v, unsigned trace)
{
	for (unsigned i = 0; i < n_streams; i++)
		if (streams[i].trace == trace && !streams[i].is_metadata &&
		    v->at[i].state != ABSENT)
			return true;
	return false;
}

static void
forget_metadata(struct m_viewer *v, unsigned trace)
{
	struct m_position *p = metadata_of(v, trace);

	if (p != NULL && p->state == ANNOUNCED && stream_of(v, p)->is_closed &&
	    !has_data_positions(v, trace))
		p->state = ABSENT;
}

/* Were its files deleted after it was closed, one after another? */
static bool
is_gone(const struct m_stream *m, uint64_t pos)
{
	struct log_place place;
	bool gone;

	if (!m->is_doomed || packet_log_place(m->live->log, pos, &place) != OK)
		return false;
	gone = folder_is_gone(place.folder);
	folder_put(place.folder);
	return gone;
}

/* Closed, not announced, and nothing to read. */
static bool
is_spent(const struct m_viewer *v, unsigned i)
{
	const struct m_stream *m = &streams[i];
	uint64_t pos = v->at[i].pos;

	if (v->at[i].state != HIDDEN || !m->is_closed || m->is_metadata)
		return false;
	if (pos < m->start)
		pos = m->start;
	return pos >= m->count || is_gone(m, pos);
}

/* What will never be announced is forgotten, data first. */
static void
forget_spent(struct m_viewer *v)
{
	for (unsigned i = 0; i < n_streams; i++)
		if (is_spent(v, i))
			v->at[i].state = ABSENT;
	for (unsigned i = 0; i < n_streams; i++)
		if (v->at[i].state == HIDDEN && streams[i].is_metadata &&
		    streams[i].is_closed &&
		    !has_data_positions(v, streams[i].trace))
			v->at[i].state = ABSENT;
}

static bool
may_announce(struct m_viewer *v, unsigned i)
{
	forget_spent(v);
	return v->at[i].state == HIDDEN &&
	       metadata_of(v, streams[i].trace) != NULL &&
	       has_data_positions(v, streams[i].trace);
}

static bool
has_unannounced(struct m_viewer *v)
{
	for (unsigned i = 0; i < n_streams; i++)
		if (may_announce(v, i))
			return true;
	return false;
}

static int
slot_of(const struct m_viewer *v, const struct live_session *live)
{
	for (int k = 0; k < SESSIONS; k++)
		if (v->attached[k] == live)
			return k;
	return -1;
}

static void
add_position(struct m_viewer *v, unsigned i, bool at_end)
{
	v->at[i] = (struct m_position){ .state = HIDDEN,
		.pos = at_end ? streams[i].count : streams[i].start,
		.pinned = NONE };
}

/* The latest time that it was given of what it is attached to; all sessions
 * are of one host. */
static uint64_t
last_sent_to(const struct m_viewer *v)
{
	uint64_t given = 0;

	for (int k = 0; k < SESSIONS; k++)
		if (v->attached[k] != NULL && v->given[k] > given)
			given = v->given[k];
	return given;
}

static uint64_t
later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void
give(struct m_viewer *v, unsigned i, uint64_t time)
{
	uint64_t *given = &v->given[slot_of(v, streams[i].live->session)];

	*given = later(*given, time);
	v->at[i].last_time = later(v->at[i].last_time, time);
}

/* Announced: it must not begin before what was given (live 4.11). */
static void
set_min_begin(const struct m_viewer *v, struct m_position *p)
{
	uint64_t given = last_sent_to(v);

	p->min_begin = given < p->time_before ? given : p->time_before;
	if (p->min_begin != 0)
		p->min_begin += VIEWER_MIN_BEGIN_TICKS;
}

static void
learn(enum live_event what, const void *object)
{
	for (unsigned k = 0; k < SESSIONS; k++)
		if (sessions[k].live == object) {
			sessions[k].in_registry = what == LIVE_EVENT_SESSION;
			if (what == LIVE_EVENT_SESSION_ENDED) {
				live_put(sessions[k].live);
				sessions[k].live = NULL;
			}
		}
	for (struct m_viewer *v = viewers; v < viewers + VIEWERS; v++)
		if (what == LIVE_EVENT_SESSION_ENDED && slot_of(v, object) >= 0)
			v->has_ended[slot_of(v, object)] = true;
	for (unsigned i = 0; i < n_streams; i++) {
		struct m_stream *m = &streams[i];

		if (m->live != object)
			continue;
		m->in_registry = what == LIVE_EVENT_STREAM;
		for (struct m_viewer *v = viewers; v < viewers + VIEWERS; v++) {
			if (slot_of(v, m->live->session) < 0)
				continue;
			if (what == LIVE_EVENT_STREAM &&
			    v->at[i].state == ABSENT) {
				add_position(v, i, false);
				v->at[i].time_before = later(
				    m->live->time_before, last_sent_to(v));
				v->had_empty_ok = false;
			} else if (what == LIVE_EVENT_STREAM_CLOSED &&
				   m->is_metadata) {
				forget_spent(v);
				forget_metadata(v, m->trace);
			} else if (what == LIVE_EVENT_STREAM_CLOSED &&
				   v->at[i].state == HIDDEN &&
				   !may_announce(v, i)) {
				v->at[i].state = ABSENT;
			}
		}
	}
}

static bool
deliver_one(void)
{
	const struct live_pair_news *n = pair.first;
	enum live_event what;
	const void *object;

	if (n == NULL)
		return false;
	what = n->what;
	object = n->object;
	(void)live_pair_deliver(&pair);
	learn(what, object);
	return true;
}

static enum live_outcome
ask(struct m_viewer *v, const struct live_request *q)
{
	struct live_held held;

	return live_pair_ask(v->v, q,
	    &(struct live_how){
		.arrived_ns = clock_now_ns(), .may_hold = true },
	    &out, &held);
}

static uint32_t
flags_of(struct m_viewer *v, unsigned i)
{
	const struct m_position *p = metadata_of(v, streams[i].trace);
	uint32_t flags = has_unannounced(v) ? LIVE_FLAG_NEW_STREAM : 0;

	if (p != NULL) {
		const struct m_stream *m = &streams[p - v->at];

		if (p->sent == 0 || m->length > p->sent)
			flags |= LIVE_FLAG_NEW_METADATA;
	}
	return flags;
}

/* The reply that must come; the position moves as it says. */
static struct live_index
expect_nothing(struct m_viewer *v, unsigned i, uint32_t flags, bool has_beacon)
{
	struct m_position *p = &v->at[i];
	struct m_stream *m = &streams[i];
	struct live_index want = { .flags = flags, .status = LIVE_INDEX_RETRY };
	uint64_t time = m->beacon;

	if (flags & LIVE_FLAG_NEW_STREAM) {
		if (v->wants_empty_ok && v->was_flagged && !v->had_empty_ok &&
		    m->has_class) {
			v->had_empty_ok = true;
			want.status = LIVE_INDEX_OK;
			want.ctf_stream = LIVE_PAIR_CLASS;
			return want;
		}
		time = p->has_bound ? p->bound : 0;
	}
	if (!has_beacon || time < p->last_time || time < p->min_begin ||
	    ((flags & LIVE_FLAG_NEW_STREAM) != 0 && !p->has_bound))
		return want;
	want.status = LIVE_INDEX_INACTIVE;
	want.timestamp_end = time;
	want.ctf_stream = LIVE_PAIR_CLASS;
	p->has_bound = true;
	p->bound = time;
	give(v, i, time);
	return want;
}

/* At its end: would it show what is later than streams that were not announced
 * of, which it would ask for now? */
static bool
must_ask(struct m_viewer *v, unsigned i, uint32_t flags)
{
	bool asks = v->wants_empty_ok ? !v->had_empty_ok && streams[i].has_class
				      : v == &viewers[1] && !v->was_flagged;
	uint64_t before = NONE;

	for (unsigned k = 0; k < n_streams; k++)
		if (may_announce(v, k) && v->at[k].time_before < before)
			before = v->at[k].time_before;
	for (unsigned k = 0; k < n_streams; k++)
		if (k != i && v->at[k].state == ANNOUNCED &&
		    !streams[k].is_metadata && v->at[k].last_time != 0 &&
		    v->at[k].last_time <= before)
			return false;
	return (flags & LIVE_FLAG_NEW_STREAM) != 0 && asks;
}

static struct live_index
expect_packet(struct m_viewer *v, unsigned i, uint32_t flags)
{
	struct m_position *p = &v->at[i];
	uint64_t seq = streams[i].log[p->pos++];
	const struct live_pair_packet *k = &streams[i].packets[seq];

	CHECK(p->given <= seq, "packet %llu again", (unsigned long long)seq);
	CHECK(k->begin >= p->last_time, "a packet of the past");
	p->given = seq + 1;
	p->pinned = seq;
	give(v, i, k->end);
	/* They are not laid out as LTTng's: given as they are. */
	p->min_begin = 0;
	return (struct live_index){ .status = LIVE_INDEX_OK,
		.flags = flags,
		.offset = streams[i].offsets[seq],
		.packet_size = PACKET_BYTES * 8,
		.content_size = PACKET_BYTES * 8,
		.timestamp_begin = k->begin,
		.timestamp_end = k->end,
		.ctf_stream = LIVE_PAIR_CLASS };
}

static struct live_index
expect_index(struct m_viewer *v, unsigned i)
{
	struct m_position *p = &v->at[i];
	struct m_stream *m = &streams[i];
	uint32_t flags;

	if (p->state != ANNOUNCED)
		return (struct live_index){ .status = LIVE_INDEX_ERR };
	flags = flags_of(v, i);
	if (m->is_metadata)
		return (struct live_index){ .status = LIVE_INDEX_HUP,
			.flags = flags };
	if (p->pos < m->start)
		p->pos = m->start;
	if (p->pos < m->count)
		return expect_packet(v, i, flags);
	if (m->is_closed) {
		if (must_ask(v, i, flags))
			return expect_nothing(v, i, flags, false);
		p->state = ABSENT;
		forget_metadata(v, m->trace);
		return (struct live_index){ .status = LIVE_INDEX_HUP,
			.flags = flags };
	}
	return expect_nothing(v, i, flags, m->has_beacon);
}

/* Are streams being added to what it is attached to? */
/* Must it wait for the message of a publication? */
static bool
must_wait(const struct m_viewer *v, unsigned i)
{
	const struct m_stream *m = &streams[i];
	const struct m_position *p = &v->at[i];

	return pair.n_waiting > 0 && p->state == ANNOUNCED && !m->is_metadata &&
	       (p->pos < m->count || (m->has_beacon && !m->is_closed)) &&
	       (m->start < m->count || (m->has_beacon && !m->is_closed));
}

/* Of a closed stream that was cleared, what is open may still be read. */
static void
skip_deleted(const struct m_stream *m, struct m_position *p,
    const struct live_index *got)
{
	while (p->pos < m->count &&
	       (got->status == LIVE_INDEX_HUP ||
		   m->packets[m->log[p->pos]].begin != got->timestamp_begin))
		p->pos++;
}

static void
next_index(struct m_viewer *v, unsigned i)
{
	struct live_request q = { .cmd = LIVE_CMD_get_next_index,
		.id = streams[i].live->id };
	bool waits = must_wait(v, i);
	struct live_index want, got;

	CHECK(ask(v, &q) == LIVE_REPLY, "stream %u", i);
	if (waits) {
		/* Replies are not held here: to be asked again. */
		got = live_pair_index_of(&out);
		CHECK(got.status == LIVE_INDEX_RETRY && got.flags == 0,
		    "stream %u waits: status %u, flags %u", i, got.status,
		    got.flags);
		while (pair.n_waiting > 0)
			(void)deliver_one();
		CHECK(ask(v, &q) == LIVE_REPLY, "stream %u waits", i);
	}
	got = live_pair_index_of(&out);
	if (streams[i].is_doomed && v->at[i].state == ANNOUNCED)
		skip_deleted(&streams[i], &v->at[i], &got);
	want = expect_index(v, i);
	if (want.flags & LIVE_FLAG_NEW_STREAM)
		v->was_flagged = true;
	CHECK(memcmp(&want, &got, sizeof(want)) == 0,
	    "stream %u: status %u for %u, flags %u for %u, time %llu for "
	    "%llu, begin %llu for %llu, offset %llu for %llu",
	    i, got.status, want.status, got.flags, want.flags,
	    (unsigned long long)got.timestamp_end,
	    (unsigned long long)want.timestamp_end,
	    (unsigned long long)got.timestamp_begin,
	    (unsigned long long)want.timestamp_begin,
	    (unsigned long long)got.offset, (unsigned long long)want.offset);
}

/* The packet of the last index is there, whatever happened meanwhile. */
static void
get_packet(struct m_viewer *v, unsigned i)
{
	const struct m_position *p = &v->at[i];
	bool has = p->state == ANNOUNCED && p->pinned != NONE;
	uint64_t offset = has ? streams[i].offsets[p->pinned] : 0;

	(void)ask(v, &(struct live_request){ .cmd = LIVE_CMD_get_packet,
			 .id = streams[i].live->id,
			 .offset = offset,
			 .length = PACKET_BYTES });
	CHECK(
	    (live_pair_u32(&out, 0) == LIVE_PACKET_OK) == has, "stream %u", i);
	CHECK(!has ||
		  live_pair_is_packet(&out, 12, &streams[i].packets[p->pinned]),
	    "stream %u: not packet %llu", i, (unsigned long long)p->pinned);
}

static void
get_metadata(struct m_viewer *v, unsigned i)
{
	struct m_position *p = &v->at[i];
	const struct m_stream *m = &streams[i];
	uint64_t n;
	uint32_t status;

	(void)ask(v, &(struct live_request){
			 .cmd = LIVE_CMD_get_metadata, .id = m->live->id });
	n = live_pair_u64(&out, 0);
	status = live_pair_u32(&out, 8);
	if (p->state != ANNOUNCED || !m->is_metadata) {
		CHECK(status == LIVE_METADATA_ERR && n == 0, "no metadata");
		return;
	}
	if (status != LIVE_METADATA_OK) {
		uint32_t expected = p->sent == 0 && m->is_closed
					? LIVE_METADATA_ERR
					: LIVE_METADATA_NO_NEW;

		CHECK(status == expected && n == 0, "status %u", status);
		CHECK(m->length <= p->sent || m->is_closed, "it is there");
		return;
	}
	CHECK(n > 0 && p->sent + n == m->length, "%llu bytes",
	    (unsigned long long)n);
	for (uint64_t k = 0; k < n; k++)
		CHECK(buf_data(&out)[12 + k] ==
			  metadata_byte(m->trace, p->sent + k),
		    "byte %llu", (unsigned long long)(p->sent + k));
	p->sent = m->length;
}

/* The records after AT must be those that may be announced, each once. */
static void
take_records(struct m_viewer *v, const struct live_session *s)
{
	uint32_t count = live_pair_u32(&out, 4), expected = 0;

	CHECK(buf_len(&out) == 8 + count * (size_t)LIVE_STREAM_RECORD_LEN,
	    "count");
	for (unsigned i = 0; i < n_streams; i++)
		expected += streams[i].live != NULL &&
			    streams[i].live->session == s && may_announce(v, i);
	CHECK(count == expected, "%u streams for %u", count, expected);
	for (uint32_t k = 0; k < count; k++) {
		uint64_t id = live_pair_u64(
		    &out, 8 + k * (size_t)LIVE_STREAM_RECORD_LEN);
		bool has = false;

		for (unsigned i = 0; i < n_streams && !has; i++) {
			if (streams[i].live == NULL ||
			    streams[i].live->id != id)
				continue;
			CHECK(may_announce(v, i), "stream %u announced", i);
			has = true;
		}
		CHECK(has, "no such stream");
	}
	for (unsigned i = 0; i < n_streams; i++)
		if (streams[i].live != NULL && streams[i].live->session == s &&
		    may_announce(v, i)) {
			v->at[i].state = ANNOUNCED;
			set_min_begin(v, &v->at[i]);
		}
}

static bool
has_data(const struct m_viewer *v, const struct live_session *s)
{
	for (unsigned i = 0; i < n_streams; i++)
		if (v->at[i].state == ANNOUNCED && !streams[i].is_metadata &&
		    streams[i].live->session == s)
			return true;
	return false;
}

static void
new_streams(struct m_viewer *v, int slot)
{
	const struct live_session *s = v->attached[slot];
	uint32_t status;

	(void)ask(v, &(struct live_request){
			 .cmd = LIVE_CMD_get_new_streams, .id = s->id });
	status = live_pair_u32(&out, 0);
	take_records(v, s);
	v->was_flagged = v->had_empty_ok = false;
	if (live_pair_u32(&out, 4) == 0 && v->has_ended[slot] &&
	    !has_data(v, s))
		CHECK(status == LIVE_STREAMS_HUP, "status %u", status);
	else
		CHECK(status == LIVE_STREAMS_OK, "status %u", status);
}

static void
attach(struct m_viewer *v, struct m_session *s)
{
	bool at_end = one_in(2);
	int slot = slot_of(v, NULL);
	uint32_t status;

	if (slot < 0 || s->live == NULL)
		return;
	(void)ask(
	    v, &(struct live_request){ .cmd = LIVE_CMD_attach_session,
		   .id = s->live->id,
		   .seek = at_end ? LIVE_SEEK_LAST : LIVE_SEEK_BEGINNING });
	status = live_pair_u32(&out, 0);
	if (!s->in_registry) {
		CHECK(status == LIVE_ATTACH_UNKNOWN, "status %u", status);
		return;
	}
	if (slot_of(v, s->live) >= 0) {
		CHECK(status == LIVE_ATTACH_ALREADY, "status %u", status);
		return;
	}
	CHECK(status == LIVE_ATTACH_OK, "status %u", status);
	v->attached[slot] = live_get(s->live);
	v->has_ended[slot] = false;
	v->given[slot] = 0;
	for (unsigned i = 0; i < n_streams; i++)
		if (streams[i].in_registry &&
		    streams[i].live->session == s->live)
			add_position(v, i, at_end);
	take_records(v, s->live);
}

static void
detach(struct m_viewer *v, int slot)
{
	struct live_session *s = v->attached[slot];

	(void)ask(v, &(struct live_request){
			 .cmd = LIVE_CMD_detach_session, .id = s->id });
	CHECK(live_pair_u32(&out, 0) == LIVE_DETACH_OK, "detach");
	for (unsigned i = 0; i < n_streams; i++)
		if (streams[i].live != NULL && streams[i].live->session == s)
			v->at[i].state = ABSENT;
	v->attached[slot] = NULL;
	live_put(s);
}

static void
viewer_step(struct m_viewer *v)
{
	int slot = (int)random_below(SESSIONS);
	unsigned i = n_streams == 0 ? 0 : (unsigned)random_below(n_streams);

	if (one_in(15))
		attach(v, &sessions[random_below(SESSIONS)]);
	if (v->attached[slot] != NULL && one_in(300))
		detach(v, slot);
	if (v->attached[slot] != NULL && one_in(10))
		new_streams(v, slot);
	if (n_streams == 0)
		return;
	/* Mostly what it knows. */
	for (int k = 0; k < 8 && v->at[i].state == ABSENT; k++)
		i = (unsigned)random_below(n_streams);
	if (streams[i].live == NULL)
		return;
	if (one_in(4))
		get_packet(v, i);
	else if (one_in(6) || (streams[i].is_metadata && !one_in(4)))
		get_metadata(v, i);
	else
		next_index(v, i);
}

/* All that is left, to the end: each stream HUP, each session HUP. */
static void
read_to_end(struct m_viewer *v)
{
	for (int slot = 0; slot < SESSIONS; slot++) {
		if (v->attached[slot] == NULL)
			continue;
		new_streams(v, slot);
		for (unsigned i = 0; i < n_streams; i++)
			for (unsigned n = 0;
			     v->at[i].state == ANNOUNCED &&
			     !streams[i].is_metadata &&
			     streams[i].live->session == v->attached[slot];
			     n++) {
				CHECK(n <= PACKETS, "stream %u has no end", i);
				next_index(v, i);
			}
		new_streams(v, slot);
		CHECK(live_pair_u32(&out, 0) == LIVE_STREAMS_HUP, "not ended");
		detach(v, slot);
	}
	CHECK(list_empty(&v->v->unannounced) && list_empty(&v->v->announced),
	    "positions are left");
	CHECK(v->v->traces.n == 0 && v->v->by_id.n == 0, "entries are left");
}

static void
begin(uint64_t this_seed)
{
	static char peer[] = "model";

	model_begin(this_seed);
	viewers = calloc(VIEWERS, sizeof(*viewers));
	for (unsigned k = 0; k < VIEWERS; k++) {
		static const uint32_t minors[VIEWERS] = { 4, 15, 4 };
		struct m_viewer *v = &viewers[k];

		ck_assert_int_eq(viewer_create(&v->v, &pair.viewers, peer), OK);
		(void)ask(v, &(struct live_request){ .cmd = LIVE_CMD_connect,
				 .major = 2,
				 .minor = minors[k],
				 .type = 1 });
		if (k == 2)
			(void)ask(v, &(struct live_request){ .cmd = 2 });
		(void)ask(v, &(struct live_request){ .cmd = 8 });
		v->wants_empty_ok = k == 0;
	}
}

static void
finish(void)
{
	for (unsigned k = 0; k < SESSIONS; k++)
		if (sessions[k].session != NULL)
			end_session(&sessions[k]);
	while (deliver_one())
		;
	for (unsigned k = 0; k < VIEWERS; k++) {
		read_to_end(&viewers[k]);
		viewer_destroy(viewers[k].v);
	}
	model_end();
	buf_free(&out);
	free(viewers);
}

static void
run(uint64_t this_seed)
{
	begin(this_seed);
	for (step = 0; step < STEPS; step++) {
		writer_step();
		if (one_in(3))
			(void)deliver_one();
		if (one_in(2))
			viewer_step(&viewers[random_below(VIEWERS)]);
	}
	finish();
}

TEST_ROWS(
    viewers_see_what_the_model_says, getenv("TP_TEST_LONG") != NULL ? 400 : 4)
{
	const char *one = getenv("TP_MODEL_SEED");

	if (one != NULL) {
		log_set_level(LOG_DEBUG);
		run(strtoull(one, NULL, 10));
		return;
	}
	for (uint64_t n = 1; n <= SEEDS; n++)
		run((uint64_t)_i * SEEDS + n);
}
