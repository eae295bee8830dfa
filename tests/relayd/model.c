/* SPDX-License-Identifier: MIT */
#include "tests/relayd/model.h"

#include <stdlib.h>
#include <string.h>

#include "relayd/live/live_objects.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream.h"
#include "relayd/record/cycle.h"
#include "store/packet_log.h"

struct live_pair pair;
struct m_stream *streams;
unsigned n_streams;
struct m_session sessions[SESSIONS];
uint64_t seed, step;

static unsigned n_traces;
static uint64_t now, rng;

void
random_seed(uint64_t this_seed)
{
	seed = this_seed;
	rng = seed * 0x9e3779b97f4a7c15 + 1;
}

uint64_t
random_below(uint64_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (rng >> 11) % n;
}

bool
one_in(uint64_t n)
{
	return random_below(n) == 0;
}

static struct m_stream *
add_stream(struct m_session *s, unsigned trace, bool is_metadata)
{
	struct m_stream *m;
	char path[32], channel[32];

	if (n_streams == STREAMS)
		return NULL;
	m = &streams[n_streams];
	*m = (struct m_stream){ .session = s->session,
		.is_metadata = is_metadata,
		.trace = trace,
		.roll_at = NONE };
	if (!is_metadata && one_in(2)) {
		m->per_file = 1 + random_below(3);
		m->files = random_below(4);
	}
	snprintf(path, sizeof(path), "ust/pid/%u", trace);
	snprintf(channel, sizeof(channel), "ch_%u", n_streams);
	m->t = live_pair_stream(s->session, path,
	    is_metadata ? "metadata" : channel, m->per_file * PACKET_BYTES,
	    m->files);
	CHECK(m->t != NULL, "stream");
	n_streams++;
	return m;
}

static void
publish_streams(struct m_session *s)
{
	session_publish(s->session);
	for (unsigned i = 0; i < n_streams; i++) {
		struct m_stream *m = &streams[i];

		if (m->session != s->session || m->is_published || m->t == NULL)
			continue;
		m->is_published = true;
		m->live = live_get(m->t->live);
	}
}

/* Add a trace whose metadata is published first, last, or by itself. */
static void
add_trace(struct m_session *s)
{
	unsigned trace = n_traces++;
	uint64_t order = random_below(4), n = 1 + random_below(2);

	if (order == 0)
		(void)add_stream(s, trace, true);
	while (n-- > 0)
		(void)add_stream(s, trace, false);
	if (order == 3 && one_in(2))
		publish_streams(s);
	if (order != 0)
		(void)add_stream(s, trace, true);
	/* Or later. */
	if (!one_in(3))
		publish_streams(s);
}

static void
begin_session(struct m_session *s)
{
	*s = (struct m_session){ 0 };
	s->session = live_pair_session(&pair, "session", 1000, false);
	s->live = live_get(s->session->live);
	add_trace(s);
}

/* The next packet goes to a file: where in it? A ring may overwrite one. */
static uint64_t
place_packet(struct m_stream *m)
{
	uint64_t at = m->in_chunk++, file, gone;

	if (m->per_file == 0)
		return at * PACKET_BYTES;
	file = at / m->per_file;
	if (m->files != 0 && file >= m->files && !m->is_deleted) {
		gone = m->first_in_chunk + (file - m->files + 1) * m->per_file;
		if (gone > m->count)
			gone = m->count;
		if (gone > m->start)
			m->start = gone;
	}
	return at % m->per_file * PACKET_BYTES;
}

/* Packets that became whole. */
static void
commit(struct m_stream *m)
{
	while (m->committed < m->data && m->committed < m->index) {
		uint64_t seq = m->committed++;

		m->offsets[seq] = place_packet(m);
		if (!m->is_deleted) {
			m->log[m->count++] = seq;
			m->has_beacon = false;
			if (m->packets[seq].end > m->last_time)
				m->last_time = m->packets[seq].end;
		}
		if (m->committed == m->roll_at) {
			m->roll_at = NONE;
			m->is_deleted = false;
			m->in_chunk = 0;
			m->first_in_chunk = m->count;
		}
	}
	CHECK(published(&m->t->log->count) == m->count, "count %llu",
	    (unsigned long long)published(&m->t->log->count));
	CHECK(published(&m->t->log->start) == m->start, "start %llu for %llu",
	    (unsigned long long)published(&m->t->log->start),
	    (unsigned long long)m->start);
}

static uint64_t
produced(const struct m_stream *m)
{
	return m->data > m->index ? m->data : m->index;
}

static bool
produce(struct m_stream *m)
{
	uint64_t seq = produced(m);

	if (seq == PACKETS)
		return false;
	m->packets[seq] = (struct live_pair_packet){ .seq = seq,
		.begin = now + 1,
		.end = now + 1 + random_below(20),
		.bytes = PACKET_BYTES,
		.tag = (uint64_t)(m - streams) << 40 | seq << 16,
		.ctf_stream = LIVE_PAIR_CLASS };
	now = m->packets[seq].end;
	return true;
}

