/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "relayd/http/json.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "proto/live.h"
#include "relayd/http/text.h"
#include "relayd/http/view.h"
#include "relayd/process/options.h"

static void
add(struct buf *b, const char *text)
{
	buf_bytes(b, text, strlen(text));
}

/* What stands before a value. */
static void
name_of(struct buf *b, const char *name)
{
	const size_t n = buf_len(b);
	const uint8_t last = n == 0 ? '[' : buf_data(b)[n - 1];

	if (last != '[' && last != '{')
		buf_u8(b, ',');
	if (name == NULL)
		return;
	buf_u8(b, '"');
	add(b, name);
	add(b, "\":");
}

void
json_text_open(struct buf *b, const char *name, char bracket)
{
	name_of(b, name);
	buf_u8(b, (uint8_t)bracket);
}

void
json_text_close(struct buf *b, char bracket)
{
	buf_u8(b, (uint8_t)bracket);
}

/* At least WIDTH digits. */
static void
digits(struct buf *b, uint64_t n, unsigned width)
{
	char text[24];
	char *p = text + sizeof(text);

	do {
		*--p = (char)('0' + n % 10);
		n /= 10;
	} while (n > 0 || text + sizeof(text) - p < (ptrdiff_t)width);
	buf_bytes(b, p, (size_t)(text + sizeof(text) - p));
}

void
json_text_number(struct buf *b, const char *name, uint64_t n)
{
	name_of(b, name);
	digits(b, n, 1);
}

void
json_text_bool(struct buf *b, const char *name, bool is)
{
	name_of(b, name);
	add(b, is ? "true" : "false");
}

void
json_text_null(struct buf *b, const char *name)
{
	name_of(b, name);
	add(b, "null");
}

void
json_text_string(struct buf *b, const char *name, const char *text)
{
	name_of(b, name);
	buf_u8(b, '"');
	text_json(b, text);
	buf_u8(b, '"');
}

void
json_text_seconds(struct buf *b, const char *name, uint64_t ns)
{
	name_of(b, name);
	digits(b, ns / NS_PER_S, 1);
	buf_u8(b, '.');
	digits(b, ns / NS_PER_MS % 1000, 3);
}

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

/* /api/v1/status: members have the names of the metrics. */

static const struct {
	const char *metric, *label, *value;
} totals[STATS] = {
#define STAT(id, kind, metric, label, value, help) { metric, label, value },
#include "relayd/stats/stats.tbl.h"
#undef STAT
};

static void
set(json_t *j, const char *name, uint64_t n)
{
	(void)json_object_set_new(j, name, json_integer((json_int_t)n));
}

/* The object that is called NAME in J; it is made if it is not there. NULL: no
 * memory. */
static json_t *
child(json_t *j, const char *name)
{
	/* Without memory it is not set, and gone. */
	if (json_object_get(j, name) == NULL)
		(void)json_object_set_new(j, name, json_object());
	return json_object_get(j, name);
}

static json_t *
all_totals(void)
{
	json_t *j = json_object();

	for (unsigned i = 0; i < STATS; i++)
		set(*totals[i].label == '\0' ? j : child(j, totals[i].metric),
		    *totals[i].label == '\0' ? totals[i].metric
					     : totals[i].value,
		    view_sum((enum stats_row)i));
	for (unsigned p = 0; p < STATS_PORTS; p++) {
		set(child(j, "connections"), stats_port_names[p],
		    stats_connections((enum stats_port)p));
		for (unsigned why = 0; why < REFUSALS; why++)
			set(child(
				child(j, "refused_total"), stats_port_names[p]),
			    refusal_names[why],
			    stats_refusals(
				(enum stats_port)p, (enum refusal)why));
	}
	for (unsigned cmd = 0; cmd < STATS_LIVE_COMMANDS; cmd++)
		for (unsigned st = 0; st < STATS_LIVE_STATUSES; st++)
			if (live_status_name(cmd, st) != NULL &&
			    (st > 0 || live_status_name(cmd, 1) == NULL))
				set(child(child(j, "live_requests_total"),
					live_row(cmd)->name),
				    live_status_name(cmd, st),
				    view_live_requests(cmd, st));
	return j;
}

static json_t *
all_rates(const struct view *v)
{
	json_t *j = json_object();

	for (unsigned i = 0; i < RATES; i++)
		(void)json_object_set_new(
		    j, view_rate_names[i], json_real(v->rates[i]));
	return j;
}

json_t *
json_of_history(const struct history *h)
{
	json_t *j = json_object(), *rates = child(j, "rates"), *one;

	set(j, "interval_seconds", 1);
	for (unsigned r = 0; r < RATES; r++) {
		one = json_array();
		for (unsigned i = 0; i < h->n; i++)
			(void)json_array_append_new(
			    one, json_integer((json_int_t)history_at(
				     h, i, (enum view_rate)r)));
		(void)json_object_set_new(rates, view_rate_names[r], one);
	}
	return j;
}

static json_t *
listeners(const struct view *v)
{
	const struct {
		const char *name, *path, *host;
		uint16_t port;
	} all[] = {
		{ "control", "", v->options->control.host, v->control },
		{ "data", "", v->options->data.host, v->data },
		{ "live", "", v->options->live.host, v->live },
		{ "http", v->options->http_path, v->options->http.host,
		    v->http },
	};
	json_t *j = json_object(), *one;

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		one = child(j, all[i].name);
		if (all[i].path[0] != '\0') {
			(void)json_object_set_new(
			    one, "path", json_of_text(all[i].path));
			continue;
		}
		(void)json_object_set_new(
		    one, "host", json_of_text(all[i].host));
		set(one, "port", all[i].port);
	}
	return j;
}

