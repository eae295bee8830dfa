/* SPDX-License-Identifier: MIT */
#include "tools/send/report.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"

#define PROGRESS_NS (250 * NS_PER_MS)
#define KIB 1024.0
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
/* Streams that the summary for people names. */
#define NAMED_STREAMS 10

void
progress_begin(struct progress *p, uint64_t session)
{
	p->session = session;
	p->n_samples = 0;
}

/* Bytes per second; negative: not known yet. */
static double
rate(struct progress *p, const struct progress_now *now)
{
	const unsigned next = p->n_samples % PROGRESS_SAMPLES;
	const unsigned oldest = p->n_samples < PROGRESS_SAMPLES ? 0 : next;
	const struct progress_sample since = p->samples[oldest];

	p->samples[next] = (struct progress_sample){ now->ns, now->bytes };
	if (p->n_samples++ == 0 || now->ns <= since.ns)
		return -1;
	return (double)(now->bytes - since.bytes) * (double)NS_PER_S /
	       (double)(now->ns - since.ns);
}

/* NS in words: the two largest units. */
static void
put_time(char *out, size_t size, uint64_t ns)
{
	const uint64_t s = ns / NS_PER_S + (ns % NS_PER_S != 0);

	if (s < 60)
		snprintf(out, size, "%" PRIu64 " s", s);
	else if (s < 3600)
		snprintf(
		    out, size, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
	else
		snprintf(out, size, "%" PRIu64 " h %" PRIu64 " min", s / 3600,
		    s % 3600 / 60);
}

static void
put_speed(
    char *out, size_t size, struct progress *p, const struct progress_now *now)
{
	const double v = rate(p, now);
	const double left = (double)p->total_bytes - (double)now->bytes;
	uint64_t left_ns = now->left_ns;
	char time[64];
	int n;

	if (v < 0)
		return;
	n = snprintf(out, size, v < MIB ? ", %.0f KiB/s" : ", %.1f MiB/s",
	    v < MIB ? v / KIB : v / MIB);
	/* More than a month is not worth showing, and at rest it is unknown. */
	if (left_ns == UINT64_MAX && v > 0 && left >= 0 && left / v < 2.6e6)
		left_ns = (uint64_t)(left / v * (double)NS_PER_S);
	if (left_ns == UINT64_MAX)
		return;
	put_time(time, sizeof(time), left_ns);
	snprintf(out + n, size - (size_t)n, ", %s left", time);
}

static void
put_phase(
    char *out, size_t size, struct progress *p, const struct progress_now *now)
{
	char time[64];

	switch (now->phase) {
	case PROGRESS_SENDING:
		put_speed(out, size, p, now);
		break;
	case PROGRESS_LINGERING:
		put_time(time, sizeof(time), now->left_ns);
		snprintf(out, size, "; the session stays open for %s", time);
		break;
	case PROGRESS_FINISHING:
		snprintf(
		    out, size, "; waiting for the relay to write all packets");
		break;
	case PROGRESS_ENDING:
		snprintf(out, size, "; ending the session");
		break;
	case PROGRESS_FOLLOWING:
	case PROGRESS_CONNECTING:
		break;
	}
}

void
progress_line(struct progress *p, const struct progress_now *now,
    char out[PROGRESS_LINE_MAX])
{
	const double total = (double)p->total_bytes, bytes = (double)now->bytes;
	char which[64] = "", rest[160] = "";

	if (p->sessions == 0)
		snprintf(
		    which, sizeof(which), "session %" PRIu64 ": ", p->session);
	else if (p->sessions > 1)
		snprintf(which, sizeof(which),
		    "session %" PRIu64 " of %" PRIu64 ": ", p->session,
		    p->sessions);
	if (now->phase == PROGRESS_CONNECTING) {
		snprintf(out, PROGRESS_LINE_MAX, "%sconnecting to %s", which,
		    p->host);
		return;
	}
	if (now->phase == PROGRESS_FOLLOWING) {
		snprintf(out, PROGRESS_LINE_MAX,
		    "%.1f MiB, %" PRIu64 " packets so far", bytes / MIB,
		    now->packets);
		return;
	}
	put_phase(rest, sizeof(rest), p, now);
	snprintf(out, PROGRESS_LINE_MAX,
	    "%s%3.0f %%  %.1f of %.1f MiB, %" PRIu64 " packets%s", which,
	    total > 0 ? 100.0 * bytes / total : 100.0, bytes / MIB, total / MIB,
	    now->packets, rest);
}

static double
seconds(const struct report *r)
{
	return (double)(clock_now_ns() - r->begin_ns) / (double)NS_PER_S;
}

bool
report_is_due(const struct report *r)
{
	return r->is_terminal && !r->is_quiet &&
	       clock_now_ns() - r->shown_ns >= PROGRESS_NS;
}

void
report_progress(struct report *r, const struct progress_now *now)
{
	char line[PROGRESS_LINE_MAX];

	if (!report_is_due(r))
		return;
	r->shown_ns = now->ns;
	progress_line(&r->progress, now, line);
	fprintf(stderr, "\r\033[K%s", line);
}

void
report_progress_end(struct report *r)
{
	if (r->shown_ns != 0)
		fputs("\r\033[K", stderr);
	r->shown_ns = 0;
}

void
report_note(struct report *r, const char *fmt, ...)
{
	va_list args;

	report_progress_end(r);
	fputs("tracepulse-send: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

void
report_error(struct report *r, const char *fmt, ...)
{
	char text[sizeof(r->error)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	report_note(r, "%s", text);
	if (r->error[0] == '\0')
		memcpy(r->error, text, sizeof(text));
}

void
report_add(struct report *r, const struct send_stats *s)
{
	r->sum.packets += s->sent.packets;
	r->sum.bytes += s->sent.bytes;
	r->sum.indexes += s->sent.indexes;
	r->sum.beacons += s->sent.beacons;
	r->sum.datagrams += s->sent.datagrams;
	r->sum.resent += s->sent.resent;
	r->sum.lost += s->sent.lost;
	r->channel.dropped += s->channel.dropped;
	r->channel.duplicated += s->channel.duplicated;
	r->channel.corrupted += s->channel.corrupted;
	r->channel.reordered += s->channel.reordered;
}

void
report_session(struct report *r, const struct send_output *o, struct traces *t)
{
	struct send_stats s;

	o->ops->stats(o, &s);
	report_add(r, &s);
	r->sessions++;
	snprintf(r->path, sizeof(r->path), "%s", o->ops->path(o));
	for (unsigned i = 0; i < t->n; i++)
		for (unsigned k = 0; k < t->traces[i]->n_streams; k++) {
			struct trace_stream *one = &t->traces[i]->streams[k];

			one->sent = o->ops->answered(o, one->number);
		}
}

/* Packets that the relay has not confirmed, of one stream or of all. */
struct rest {
	uint64_t packets, bytes;
	uint64_t all_packets, all_bytes;
	unsigned streams;
};

static void
add_rest(struct rest *sum, const struct trace_stream *s)
{
	const uint64_t packets = s->packets.count - s->sent.packets;

	sum->packets += packets;
	sum->bytes += s->packets.data.n - s->sent.bytes;
	sum->all_packets += s->packets.count;
	sum->all_bytes += s->packets.data.n;
	sum->streams += packets > 0;
}

static struct rest
rest_of(const struct traces *t)
{
	struct rest sum = { 0 };

	for (unsigned i = 0; i < t->n; i++)
		for (unsigned k = 0; k < t->traces[i]->n_streams; k++)
			add_rest(&sum, &t->traces[i]->streams[k]);
	return sum;
}

static const char *
signal_name(int number)
{
	return number == SIGINT ? "SIGINT" : "SIGTERM";
}

/* Quotes, backslashes and control characters are escaped: paths come from the
 * relay. */
static void
print_chars(const char *s)
{
	for (; *s != '\0'; s++) {
		if ((unsigned char)*s < 0x20)
			printf("\\u%04x", (unsigned)(unsigned char)*s);
		else if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else
			putchar(*s);
	}
}

/* S as a JSON string. */
static void
print_string(const char *s)
{
	putchar('"');
	print_chars(s);
	putchar('"');
}

/* The same, but null for "". */
static void
print_text(const char *name, const char *s)
{
	printf(", \"%s\": ", name);
	if (s[0] == '\0')
		fputs("null", stdout);
	else
		print_string(s);
}

static void
print_stream_json(const struct trace_stream *s, const struct rest *rest)
{
	printf("{\"stream\": \"");
	print_chars(s->trace->path);
	putchar('/');
	print_chars(s->name);
	printf("\", \"packets\": %" PRIu64 ", \"bytes\": %" PRIu64 "}",
	    rest->packets, rest->bytes);
}

/* Print the first MOST streams of which something was not sent. */
static void
print_streams(const struct traces *t, unsigned most, bool is_json)
{
	unsigned n = 0;

	for (unsigned i = 0; i < t->n; i++)
		for (unsigned k = 0; k < t->traces[i]->n_streams; k++) {
			const struct trace_stream *s =
			    &t->traces[i]->streams[k];
			struct rest rest = { 0 };

			add_rest(&rest, s);
			if (rest.packets == 0 || n++ >= most)
				continue;
			if (is_json && n > 1)
				fputs(", ", stdout);
			if (is_json)
				print_stream_json(s, &rest);
			else
				printf("  %s/%s: %" PRIu64
				       " packets, %.1f KiB\n",
				    s->trace->path, s->name, rest.packets,
				    (double)rest.bytes / KIB);
		}
}

static void
print_json_not_sent(const struct traces *t)
{
	struct rest rest;

	printf(", \"not_sent\": ");
	if (t == NULL) {
		fputs("null", stdout);
		return;
	}
	rest = rest_of(t);
	printf("{\"packets\": %" PRIu64 ", \"bytes\": %" PRIu64
	       ", \"streams\": [",
	    rest.packets, rest.bytes);
	print_streams(t, UINT_MAX, true);
	fputs("]}", stdout);
}

static void
print_json(const struct report *r, const struct traces *t, const char *url)
{
	printf("{\"url\": ");
	print_string(url);
	printf(", \"path\": ");
	print_string(r->path);
	print_text("error", r->error);
	print_text("interrupted", r->signal != 0 ? signal_name(r->signal) : "");
	print_json_not_sent(t);
	printf(", \"datagrams\": %" PRIu64 ", \"resent\": %" PRIu64
	       ", \"lost\": %" PRIu64 ", \"dropped\": %" PRIu64
	       ", \"duplicated\": %" PRIu64 ", \"reordered\": %" PRIu64
	       ", \"corrupted\": %" PRIu64,
	    r->sum.datagrams, r->sum.resent, r->sum.lost, r->channel.dropped,
	    r->channel.duplicated, r->channel.reordered, r->channel.corrupted);
	printf(", \"sessions\": %" PRIu64 ", \"streams\": %u"
	       ", \"packets\": %" PRIu64 ", \"bytes\": %" PRIu64
	       ", \"indexes\": %" PRIu64 ", \"beacons\": %" PRIu64
	       ", \"missing\": %" PRIu64 ", \"late\": %" PRIu64
	       ", \"seconds\": %.3f, \"cpu_seconds\": %.3f}\n",
	    r->sessions, r->streams, r->sum.packets, r->sum.bytes,
	    r->sum.indexes, r->sum.beacons, r->missing, r->late, seconds(r),
	    clock_cpu_s());
}

static void
print_sent(const struct report *r)
{
	const double s = seconds(r), bytes = (double)r->sum.bytes;

	printf("%" PRIu64 " packets of %u streams, %.1f %s in %.1f s ",
	    r->sum.packets, r->streams, bytes < MIB ? bytes / KIB : bytes / MIB,
	    bytes < MIB ? "KiB" : "MiB", s);
	/* For fewer bytes the speed means nothing. */
	if (bytes >= MIB && s > 0)
		printf("(%.0f MiB/s, %.2f CPU s/GiB) ", bytes / MIB / s,
		    clock_cpu_s() / (bytes / GIB));
	printf("to %s\n", r->path);
	if (r->sum.datagrams > 0)
		printf("%" PRIu64 " datagrams, %" PRIu64
		       " of them resent; %" PRIu64 " packets lost\n",
		    r->sum.datagrams, r->sum.resent, r->sum.lost);
	if (r->missing > 0)
		printf("%" PRIu64
		       " packets were gone before they could be read\n",
		    r->missing);
	if (r->late > 0)
		printf("%" PRIu64 " packets began before a beacon: use a "
		       "longer --quiet-after\n",
		    r->late);
	if (r->sessions != 1)
		printf("%" PRIu64 " sessions\n", r->sessions);
}

static void
print_not_sent(const struct traces *t)
{
	const struct rest rest = rest_of(t);

	if (rest.packets == 0)
		return;
	printf("not sent: %" PRIu64 " of %" PRIu64
	       " packets, %.1f of %.1f KiB\n",
	    rest.packets, rest.all_packets, (double)rest.bytes / KIB,
	    (double)rest.all_bytes / KIB);
	print_streams(t, NAMED_STREAMS, false);
	if (rest.streams > NAMED_STREAMS)
		printf("  and %u more streams\n", rest.streams - NAMED_STREAMS);
}

void
report_summary(const struct report *r, const struct traces *t, const char *url)
{
	if (r->is_json) {
		print_json(r, t, url);
		return;
	}
	if (r->is_quiet)
		return;
	if (r->path[0] != '\0')
		print_sent(r);
	if (r->signal != 0)
		printf("interrupted by %s%s\n", signal_name(r->signal),
		    r->path[0] == '\0' ? ", before the session was open" : "");
	if (t != NULL)
		print_not_sent(t);
}