static void
send_data(struct m_stream *m)
{
	if (m->data == produced(m) && !produce(m))
		return;
	live_pair_data(m->t, &m->packets[m->data++]);
	commit(m);
}

static void
send_index(struct m_stream *m)
{
	if (m->index == produced(m) && !produce(m))
		return;
	m->has_beacon = false;
	m->has_class = true;
	live_pair_index(m->t, &m->packets[m->index++]);
	commit(m);
}

static void
send_beacon(struct m_stream *m)
{
	uint64_t time = one_in(8) ? now / 2 : ++now;

	live_pair_beacon(m->t, time);
	if (m->data != m->index)
		return; /* something waits for its other half */
	m->has_class = true;
	if (time < m->last_time)
		return;
	m->has_beacon = true;
	m->beacon = m->last_time = time;
}

uint8_t
metadata_byte(unsigned trace, uint64_t at)
{
	return (uint8_t)(at * 7 + trace * 13 + (at >> 8));
}

/* What is missing in this chunk, or something new. */
static void
send_metadata(struct m_stream *m)
{
	uint8_t bytes[40];
	uint64_t n = 1 + random_below(sizeof(bytes));

	if (m->length < m->full && n > m->full - m->length)
		n = m->full - m->length;
	for (uint64_t i = 0; i < n; i++)
		bytes[i] = metadata_byte(m->trace, m->length + i);
	live_pair_metadata(m->t, bytes, (size_t)n);
	m->length += n;
	if (m->length > m->full)
		m->full = m->length;
}

static void
clear_session(struct m_session *s)
{
	for (unsigned i = 0; i < n_streams; i++)
		if (streams[i].t != NULL && streams[i].roll_at != NONE &&
		    streams[i].session == s->session)
			return; /* the one before is under way */
	live_pair_create_chunk(s->session, ++s->chunk);
	for (unsigned i = 0; i < n_streams; i++) {
		struct m_stream *m = &streams[i];

		if (m->t == NULL || m->session != s->session)
			continue;
		m->roll_at = produced(m);
		live_pair_rotate(m->t, true, s->chunk, m->roll_at);
		m->length = 0;
		if (m->committed == m->roll_at) {
			m->roll_at = NONE;
			m->in_chunk = 0;
			m->first_in_chunk = m->count;
		}
	}
	live_pair_close_chunk(s->session, s->chunk - 1, RELAY_CLOSE_DELETE);
	for (unsigned i = 0; i < n_streams; i++) {
		struct m_stream *m = &streams[i];

		if (m->session != s->session)
			continue;
		m->is_doomed |= m->is_closed;
		if (m->t == NULL || m->is_metadata)
			continue;
		m->start = m->count;
		m->is_deleted = m->roll_at != NONE;
		commit(m);
	}
}

static void
before_close(struct m_stream *m)
{
	while (!m->is_metadata && m->data < m->index)
		send_data(m);
	/* Whole packets whose record never came are appended without. */
	for (; m->committed < m->data; m->committed++)
		(void)place_packet(m);
	m->is_closed = true;
	m->t = NULL;
}

static void
close_stream(struct m_stream *m)
{
	struct stream *t = m->t;

	before_close(m);
	stream_close(
	    t, m->is_metadata || produced(m) == 0 ? NONE : produced(m) - 1);
}

void
end_session(struct m_session *s)
{
	for (unsigned i = 0; i < n_streams; i++)
		if (streams[i].t != NULL && streams[i].session == s->session)
			before_close(&streams[i]);
	session_end(s->session, one_in(4));
	s->session = NULL;
}

void
writer_step(void)
{
	struct m_session *s = &sessions[random_below(SESSIONS)];
	struct m_stream *m = n_streams == 0 ? NULL
					    : &streams[random_below(n_streams)];

	if (s->session == NULL && s->live == NULL && n_streams < STREAMS - 8)
		begin_session(s);
	if (s->session != NULL && one_in(60))
		add_trace(s);
	if (s->session != NULL && one_in(40))
		publish_streams(s);
	if (s->session != NULL && one_in(80))
		clear_session(s);
	if (s->session != NULL && one_in(250))
		end_session(s);
	if (one_in(5))
		(void)cycle_delete_some(pair.shard);
	if (m == NULL || m->t == NULL)
		return;
	if (one_in(40))
		close_stream(m);
	else if (m->is_metadata)
		one_in(4) ? send_metadata(m) : (void)0;
	else if (one_in(3))
		send_beacon(m);
	else if (one_in(2) && m->data < m->index + 3)
		send_data(m);
	else if (m->index < m->data + 3)
		send_index(m);
}

void
model_begin(uint64_t this_seed)
{
	random_seed(this_seed);
	now = 1000;
	n_streams = n_traces = 0;
	memset(sessions, 0, sizeof(sessions));
	streams = calloc(STREAMS, sizeof(*streams));
	live_pair_open(&pair, false, 0);
}

void
model_end(void)
{
	for (unsigned i = 0; i < n_streams; i++)
		live_put(streams[i].live);
	live_pair_close(&pair);
	free(streams);
}
