/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "relayd/http/json.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "relayd/http/text.h"
#include "relayd/http/view.h"
#include "relayd/process/options.h"

static void
add(struct buf *b, const char *text)
{
	buf_bytes(b, text, strlen(text));
}

/* Write what precedes a value: a comma, and the name. */
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
json_open(struct buf *b, const char *name, char bracket)
{
	assert(bracket == '{' || bracket == '[');
	name_of(b, name);
	buf_u8(b, (uint8_t)bracket);
}

void
json_close(struct buf *b, char bracket)
{
	assert(bracket == '}' || bracket == ']');
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
json_add_number(struct buf *b, const char *name, uint64_t n)
{
	name_of(b, name);
	/* Many readers have signed 64-bit integers. */
	digits(b, n < INT64_MAX ? n : INT64_MAX, 1);
}

void
json_add_bool(struct buf *b, const char *name, bool is)
{
	name_of(b, name);
	add(b, is ? "true" : "false");
}

/* With 17 digits, so that each double is the same when it is read. */
static void
json_add_real(struct buf *b, const char *name, double n)
{
	char text[64];

	snprintf(text, sizeof(text), "%.17g", n);
	name_of(b, name);
	add(b, text);
	if (strpbrk(text, ".e") == NULL)
		add(b, ".0");
}

void
json_add_null(struct buf *b, const char *name)
{
	name_of(b, name);
	add(b, "null");
}

void
json_add_string(struct buf *b, const char *name, const char *text)
{
	name_of(b, name);
	buf_u8(b, '"');
	text_json(b, text);
	buf_u8(b, '"');
}

void
json_add_seconds(struct buf *b, const char *name, uint64_t ns)
{
	name_of(b, name);
	digits(b, ns / NS_PER_S, 1);
	buf_u8(b, '.');
	digits(b, ns / NS_PER_MS % 1000, 3);
}

static const char *const state_names[] = {
	[SESSION_ACTIVE] = "active",
	[SESSION_WAITING] = "waiting",
	[SESSION_ENDING] = "ending",
	[SESSION_CLOSED] = "closed",
};

static const struct {
	const char *name;
} event_names[] = {
	[RELAY_EVENT_SESSION_BEGAN] = { "session_began" },
	[RELAY_EVENT_SESSION_ENDED] = { "session_ended" },
	[RELAY_EVENT_SESSION_ROTATED] = { "session_rotated" },
	[RELAY_EVENT_PACKETS_LOST] = { "packets_lost" },
	[RELAY_EVENT_VIEWER_CAME] = { "viewer_came" },
	[RELAY_EVENT_VIEWER_WENT] = { "viewer_went" },
	[RELAY_EVENT_DELETED] = { "deleted" },
};

const char *
relay_event_name(enum relay_event_kind kind)
{
	return event_names[kind].name;
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
		json_add_number(b, sums[i].name, sum_at(s, i));
	json_add_number(b, "lost_packets", sums_lost(s));
	json_open(b, "lost_by_cause", '{');
	for (unsigned i = 0; i < LOSSES; i++)
		if (s->lost[i] > 0)
			json_add_number(b, loss_names[i], s->lost[i]);
	json_close(b, '}');
}

void
json_write_session(struct buf *b, const struct session_info *s)
{
	json_add_number(b, "id", s->id);
	json_add_string(b, "host", s->host);
	json_add_string(b, "name", s->name);
	json_add_string(b, "state", state_names[s->state]);
	if (s->state == SESSION_CLOSED) {
		json_add_string(b, "why", why_names[s->why]);
		json_add_string(b, "why_text", why_texts[s->why]);
		json_add_number(b, "ended", s->ended_s);
	}
	json_add_string(b, "path", s->path);
	json_add_string(b, "peer", s->peer);
	json_add_number(b, "worker", s->worker);
	json_add_number(b, "minor", s->minor);
	json_add_string(b, "transport", s->is_udp ? "udp" : "tcp");
	json_add_number(b, "live_timer_us", s->live_timer_us);
	json_add_bool(b, "is_snapshot", s->is_snapshot);
	json_add_number(b, "began", s->began_s);
	json_add_seconds(b, "duration_seconds", s->duration_ns);
	json_add_number(b, "open_streams", s->streams);
	json_add_number(b, "open_viewers", s->viewers);
	json_add_number(b, "held_bytes", s->held_bytes);
	json_add_number(b, "sent_bytes", s->sent_bytes);
	write_sums(b, &s->sums);
}

void
json_write_streams(struct buf *b, const struct info *i)
{
	const struct stream_info *t;

	for (unsigned n = 0; n < i->n_streams; n++) {
		t = &i->streams[n];
		json_open(b, NULL, '{');
		json_add_string(b, "name", t->name);
		json_add_bool(b, "is_metadata", t->is_metadata);
		json_add_number(b, "written_bytes", t->written_bytes);
		json_add_number(b, "written_packets", t->written_packets);
		json_add_number(b, "lost_packets", t->lost_packets);
		json_add_number(b, "held_bytes", t->held_bytes);
		json_close(b, '}');
	}
}

void
json_write_viewers(struct buf *b, const struct info *i)
{
	const struct viewer_info *v;

	for (unsigned n = 0; n < i->n_viewers; n++) {
		v = &i->viewers[n];
		json_open(b, NULL, '{');
		json_add_string(b, "peer", v->peer);
		json_add_number(b, "streams", v->streams);
		json_add_number(b, "lost_packets", v->lost_packets);
		json_close(b, '}');
	}
}

void
json_write_event(struct buf *b, const struct relay_event *n)
{
	const struct session_info *s = n->session;

	json_open(b, NULL, '{');
	json_add_number(b, "time", clock_wall_s());
	/* A deleted session may be of another run of the relay. */
	if (n->kind != RELAY_EVENT_DELETED)
		json_add_number(b, "id", s->id);
	json_add_string(b, "host", s->host);
	json_add_string(b, "name", s->name);
	switch (n->kind) {
	case RELAY_EVENT_SESSION_BEGAN:
		json_add_string(b, "peer", s->peer);
		break;
	case RELAY_EVENT_SESSION_ENDED:
		json_add_string(b, "why", why_names[s->why]);
		json_add_seconds(b, "duration_seconds", s->duration_ns);
		write_sums(b, &s->sums);
		break;
	case RELAY_EVENT_SESSION_ROTATED:
		break;
	case RELAY_EVENT_PACKETS_LOST:
		json_add_number(b, "lost_packets", n->n);
		json_add_string(b, "cause", loss_names[n->cause]);
		break;
	case RELAY_EVENT_VIEWER_CAME:
	case RELAY_EVENT_VIEWER_WENT:
		json_add_string(b, "peer", n->viewer);
		json_add_number(b, "open_viewers", s->viewers);
		break;
	case RELAY_EVENT_DELETED:
		json_add_string(b, "path", s->path);
		json_add_number(b, "bytes", s->sums.written_bytes);
		json_add_string(b, "reason", n->reason);
		break;
	}
	json_close(b, '}');
}

/* Labels become objects, by their values. */
struct totals_json {
	struct buf *b;
	struct total last; /* metric "": none */
};

static bool
is_same(const char *a, const char *b)
{
	return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static void
write_total(void *arg, const struct total *t)
{
	struct totals_json *w = arg;
	const struct total *last = &w->last;
	const bool is_metric = is_same(last->metric, t->metric);
	const bool is_first = is_metric && is_same(last->labels[0].value,
					       t->labels[0].value);
	const char *name = t->metric;

	if (last->labels[1].name != NULL && !is_first)
		json_close(w->b, '}');
	if (last->labels[0].name != NULL && !is_metric)
		json_close(w->b, '}');
	for (unsigned i = 0; i < 2 && t->labels[i].name != NULL; i++) {
		if (i == 0 ? !is_metric : !is_first)
			json_open(w->b, name, '{');
		name = t->labels[i].value;
	}
	if (name != NULL)
		json_add_number(w->b, name, t->n);
	w->last = *t;
}

static void
write_totals(struct buf *b)
{
	struct totals_json w = { .b = b };

	json_open(b, "totals", '{');
	view_totals(write_total, &w);
	write_total(&w, &(struct total){ 0 }); /* closes the last */
	json_close(b, '}');
}

void
json_write_history(struct buf *b, const struct history *h)
{
	json_open(b, NULL, '{');
	json_open(b, "rates", '{');
	for (unsigned r = 0; r < RATES; r++) {
		json_open(b, view_rate_names[r], '[');
		for (unsigned i = 0; i < history_count(h); i++)
			json_add_number(
			    b, NULL, history_at(h, i, (enum view_rate)r));
		json_close(b, ']');
	}
	json_close(b, '}');
	json_add_number(b, "interval_seconds", 1);
	json_close(b, '}');
}

static void
write_listeners(struct buf *b, const struct view *v)
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

	json_open(b, "listeners", '{');
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		json_open(b, all[i].name, '{');
		if (all[i].path[0] != '\0') {
			json_add_string(b, "path", all[i].path);
		} else {
			json_add_string(b, "host", all[i].host);
			json_add_number(b, "port", all[i].port);
		}
		json_close(b, '}');
	}
	json_close(b, '}');
}

