/* SPDX-License-Identifier: MIT */
#include "tools/capture/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"

#define MIB (1024.0 * 1024)

void
report_error(const char *what)
{
	fprintf(stderr, "tracepulse-capture: %s\n", what);
}

void
report_begin(struct report *r)
{
	*r = (struct report){ .is_terminal = isatty(STDERR_FILENO),
		.begin_ns = clock_now_ns() };
	r->shown_ns = r->begin_ns;
}

static double
seconds_since(uint64_t ns)
{
	return (double)(clock_now_ns() - ns) / (double)NS_PER_S;
}

void
report_line(
    struct report *r, const struct pipeline_stats *s, const struct sink *sink)
{
	const double seconds = seconds_since(r->shown_ns);

	if (clock_now_ns() - r->shown_ns < REPORT_NS)
		return;
	fprintf(stderr,
	    "%s%.0f s: received %" PRIu64 " (%.0f/s, %.1f MiB/s), dropped by "
	    "the kernel %" PRIu64 ", by this program %" PRIu64
	    ", written %" PRIu64 "%s",
	    r->is_terminal ? "\r\033[K" : "", seconds_since(r->begin_ns),
	    s->received, (double)(s->received - r->shown.received) / seconds,
	    (double)(s->bytes - r->shown.bytes) / MIB / seconds,
	    s->dropped_kernel, s->dropped_local, sink->written,
	    r->is_terminal ? "" : "\n");
	fflush(stderr);
	r->has_line = r->is_terminal;
	r->shown_ns = clock_now_ns();
	r->shown = *s;
}

void
report_end_line(struct report *r)
{
	if (r->has_line)
		fputc('\n', stderr);
	r->has_line = false;
}

static void
report_left_out(const struct sink *sink)
{
	if (sink->left_out > 0)
		printf("%" PRIu64 " packets were left out: the output does not "
		       "support their link type\n",
		    sink->left_out);
}

void
report_summary(const struct report *r, const struct pipeline_stats *s,
    const struct sink *sink)
{
	const double seconds = seconds_since(r->begin_ns);

	printf("%" PRIu64 " packets written, %" PRIu64 " received in %.1f s; "
	       "dropped %" PRIu64 " by the kernel, %" PRIu64
	       " by this program\n",
	    sink->written, s->received, seconds, s->dropped_kernel,
	    s->dropped_local);
	if (s->clamped > 0)
		printf("%" PRIu64 " packets were older than the packet before "
		       "them in their stream, and were given its time\n",
		    s->clamped);
	if (s->withheld > 0)
		printf("%" PRIu64 " packets have a link type that cannot be "
		       "anonymised: their bytes were left out\n",
		    s->withheld);
	report_left_out(sink);
}

void
report_json(const struct report *r, const struct pipeline_stats *s,
    const struct sink *sink)
{
	printf("{\"received\": %" PRIu64 ", \"dropped_kernel\": %" PRIu64
	       ", \"dropped_local\": %" PRIu64 ", \"written\": %" PRIu64
	       ", \"left_out\": %" PRIu64 ", \"withheld\": %" PRIu64
	       ", \"clamped\": %" PRIu64 ", \"captured_bytes\": %" PRIu64
	       ", \"events\": %" PRIu64 ", \"ctf_packets\": %" PRIu64
	       ", \"written_bytes\": %" PRIu64
	       ", \"seconds\": %.3f, \"cpu_seconds\": %.3f}\n",
	    s->received, s->dropped_kernel, s->dropped_local, sink->written,
	    sink->left_out, s->withheld, s->clamped, s->bytes, sink->events,
	    sink->ctf_packets, sink->bytes, seconds_since(r->begin_ns),
	    clock_cpu_s());
}

void
report_conversion(const struct report *r, const struct conversion_counts *n,
    const struct sink *sink)
{
	printf("%" PRIu64 " packets written, %" PRIu64 " read in %.1f s\n",
	    sink->written, n->read, seconds_since(r->begin_ns));
	if (n->discarded > 0)
		printf("%" PRIu64 " packets are not in the trace: they were "
		       "dropped when it was captured\n",
		    n->discarded);
	if (n->missing > 0)
		printf("%" PRIu64 " CTF packets, with all events in them, are "
		       "missing from the trace\n",
		    n->missing);
	report_left_out(sink);
}

void
report_conversion_json(const struct report *r,
    const struct conversion_counts *n, const struct sink *sink)
{
	printf("{\"read\": %" PRIu64 ", \"written\": %" PRIu64
	       ", \"left_out\": %" PRIu64 ", \"discarded\": %" PRIu64
	       ", \"missing_ctf_packets\": %" PRIu64
	       ", \"captured_bytes\": %" PRIu64
	       ", \"seconds\": %.3f, \"cpu_seconds\": %.3f}\n",
	    n->read, sink->written, sink->left_out, n->discarded, n->missing,
	    sink->bytes, seconds_since(r->begin_ns), clock_cpu_s());
}
