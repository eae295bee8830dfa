/* SPDX-License-Identifier: MIT */
#include "relayd/http/json.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "relayd/http/text.h"

static const char *const state_names[] = {
	[SESSION_ACTIVE] = "active",
	[SESSION_ENDING] = "ending",
	[SESSION_CLOSED] = "closed",
};

static const struct {
	const char *name;
} news_names[] = {
	[NEWS_SESSION_BEGAN] = { "session_began" },
	[NEWS_SESSION_ENDED] = { "session_ended" },
	[NEWS_SESSION_ROTATED] = { "session_rotated" },
	[NEWS_PACKETS_LOST] = { "packets_lost" },
	[NEWS_VIEWER_CAME] = { "viewer_came" },
	[NEWS_VIEWER_WENT] = { "viewer_went" },
};

const char *
news_name(enum news_kind kind)
{
	return news_names[kind].name;
}

/* jansson is used by the HTTP thread only. */
static bool lacks_memory;

static void *
allocate(size_t n)
{
	void *p = malloc(n);

	lacks_memory |= p == NULL;
	return p;
}

void
json_init(void)
{
	json_set_alloc_funcs(allocate, free);
	/* Now, as it may open /dev/urandom. */
	json_object_seed(0);
}

void
json_begin(void)
{
	lacks_memory = false;
}

bool
json_is_whole(void)
{
	return !lacks_memory;
}

/* Without what is no UTF-8. */
static json_t *
repaired(const char *text)
{
	struct buf b = { 0 };
	json_t *j = NULL;

	text_utf8(&b, text);
	if (!b.bad)
		j = json_stringn((const char *)buf_data(&b), buf_len(&b));
	buf_free(&b);
	return j;
}

json_t *
json_of_text(const char *text)
{
	json_t *j = json_string(text);

	return j != NULL ? j : repaired(text);
}

static json_t *
number(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static json_t *
lost_by_cause(const struct sums *s)
{
	json_t *j = json_object();

	for (unsigned i = 0; i < LOSSES; i++)
		if (s->lost[i] > 0)
			(void)json_object_set_new(
			    j, loss_names[i], number(s->lost[i]));
	return j;
}

static void
add_sums(json_t *j, const struct sums *s)
{
	(void)json_object_set_new(
	    j, "received_bytes", number(s->received_bytes));
	(void)json_object_set_new(
	    j, "received_packets", number(s->received_packets));
	(void)json_object_set_new(j, "written_bytes", number(s->written_bytes));
	(void)json_object_set_new(
	    j, "written_packets", number(s->written_packets));
	(void)json_object_set_new(j, "index_records", number(s->index_records));
	(void)json_object_set_new(
	    j, "metadata_bytes", number(s->metadata_bytes));
	(void)json_object_set_new(j, "lost_packets", number(sums_lost(s)));
	(void)json_object_set_new(j, "lost_by_cause", lost_by_cause(s));
}

static void
add_who(json_t *j, const struct session_info *s)
{
	(void)json_object_set_new(j, "id", number(s->id));
	(void)json_object_set_new(j, "host", json_of_text(s->host));
	(void)json_object_set_new(j, "name", json_of_text(s->name));
}

json_t *
json_of_session(const struct session_info *s)
{
	json_t *j = json_object();

	add_who(j, s);
	(void)json_object_set_new(
	    j, "state", json_string(state_names[s->state]));
	if (s->state == SESSION_CLOSED) {
		(void)json_object_set_new(
		    j, "why", json_string(why_names[s->why]));
		(void)json_object_set_new(
		    j, "why_text", json_string(why_texts[s->why]));
		(void)json_object_set_new(j, "ended", number(s->ended_s));
	}
	(void)json_object_set_new(j, "path", json_of_text(s->path));
	(void)json_object_set_new(j, "peer", json_of_text(s->peer));
	(void)json_object_set_new(j, "worker", number(s->worker));
	(void)json_object_set_new(j, "minor", number(s->minor));
	(void)json_object_set_new(
	    j, "transport", json_string(s->is_udp ? "udp" : "tcp"));
	(void)json_object_set_new(j, "live_timer_us", number(s->live_timer_us));
	(void)json_object_set_new(
	    j, "is_snapshot", json_boolean(s->is_snapshot));
	(void)json_object_set_new(j, "began", number(s->began_s));
	(void)json_object_set_new(j, "duration_seconds",
	    json_real((double)(s->duration_ns / NS_PER_MS) / 1000));
	(void)json_object_set_new(j, "open_streams", number(s->streams));
	(void)json_object_set_new(j, "open_viewers", number(s->viewers));
	(void)json_object_set_new(j, "held_bytes", number(s->held_bytes));
	(void)json_object_set_new(j, "sent_bytes", number(s->sent_bytes));
	add_sums(j, &s->sums);
	return j;
}

void
json_add_streams(json_t *object, const struct info *i)
{
	json_t *all = json_array(), *j;

	for (unsigned n = 0; n < i->n_streams; n++) {
		const struct stream_info *t = &i->streams[n];

		j = json_object();
		(void)json_object_set_new(j, "name", json_of_text(t->name));
		(void)json_object_set_new(
		    j, "is_metadata", json_boolean(t->is_metadata));
		(void)json_object_set_new(
		    j, "written_bytes", number(t->written_bytes));
		(void)json_object_set_new(
		    j, "written_packets", number(t->written_packets));
		(void)json_object_set_new(
		    j, "lost_packets", number(t->lost_packets));
		(void)json_object_set_new(
		    j, "held_bytes", number(t->held_bytes));
		(void)json_array_append_new(all, j);
	}
	(void)json_object_set_new(object, "streams", all);
}

void
json_add_viewers(json_t *viewers, const struct info *i)
{
	json_t *j;

	for (unsigned n = 0; n < i->n_viewers; n++) {
		const struct viewer_info *v = &i->viewers[n];

		j = json_object();
		(void)json_object_set_new(j, "peer", json_of_text(v->peer));
		(void)json_object_set_new(j, "streams", number(v->streams));
		(void)json_object_set_new(
		    j, "lost_packets", number(v->lost_packets));
		(void)json_array_append_new(viewers, j);
	}
}

json_t *
json_of_news(const struct news *n)
{
	json_t *j = json_object();

	(void)json_object_set_new(j, "time", number(clock_wall_s()));
	add_who(j, n->session);
	switch (n->kind) {
	case NEWS_SESSION_BEGAN:
		(void)json_object_set_new(
		    j, "peer", json_of_text(n->session->peer));
		break;
	case NEWS_SESSION_ENDED:
		(void)json_object_set_new(
		    j, "why", json_string(why_names[n->session->why]));
		(void)json_object_set_new(j, "duration_seconds",
		    json_real(
			(double)(n->session->duration_ns / NS_PER_MS) / 1000));
		add_sums(j, &n->session->sums);
		break;
	case NEWS_SESSION_ROTATED:
		break;
	case NEWS_PACKETS_LOST:
		(void)json_object_set_new(j, "lost_packets", number(n->n));
		(void)json_object_set_new(
		    j, "cause", json_string(loss_names[n->cause]));
		break;
	case NEWS_VIEWER_CAME:
	case NEWS_VIEWER_WENT:
		(void)json_object_set_new(j, "peer", json_of_text(n->viewer));
		(void)json_object_set_new(
		    j, "open_viewers", number(n->session->viewers));
		break;
	}
	return j;
}
