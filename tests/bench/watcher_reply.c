/* SPDX-License-Identifier: MIT */
#include "tests/bench/watcher.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/reader.h"
#include "proto/relay.h"
#include "tests/bench/program.h"

/* Asked again when a session, its streams or its metadata are not there yet. */
#define NOT_YET_MS 10

static uint64_t
took(struct watcher *w, enum view_time what)
{
	uint64_t ns = clock_now_ns() - w->asked_ns;

	histogram_add(&w->result->times[what], ns);
	return ns;
}

static void
need(const struct watcher *w, uint32_t status, uint32_t wanted)
{
	if (status != wanted)
		program_fail("viewer %u: %s answered %u", w->number,
		    live_row(w->asked)->name, status);
}

static bool
is_named(struct span s, const char *name)
{
	return s.n == strlen(name) && memcmp(s.p, name, s.n) == 0;
}

static void
take_sessions(struct watcher *w, struct reader *r)
{
	char wanted[SHAPE_NAME_MAX];
	uint32_t n = reader_u32(r);

	w->begin_ns = took(w, VIEW_LIST);
	shape_session_name(w->session, wanted);
	for (uint32_t i = 0; i < n; i++) {
		struct live_listed s;

		live_listed_decode(r, VIEWER_MINOR, &s);
		if (is_named(s.name, wanted))
			w->session_id = s.id;
	}
	if (w->session_id == 0)
		watcher_wait(w, NOT_YET_MS);
	else
		watcher_ask(
		    w, (struct live_request){ .cmd = LIVE_CMD_create_session });
}

static void
take_stream(struct watcher *w, struct reader *r)
{
	struct live_announced s;
	unsigned number;
	char rest, name[SHAPE_NAME_MAX];

	live_announced_decode(r, &s);
	if (s.is_metadata) {
		w->metadata_id = s.id;
		return;
	}
	snprintf(name, sizeof(name), "%.*s", (int)s.channel.n, s.channel.p);
	if (sscanf(name, "channel_%u%c", &number, &rest) != 1 ||
	    number >= w->options->shape.streams || w->streams[number].id != 0)
		program_fail("viewer %u: stream %s", w->number, name);
	w->streams[number].id = s.id;
	w->streams[number].is_placed = !w->options->is_last;
	w->n_known++;
}

/* ATTACH_SESSION and GET_NEW_STREAMS: the same layout, the same OK. */
static void
take_streams(struct watcher *w, struct reader *r, uint32_t status)
{
	uint32_t n = reader_u32(r);

	if (w->asked == LIVE_CMD_attach_session) {
		w->begin_ns += took(w, VIEW_ATTACH);
		w->is_attached = true;
	} else if (status == LIVE_STREAMS_NO_NEW) {
		status = LIVE_STREAMS_OK;
	}
	need(w, status, LIVE_STREAMS_OK);
	for (uint32_t i = 0; i < n; i++)
		take_stream(w, r);
	if (w->n_known < w->options->shape.streams)
		watcher_wait(w, NOT_YET_MS);
	else
		watcher_ask_next(w);
}

static void
take_metadata(struct watcher *w, struct reader *r)
{
	uint64_t length = reader_u64(r);
	uint32_t status = reader_u32(r);
	char wanted[SHAPE_NAME_MAX];
	const uint8_t *text;

	if (status == LIVE_METADATA_NO_NEW) {
		watcher_wait(w, NOT_YET_MS);
		return;
	}
	need(w, status, LIVE_METADATA_OK);
	w->begin_ns += took(w, VIEW_METADATA);
	histogram_add(&w->result->times[VIEW_BEGIN], w->begin_ns);
	shape_metadata(w->session, wanted);
	text = reader_take(r, length);
	if (length != strlen(wanted) || memcmp(text, wanted, length) != 0)
		program_fail(
		    "viewer %u: metadata is not what was sent", w->number);
	w->has_metadata = true;
	watcher_ask_next(w);
}

static void
nothing(struct watcher *w)
{
	w->result->nothing++;
	if (w->options->pause_ms > 0)
		watcher_wait(w, w->options->pause_ms);
	else
		watcher_ask_next(w);
}

/* A viewer that begins at the end learns from the first where it stands. */
static void
place(struct watched *s, unsigned stream, uint64_t timestamp_begin)
{
	if (!s->is_placed)
		s->next = (timestamp_begin - stream) / 1000 - 1;
	s->is_placed = true;
}