/* An object {"limit":LIMIT,"used":USED}. */
static void
write_limit(struct buf *b, const char *name, uint64_t limit, uint64_t used)
{
	json_open(b, name, '{');
	json_add_number(b, "limit", limit);
	json_add_number(b, "used", used);
	json_close(b, '}');
}

static void
add_number_or_null(struct buf *b, const char *name, bool is_known, uint64_t n)
{
	if (is_known)
		json_add_number(b, name, n);
	else
		json_add_null(b, name);
}

void
json_write_limits(struct buf *b, const struct stored_figures *f)
{
	const struct retention_limits *l = &f->limits;

	json_open(b, "limits", '{');
	add_number_or_null(b, "max_use", l->max_use > 0, l->max_use);
	add_number_or_null(
	    b, "keep_free", f->keep_free_bytes > 0, f->keep_free_bytes);
	add_number_or_null(
	    b, "max_age", l->max_age_ns > 0, l->max_age_ns / NS_PER_S);
	json_add_number(b, "keep_at_least", l->keep_at_least_ns / NS_PER_S);
	json_close(b, '}');
}

static void
write_disk(struct buf *b, const struct view *v)
{
	uint64_t seconds = 0;
	const bool fills = view_full_in(v, &seconds);

	json_open(b, "disk", '{');
	json_add_string(b, "output", v->options->output);
	if (v->has_disk) {
		json_add_number(b, "free_bytes", v->disk_free);
		json_add_number(b, "total_bytes", v->disk_total);
	}
	add_number_or_null(b, "full_in_seconds", fills, seconds);
	if (v->oldest_path == NULL) {
		json_add_null(b, "oldest");
	} else {
		json_open(b, "oldest", '{');
		json_add_string(b, "path", v->oldest_path);
		json_add_number(b, "end_ns", v->oldest_ended_ns);
		json_add_number(b, "bytes", v->oldest_bytes);
		json_close(b, '}');
	}
	if (v->has_stored) {
		json_add_number(b, "use_bytes", v->stored.use_bytes);
		json_add_number(b, "directories", v->stored.directories);
		json_add_number(b, "kept", v->stored.kept);
		json_write_limits(b, &v->stored);
	}
	json_close(b, '}');
}

