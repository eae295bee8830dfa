/* SPDX-License-Identifier: MIT */
/* /api/v1/status: members have the names of the metrics. */
#include "config.h"

#include <inttypes.h>

#include "proto/live.h"
#include "relayd/http/json.h"
#include "relayd/http/view.h"
#include "relayd/process/options.h"

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
