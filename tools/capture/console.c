/* SPDX-License-Identifier: MIT */
#include "tools/capture/console.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"

#define MIB (1024.0 * 1024)

void
console_error(const char *what)
{
	fprintf(stderr, "tracepulse-capture: %s\n", what);
}

void
console_begin(struct console *c)
{
	*c = (struct console){ .is_terminal = isatty(STDERR_FILENO),
		.begin_ns = clock_now_ns() };
	c->shown_ns = c->begin_ns;
}

static double
seconds_since(uint64_t ns)
{
	return (double)(clock_now_ns() - ns) / (double)NS_PER_S;
}

void
console_line(
    struct console *c, const struct pipeline_stats *s, const struct sink *sink)
{
	const double seconds = seconds_since(c->shown_ns);

	if (clock_now_ns() - c->shown_ns < CONSOLE_NS)
		return;
	fprintf(stderr,
	    "%s%.0f s: received %" PRIu64 " (%.0f/s, %.1f MiB/s), dropped by "
	    "the kernel %" PRIu64 ", by this program %" PRIu64
	    ", written %" PRIu64 "%s",
	    c->is_terminal ? "\r\033[K" : "", seconds_since(c->begin_ns),
	    s->received, (double)(s->received - c->shown.received) / seconds,
	    (double)(s->bytes - c->shown.bytes) / MIB / seconds,
	    s->dropped_kernel, s->dropped_local, sink->written,
	    c->is_terminal ? "" : "\n");
	fflush(stderr);
	c->has_line = c->is_terminal;
	c->shown_ns = clock_now_ns();
	c->shown = *s;
}

void
console_counts(
    struct console *c, const struct pipeline_stats *s, const struct sink *sink)
{
	console_end_line(c);
	fprintf(stderr,
	    "%" PRIu64 " packets written, %" PRIu64 " received in %.1f s; "
	    "dropped %" PRIu64 " by the kernel, %" PRIu64 " by this program\n",
	    sink->written, s->received, seconds_since(c->begin_ns),
	    s->dropped_kernel, s->dropped_local);
}

void
console_end_line(struct console *c)
{
	if (c->has_line)
		fputc('\n', stderr);
	c->has_line = false;
}

/* Packets may be on the standard output. */
static FILE *
out_of(const struct sink *sink)
{
	return sink->uses_stdout ? stderr : stdout;
}

static void
print_left_out(const struct sink *sink)
{
	if (sink->left_out > 0)
		fprintf(out_of(sink),
		    "%" PRIu64 " packets were left out: the output does not "
		    "support their link type\n",
		    sink->left_out);
}

/* What is in no other counter: it was read, and the output failed before it had
 * it, or had it for certain. */
static uint64_t
lost(const struct pipeline_stats *s, const struct sink *sink)
{
	return s->received - s->dropped_local - sink->written - sink->left_out;
}

void
console_summary(const struct console *c, const struct pipeline_stats *s,
    const struct sink *sink)
{
	const double seconds = seconds_since(c->begin_ns);

	fprintf(out_of(sink),
	    "%" PRIu64 " packets written, %" PRIu64 " received in %.1f s; "
	    "dropped %" PRIu64 " by the kernel, %" PRIu64 " by this program\n",
	    sink->written, s->received, seconds, s->dropped_kernel,
	    s->dropped_local);
	if (s->clamped > 0)
		fprintf(out_of(sink),
		    "%" PRIu64 " packets were older than the packet before "
		    "them in their stream, and were given its time\n",
		    s->clamped);
	if (s->withheld > 0)
		fprintf(out_of(sink),
		    "%" PRIu64 " packets are not understood and so cannot be "
		    "anonymised: their bytes were left out\n",
		    s->withheld);
	if (s->cut > 0)
		fprintf(out_of(sink),
		    "%" PRIu64 " packets were cut to %d bytes: there was no "
		    "memory for more\n",
		    s->cut, RECORD_LEN_MAX);
	print_left_out(sink);
	if (lost(s, sink) > 0)
		fprintf(out_of(sink),
		    "%" PRIu64 " packets were lost: they were received, and "
		    "not written before the output failed or ended\n",
		    lost(s, sink));
}

void
console_json(const struct console *c, const struct pipeline_stats *s,
    const struct sink *sink)
{
	fprintf(out_of(sink),
	    "{\"received\": %" PRIu64 ", \"dropped_kernel\": %" PRIu64
	    ", \"dropped_local\": %" PRIu64 ", \"written\": %" PRIu64
	    ", \"left_out\": %" PRIu64 ", \"lost\": %" PRIu64
	    ", \"withheld\": %" PRIu64 ", \"clamped\": %" PRIu64
	    ", \"cut\": %" PRIu64 ", \"captured_bytes\": %" PRIu64
	    ", \"events\": %" PRIu64 ", \"ctf_packets\": %" PRIu64
	    ", \"written_bytes\": %" PRIu64
	    ", \"seconds\": %.3f, \"cpu_seconds\": %.3f}\n",
	    s->received, s->dropped_kernel, s->dropped_local, sink->written,
	    sink->left_out, lost(s, sink), s->withheld, s->clamped, s->cut,
	    s->bytes, sink->events, sink->ctf_packets, sink->bytes,
	    seconds_since(c->begin_ns), clock_cpu_s());
}

void
console_conversion(const struct console *c, const struct conversion_counts *n,
    const struct sink *sink)
{
	fprintf(out_of(sink),
	    "%" PRIu64 " packets written, %" PRIu64 " read in %.1f s\n",
	    sink->written, n->read, seconds_since(c->begin_ns));
	if (n->discarded > 0)
		fprintf(out_of(sink),
		    "%" PRIu64 " packets are not in the trace: they were "
		    "dropped when it was captured\n",
		    n->discarded);
	if (n->missing > 0)
		fprintf(out_of(sink),
		    "%" PRIu64 " CTF packets, with all events in them, are "
		    "missing from the trace\n",
		    n->missing);
	print_left_out(sink);
}

void
console_conversion_json(const struct console *c,
    const struct conversion_counts *n, const struct sink *sink)
{
	fprintf(out_of(sink),
	    "{\"read\": %" PRIu64 ", \"written\": %" PRIu64
	    ", \"left_out\": %" PRIu64 ", \"discarded\": %" PRIu64
	    ", \"missing_ctf_packets\": %" PRIu64
	    ", \"captured_bytes\": %" PRIu64
	    ", \"seconds\": %.3f, \"cpu_seconds\": %.3f}\n",
	    n->read, sink->written, sink->left_out, n->discarded, n->missing,
	    sink->bytes, seconds_since(c->begin_ns), clock_cpu_s());
}