static void
write_threads(struct buf *b, const struct view *v)
{
	static const char *const kinds[] = { "main", "worker", "live_worker" };
	const unsigned n = v->phase == VIEW_SERVING ? v->threads.n : 0;

	json_open(b, "threads", '[');
	for (unsigned i = 0; i < n; i++) {
		const struct thread *t = &v->threads.all[i];

		json_open(b, NULL, '{');
		json_add_string(b, "kind", kinds[t->kind]);
		json_add_number(b, "number", t->number);
		json_add_string(
		    b, "state", thread_is_stuck(t, NS_PER_S) ? "busy" : "ok");
		json_close(b, '}');
	}
	json_close(b, ']');
}

/* For a day after the start it says what the restart moved and cut. */
static void
write_state(struct buf *b, const struct view *v)
{
	const uint64_t cut = stats_sum(STAT_sessions_cut),
		       restored = stats_sum(STAT_restored_sessions);
	const struct view_state *state = view_state(v);
	const char *said = state->text;
	char text[512];
	int n;

	json_add_bool(b, "is_ready", state->reason == NULL);
	json_open(b, "reasons", '[');
	if (state->reason != NULL)
		json_add_string(b, NULL, state->reason);
	json_close(b, ']');
	json_add_string(b, "state", state->name);
	if (state->reason == NULL && (cut > 0 || restored > 0) &&
	    clock_now_ns() - v->started_ns <= 24 * 3600 * NS_PER_S) {
		n = snprintf(text, sizeof(text), "%s", state->text);
		if (restored > 0)
			n += snprintf(text + n, sizeof(text) - (size_t)n,
			    " Sessions taken over from the process before: "
			    "%" PRIu64 ", after a pause of %" PRIu64 " ms.",
			    restored, stats_restart_pause() / NS_PER_MS);
		if (cut > 0)
			snprintf(text + n, sizeof(text) - (size_t)n,
			    " Sessions cut when the relay last ended: %" PRIu64
			    "; their tracers did not notice, so destroy and "
			    "create these sessions again.",
			    cut);
		said = text;
	}
	json_add_string(b, "state_text", said);
}

void
json_write_status(struct buf *b, const struct view *v)
{
	json_open(b, NULL, '{');
	json_add_string(b, "hostname", v->hostname);
	json_add_string(b, "version", PACKAGE_VERSION);
	json_add_number(b, "start_time_seconds", v->started_s);
	json_add_number(
	    b, "uptime_seconds", (clock_now_ns() - v->started_ns) / NS_PER_S);
	json_add_bool(b, "is_healthy", view_is_healthy(v));
	write_state(b, v);
	write_listeners(b, v);
	json_add_string(b, "admin_socket", v->admin_path);
	write_totals(b);
	json_open(b, "rates", '{');
	for (unsigned i = 0; i < RATES; i++)
		json_add_real(b, view_rate_names[i], v->rates[i]);
	json_close(b, '}');
	write_disk(b, v);
	json_open(b, "limits", '{');
	write_limit(b, "max_memory", v->options->max_memory, view_memory(v));
	write_limit(
	    b, "descriptors", v->options->fd_pool_size, view_descriptors(v));
	json_close(b, '}');
	write_threads(b, v);
	json_add_number(b, "resident_memory_bytes", view_resident(v));
	json_add_seconds(b, "restart_pause_seconds", stats_restart_pause());
	json_add_real(b, "cpu_seconds_total", view_cpu_seconds());
	json_close(b, '}');
}
