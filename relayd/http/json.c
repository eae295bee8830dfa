/* SPDX-License-Identifier: MIT */
#include "relayd/http/json.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "relayd/http/json_text.h"
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
	[NEWS_DELETED] = { "deleted" },
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

/* Members of what was recorded. */
static const struct {
	const char *name;
	size_t at; /* of a uint64_t */
} sums[] = {
	{ "received_bytes", offsetof(struct sums, received_bytes) },
	{ "received_packets", offsetof(struct sums, received_packets) },
	{ "written_bytes", offsetof(struct sums, written_bytes) },
	{ "written_packets", offsetof(struct sums, written_packets) },
	{ "index_records", offsetof(struct sums, index_records) },
	{ "metadata_bytes", offsetof(struct sums, metadata_bytes) },
};

static uint64_t
sum_at(const struct sums *s, unsigned i)
{
	uint64_t n;

	memcpy(&n, (const char *)s + sums[i].at, sizeof(n));
	return n;
}

static void
write_sums(struct buf *b, const struct sums *s)
{
	for (unsigned i = 0; i < ARRAY_LEN(sums); i++)
		json_text_number(b, sums[i].name, sum_at(s, i));
	json_text_number(b, "lost_packets", sums_lost(s));
	json_text_open(b, "lost_by_cause", '{');
	for (unsigned i = 0; i < LOSSES; i++)
		if (s->lost[i] > 0)
			json_text_number(b, loss_names[i], s->lost[i]);
	json_text_close(b, '}');
}

void
json_write_session(struct buf *b, const struct session_info *s)
{
	json_text_number(b, "id", s->id);
	json_text_string(b, "host", s->host);
	json_text_string(b, "name", s->name);
	json_text_string(b, "state", state_names[s->state]);
	if (s->state == SESSION_CLOSED) {
		json_text_string(b, "why", why_names[s->why]);
		json_text_string(b, "why_text", why_texts[s->why]);
		json_text_number(b, "ended", s->ended_s);
	}
	json_text_string(b, "path", s->path);
	json_text_string(b, "peer", s->peer);
	json_text_number(b, "worker", s->worker);
	json_text_number(b, "minor", s->minor);
	json_text_string(b, "transport", s->is_udp ? "udp" : "tcp");
	json_text_number(b, "live_timer_us", s->live_timer_us);
	json_text_bool(b, "is_snapshot", s->is_snapshot);
	json_text_number(b, "began", s->began_s);
	json_text_seconds(b, "duration_seconds", s->duration_ns);
	json_text_number(b, "open_streams", s->streams);
	json_text_number(b, "open_viewers", s->viewers);
	json_text_number(b, "held_bytes", s->held_bytes);
	json_text_number(b, "sent_bytes", s->sent_bytes);
	write_sums(b, &s->sums);
}

void
json_write_streams(struct buf *b, const struct info *i)
{
	const struct stream_info *t;

	for (unsigned n = 0; n < i->n_streams; n++) {
		t = &i->streams[n];
		json_text_open(b, NULL, '{');
		json_text_string(b, "name", t->name);
		json_text_bool(b, "is_metadata", t->is_metadata);
		json_text_number(b, "written_bytes", t->written_bytes);
		json_text_number(b, "written_packets", t->written_packets);
		json_text_number(b, "lost_packets", t->lost_packets);
		json_text_number(b, "held_bytes", t->held_bytes);
		json_text_close(b, '}');
	}
}

void
json_write_viewers(struct buf *b, const struct info *i)
{
	const struct viewer_info *v;

	for (unsigned n = 0; n < i->n_viewers; n++) {
		v = &i->viewers[n];
		json_text_open(b, NULL, '{');
		json_text_string(b, "peer", v->peer);
		json_text_number(b, "streams", v->streams);
		json_text_number(b, "lost_packets", v->lost_packets);
		json_text_close(b, '}');
	}
}

void
json_write_news(struct buf *b, const struct news *n)
{
	const struct session_info *s = n->session;

	json_text_open(b, NULL, '{');
	json_text_number(b, "time", clock_wall_s());
	/* Who is deleted may be of another run of the relay. */
	if (n->kind != NEWS_DELETED)
		json_text_number(b, "id", s->id);
	json_text_string(b, "host", s->host);
	json_text_string(b, "name", s->name);
	switch (n->kind) {
	case NEWS_SESSION_BEGAN:
		json_text_string(b, "peer", s->peer);
		break;
	case NEWS_SESSION_ENDED:
		json_text_string(b, "why", why_names[s->why]);
		json_text_seconds(b, "duration_seconds", s->duration_ns);
		write_sums(b, &s->sums);
		break;
	case NEWS_SESSION_ROTATED:
		break;
	case NEWS_PACKETS_LOST:
		json_text_number(b, "lost_packets", n->n);
		json_text_string(b, "cause", loss_names[n->cause]);
		break;
	case NEWS_VIEWER_CAME:
	case NEWS_VIEWER_WENT:
		json_text_string(b, "peer", n->viewer);
		json_text_number(b, "open_viewers", s->viewers);
		break;
	case NEWS_DELETED:
		json_text_string(b, "path", s->path);
		json_text_number(b, "bytes", s->sums.written_bytes);
		json_text_string(b, "reason", n->reason);
		break;
	}
	json_text_close(b, '}');
}