static void
add_latency(struct watcher *w, uint64_t packet)
{
	const struct view_options *o = w->options;
	const volatile uint64_t *at;

	if (o->sent == NULL || w->session != o->shape.first)
		return;
	at = &o->sent[packet * o->shape.streams + w->at];
	if (*at != 0)
		histogram_add(
		    &w->result->times[VIEW_LATENCY], clock_now_ns() - *at);
}

static void
take_record(struct watcher *w, const struct live_index *got)
{
	struct watched *s = &w->streams[w->at];
	const struct shape *shape = &w->options->shape;
	struct packet_id id = { w->session, w->at, 0 };
	struct relay_index want;

	place(s, w->at, got->timestamp_begin);
	id.packet = s->next;
	shape_index(shape, &id, &want);
	if (got->offset != s->next * ((uint64_t)shape->size + shape->padding) ||
	    got->packet_size != want.packet_size ||
	    got->content_size != want.content_size ||
	    got->timestamp_begin != want.timestamp_begin ||
	    got->timestamp_end != want.timestamp_end ||
	    got->events_discarded != want.events_discarded ||
	    got->ctf_stream != want.ctf_stream)
		program_fail(
		    "viewer %u: stream %u: not the index of packet %llu",
		    w->number, w->at, (unsigned long long)s->next);
	add_latency(w, s->next);
	w->position = got->offset;
	w->taken = 0;
}

static void
take_index(struct watcher *w, struct reader *r)
{
	struct live_index got;

	live_index_decode(r, &got);
	if (got.status == LIVE_INDEX_RETRY ||
	    got.status == LIVE_INDEX_INACTIVE) {
		nothing(w);
		return;
	}
	need(w, got.status, LIVE_INDEX_OK);
	took(w, VIEW_INDEX);
	take_record(w, &got);
	watcher_ask_packet(w);
}

static bool
is_zero(const uint8_t *p, size_t n)
{
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

static bool
is_right(const struct watcher *w, const uint8_t *p, uint32_t n)
{
	const struct shape *s = &w->options->shape;
	struct packet_id id = { w->session, w->at, w->streams[w->at].next };
	uint32_t data = w->taken < s->size ? s->size - w->taken : 0;

	if (data > n)
		data = n;
	return shape_check(&id, w->taken, p, data) &&
	       is_zero(p + data, n - data);
}

static void
take_packet(struct watcher *w, struct reader *r)
{
	const struct shape *s = &w->options->shape;
	uint32_t length;

	need(w, reader_u32(r), LIVE_PACKET_OK);
	length = reader_u32(r);
	(void)reader_u32(r); /* flags */
	took(w, VIEW_PACKET);
	if (!is_right(w, reader_take(r, length), length))
		program_fail(
		    "viewer %u: stream %u: packet %llu is not what was "
		    "sent",
		    w->number, w->at,
		    (unsigned long long)w->streams[w->at].next);
	w->taken += length;
	w->result->bytes += length;
	if (w->taken < s->size + s->padding) {
		watcher_ask_packet(w);
		return;
	}
	w->result->packets++;
	w->streams[w->at].next++;
	watcher_ask_next(w);
}

static void
take_reply(struct watcher *w, struct reader *r)
{
	switch ((enum live_cmd)w->asked) {
	case LIVE_CMD_connect:
		took(w, VIEW_CONNECT);
		watcher_ask_next(w);
		break;
	case LIVE_CMD_list_sessions:
		take_sessions(w, r);
		break;
	case LIVE_CMD_create_session:
		need(w, reader_u32(r), LIVE_CREATE_OK);
		took(w, VIEW_CREATE);
		watcher_ask_next(w);
		break;
	case LIVE_CMD_attach_session:
	case LIVE_CMD_get_new_streams:
		take_streams(w, r, reader_u32(r));
		break;
	case LIVE_CMD_get_metadata:
		take_metadata(w, r);
		break;
	case LIVE_CMD_get_next_index:
		take_index(w, r);
		break;
	case LIVE_CMD_get_packet:
		take_packet(w, r);
		break;
	case LIVE_CMD_detach_session:
		break;
	}
}

void
watcher_take_replies(struct watcher *w)
{
	uint64_t n = live_reply_size(
	    w->asked, VIEWER_MINOR, buf_data(&w->in), buf_len(&w->in));
	struct reader r;

	if (n == 0 || buf_len(&w->in) < n)
		return;
	if (buf_len(&w->in) > n)
		program_fail("viewer %u: more than a reply", w->number);
	r = reader_over(buf_data(&w->in), (size_t)n);
	take_reply(w, &r);
	buf_consume(&w->in, (size_t)n);
	if (r.bad)
		program_fail("viewer %u: a reply that is too short", w->number);
}
