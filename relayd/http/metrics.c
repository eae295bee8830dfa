/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "relayd/http/metrics.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "relayd/http/text.h"
#include "relayd/http/view.h"
#include "relayd/process/options.h"

#define PREFIX "tracepulse_"

static void
head(struct buf *b, const char *name, const char *type, const char *help)
{
	text_add(b, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n", name,
	    help, name, type);
}

static void
gauge(struct buf *b, const char *name, const char *help, uint64_t value)
{
	head(b, name, "gauge", help);
	text_add(b, PREFIX "%s %" PRIu64 "\n", name, value);
}

struct totals_writer {
	struct buf *b;
	const char *last; /* metric */
};

static void
write_total(void *arg, const struct total *t)
{
	struct totals_writer *w = arg;
	const bool has_second = t->labels[1].name != NULL;

	if (strcmp(w->last, t->metric) != 0)
		head(w->b, t->metric, t->is_gauge ? "gauge" : "counter",
		    t->help);
	w->last = t->metric;
	text_add(w->b, PREFIX "%s", t->metric);
	if (t->labels[0].name != NULL)
		text_add(w->b, "{%s=\"%s\"%s%s%s%s%s}", t->labels[0].name,
		    t->labels[0].value, has_second ? "," : "",
		    has_second ? t->labels[1].name : "",
		    has_second ? "=\"" : "",
		    has_second ? t->labels[1].value : "",
		    has_second ? "\"" : "");
	text_add(w->b, " %" PRIu64 "\n", t->n);
}

static void
write_histogram(struct buf *b, const char *name, const char *worker,
    unsigned number, const struct histogram *h)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		n += published_word(&h->n[i]);
		text_add(b, PREFIX "%s_bucket{worker=\"%s%u\",le=\"", name,
		    worker, number);
		if (i < HISTOGRAM_BUCKETS - 1)
			text_add(b, "%g",
			    (double)histogram_limits_ns[i] / (double)NS_PER_S);
		else
			text_add(b, "+Inf");
		text_add(b, "\"} %" PRIu64 "\n", n);
	}
	text_add(b, PREFIX "%s_sum{worker=\"%s%u\"} %.9f\n", name, worker,
	    number, (double)published_word(&h->sum_ns) / (double)NS_PER_S);
	text_add(b, PREFIX "%s_count{worker=\"%s%u\"} %" PRIu64 "\n", name,
	    worker, number, n);
}

static void
write_histograms(struct buf *b, const struct view *v)
{
	head(b, "loop_seconds", "histogram",
	    "Duration of a cycle of a worker's loop, without waiting for "
	    "events");
	for (unsigned i = 0; i < v->options->workers; i++)
		write_histogram(
		    b, "loop_seconds", "", i, &stats_worker(i)->cycles);
	for (unsigned i = 0; i < v->options->live_workers; i++)
		write_histogram(b, "loop_seconds", "live", i,
		    &stats_live_worker(i)->cycles);
	head(b, "commit_seconds", "histogram",
	    "Time that a worker spent writing in one cycle");
	for (unsigned i = 0; i < v->options->workers; i++)
		write_histogram(
		    b, "commit_seconds", "", i, &stats_worker(i)->commits);
}