static json_t *
limits(const struct view *v)
{
	json_t *j = json_object(), *one = child(j, "max_memory");

	set(one, "limit", v->options->max_memory);
	set(one, "used", view_memory(v));
	one = child(j, "descriptors");
	set(one, "limit", view_descriptors_limit(v));
	set(one, "used", view_descriptors(v));
	return j;
}

static json_t *
number_or_null(bool is_there, uint64_t n)
{
	return is_there ? json_integer((json_int_t)n) : json_null();
}

json_t *
json_of_limits(const struct stored_figures *f)
{
	const struct retention_limits *l = &f->limits;
	json_t *j = json_object();

	(void)json_object_set_new(
	    j, "max_use", number_or_null(l->max_use > 0, l->max_use));
	(void)json_object_set_new(j, "keep_free",
	    number_or_null(f->keep_free_bytes > 0, f->keep_free_bytes));
	(void)json_object_set_new(j, "max_age",
	    number_or_null(l->max_age_ns > 0, l->max_age_ns / NS_PER_S));
	(void)json_object_set_new(j, "keep_at_least",
	    json_integer((json_int_t)(l->keep_at_least_ns / NS_PER_S)));
	return j;
}

static void
add_stored(json_t *j, const struct view *v)
{
	json_t *oldest = v->oldest_path == NULL ? json_null() : json_object();
	uint64_t seconds = 0;
	const bool fills = view_full_in(v, &seconds);

	(void)json_object_set_new(
	    j, "full_in_seconds", number_or_null(fills, seconds));
	if (v->oldest_path != NULL) {
		(void)json_object_set_new(
		    oldest, "path", json_of_text(v->oldest_path));
		set(oldest, "end_ns", v->oldest_ended_ns);
		set(oldest, "bytes", v->oldest_bytes);
	}
	(void)json_object_set_new(j, "oldest", oldest);
	if (!v->has_stored)
		return;
	set(j, "use_bytes", v->stored.use_bytes);
	set(j, "directories", v->stored.directories);
	set(j, "kept", v->stored.kept);
	(void)json_object_set_new(j, "limits", json_of_limits(&v->stored));
}

static json_t *
disk(const struct view *v)
{
	json_t *j = json_object();

	(void)json_object_set_new(
	    j, "output", json_of_text(v->options->output));
	if (v->has_disk) {
		set(j, "free_bytes", v->disk_free);
		set(j, "total_bytes", v->disk_total);
	}
	add_stored(j, v);
	return j;
}

static json_t *
all_threads(const struct view *v)
{
	static const char *const kinds[] = { "main", "worker", "live_worker" };
	json_t *all = json_array(), *j;

	for (unsigned i = 0; v->phase == VIEW_SERVING && i < v->threads.n;
	     i++) {
		const struct thread *t = &v->threads.all[i];

		j = json_object();
		(void)json_object_set_new(
		    j, "kind", json_string(kinds[t->kind]));
		set(j, "number", t->number);
		(void)json_object_set_new(j, "state",
		    json_string(thread_is_stuck(t, NS_PER_S) ? "busy" : "ok"));
		(void)json_array_append_new(all, j);
	}
	return all;
}

/* For a day it is said what the last restart cut. */
static json_t *
state_text(const struct view *v, enum not_ready why)
{
	const uint64_t cut = view_sum(STAT_sessions_cut);
	const char *text = view_state_text(v, why);

	if (why != READY || cut == 0 ||
	    clock_now_ns() - v->started_ns > 24 * 3600 * NS_PER_S)
		return json_string(text);
	return json_sprintf("%s Sessions cut when the relay last ended: "
			    "%" PRIu64 "; their tracers did not notice, so "
			    "destroy and create them again.",
	    text, cut);
}

json_t *
json_of_status(const struct view *v)
{
	const enum not_ready why = view_not_ready(v);
	json_t *j = json_object(), *reasons = json_array();

	(void)json_object_set_new(j, "hostname", json_of_text(v->hostname));
	(void)json_object_set_new(j, "version", json_string(PACKAGE_VERSION));
	set(j, "start_time_seconds", v->started_s);
	set(j, "uptime_seconds", (clock_now_ns() - v->started_ns) / NS_PER_S);
	(void)json_object_set_new(
	    j, "is_healthy", json_boolean(view_is_healthy(v)));
	(void)json_object_set_new(j, "is_ready", json_boolean(why == READY));
	if (why != READY)
		(void)json_array_append_new(
		    reasons, json_string(view_reason(why)));
	(void)json_object_set_new(j, "reasons", reasons);
	(void)json_object_set_new(j, "state", json_string(view_state(v, why)));
	(void)json_object_set_new(j, "state_text", state_text(v, why));
	(void)json_object_set_new(j, "listeners", listeners(v));
	(void)json_object_set_new(
	    j, "admin_socket", json_of_text(v->admin_path));
	(void)json_object_set_new(j, "totals", all_totals());
	(void)json_object_set_new(j, "rates", all_rates(v));
	(void)json_object_set_new(j, "disk", disk(v));
	(void)json_object_set_new(j, "limits", limits(v));
	(void)json_object_set_new(j, "threads", all_threads(v));
	set(j, "resident_memory_bytes", view_resident(v));
	(void)json_object_set_new(
	    j, "cpu_seconds_total", json_real(view_cpu_seconds()));
	return j;
}