static void
write_process(struct buf *b, const struct view *v)
{
	head(b, "build_info", "gauge", "The relay's version is in the label");
	text_add(b, PREFIX "build_info{version=\"" PACKAGE_VERSION "\"} 1\n");
	gauge(b, "start_time_seconds", "Unix time at which the relay started",
	    v->started_s);
	gauge(b, "healthy", "1 while every thread's loop responds, else 0",
	    view_is_healthy(v));
	gauge(b, "ready",
	    "1 while the relay admits new sessions, as /readyz says, else 0",
	    view_state(v)->reason == NULL);
	gauge(b, "held_bytes",
	    "Memory used by packets that are not yet written", view_memory(v));
	gauge(b, "memory_limit_bytes", "Limit of held_bytes (--max-memory)",
	    v->options->max_memory);
	gauge(b, "descriptors",
	    "File descriptors in use, as the relay counts them",
	    view_descriptors(v));
	gauge(b, "descriptors_limit", "Limit of descriptors (--fd-pool-size)",
	    v->options->fd_pool_size);
	if (v->has_disk) {
		gauge(b, "disk_free_bytes", "Free space for traces",
		    v->disk_free);
		gauge(b, "disk_total_bytes",
		    "Size of the file system with the output directory",
		    v->disk_total);
	}
	gauge(b, "resident_memory_bytes", "Resident memory", view_resident(v));
	head(b, "restart_pause_seconds", "gauge",
	    "How long the restart served nobody; 0: nothing was taken over");
	text_add(b, PREFIX "restart_pause_seconds %.3f\n",
	    (double)stats_restart_pause() / (double)NS_PER_S);
	head(b, "cpu_seconds_total", "counter", "CPU time of the relay");
	text_add(b, PREFIX "cpu_seconds_total %.6f\n", view_cpu_seconds());
}

void
metrics_write(struct buf *b, const struct view *v)
{
	write_process(b, v);
	view_totals(write_total, &(struct totals_writer){ b, "" });
	write_histograms(b, v);
}

/* What a session has metrics of. */
static const struct {
	const char *name, *type, *help;
	size_t at;
} of_session[] = {
	{ "session_received_bytes_total", "counter",
	    "Bytes of complete packets received",
	    offsetof(struct session_info, sums.received_bytes) },
	{ "session_written_bytes_total", "counter",
	    "Bytes of packets written to data files",
	    offsetof(struct session_info, sums.written_bytes) },
	{ "session_written_packets_total", "counter",
	    "Packets written to data files",
	    offsetof(struct session_info, sums.written_packets) },
	{ "session_sent_bytes_total", "counter", "Bytes sent to viewers",
	    offsetof(struct session_info, sent_bytes) },
	{ "session_held_bytes", "gauge",
	    "Memory used by packets that are not yet written",
	    offsetof(struct session_info, held_bytes) },
};

static bool
is_same_name(const struct session_info *a, const struct session_info *b)
{
	return strcmp(a->host, b->host) == 0 && strcmp(a->name, b->name) == 0;
}

static void
write_sample(struct buf *b, const char *name, const struct session_info *s,
    uint64_t value)
{
	text_add(b, PREFIX "%s{host=\"", name);
	text_label(b, s->host);
	text_add(b, "\",session=\"");
	text_label(b, s->name);
	text_add(b, "\"} %" PRIu64 "\n", value);
}

static bool
is_first_of_its_name(const struct session_info *const *s, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (is_same_name(s[k], s[i]))
			return false;
	return true;
}

static uint64_t
field(const struct session_info *s, size_t at)
{
	uint64_t n;

	memcpy(&n, (const char *)s + at, sizeof(n));
	return n;
}

/* One sample for each name; AT: the field, 0: lost packets. */
static void
write_names(struct buf *b, const char *name, size_t at,
    const struct session_info *const *s, unsigned n)
{
	uint64_t sum;

	for (unsigned i = 0; i < n; i++) {
		if (!is_first_of_its_name(s, i))
			continue;
		sum = 0;
		for (unsigned k = i; k < n; k++)
			if (is_same_name(s[k], s[i]))
				sum += at == 0 ? sums_lost(&s[k]->sums)
					       : field(s[k], at);
		write_sample(b, name, s[i], sum);
	}
}

void
metrics_write_sessions(
    struct buf *b, const struct session_info *const *s, unsigned n)
{
	for (size_t i = 0; i < ARRAY_LEN(of_session); i++) {
		head(b, of_session[i].name, of_session[i].type,
		    of_session[i].help);
		write_names(b, of_session[i].name, of_session[i].at, s, n);
	}
	head(b, "session_lost_packets_total", "counter", "Packets lost");
	write_names(b, "session_lost_packets_total", 0, s, n);
}
