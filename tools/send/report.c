/* SPDX-License-Identifier: MIT */
#include "tools/send/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"

#define PROGRESS_NS (250 * NS_PER_MS)
#define MIB (1024.0 * 1024)
#define GIB (1024 * MIB)

static double
seconds(const struct report *r)
{
	return (double)(clock_now_ns() - r->begin_ns) / (double)NS_PER_S;
}

void
report_progress(struct report *r, const struct client *c)
{
	const uint64_t now = clock_now_ns();
	const struct client_stats *s;

	if (!r->is_terminal || r->is_quiet ||
	    (c != NULL && now - r->shown_ns < PROGRESS_NS))
		return;
	if (c == NULL) {
		if (r->shown_ns != 0)
			fputs("\r\033[K", stderr);
		return;
	}
	r->shown_ns = now;
	s = client_stats(c);
	fprintf(stderr,
	    "\r\033[K%3.0f %%  %.1f of %.1f MiB, %" PRIu64 " packets, %.0f s",
	    r->total_bytes > 0
		? 100.0 * (double)s->bytes / (double)r->total_bytes
		: 100.0,
	    (double)s->bytes / MIB, (double)r->total_bytes / MIB, s->packets,
	    seconds(r));
}

void
report_session(struct report *r, const struct client *c)
{
	const struct client_stats *s = client_stats(c);

	r->sessions++;
	r->sum.packets += s->packets;
	r->sum.bytes += s->bytes;
	r->sum.indexes += s->indexes;
	r->sum.beacons += s->beacons;
	r->sum.datagrams += s->datagrams;
	r->sum.resent += s->resent;
	r->sum.lost += s->lost;
	snprintf(r->path, sizeof(r->path), "%s", client_path(c));
}

void
report_channel(struct report *r, const struct badnet_stats *s)
{
	r->channel.dropped += s->dropped;
	r->channel.duplicated += s->duplicated;
	r->channel.corrupted += s->corrupted;
	r->channel.reordered += s->reordered;
}

/* Print S as a JSON string. Quotes, backslashes and control characters are
 * escaped: paths come from the relay. */
static void
print_string(const char *s)
{
	putchar('"');
	for (; *s != '\0'; s++) {
		if ((unsigned char)*s < 0x20)
			printf("\\u%04x", (unsigned)(unsigned char)*s);
		else if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else
			putchar(*s);
	}
	putchar('"');
}

static void
print_json(const struct report *r, const char *url)
{
	printf("{\"url\": ");
	print_string(url);
	printf(", \"path\": ");
	print_string(r->path);
	printf(", \"datagrams\": %" PRIu64 ", \"resent\": %" PRIu64
	       ", \"lost\": %" PRIu64 ", \"dropped\": %" PRIu64
	       ", \"duplicated\": %" PRIu64 ", \"reordered\": %" PRIu64
	       ", \"corrupted\": %" PRIu64,
	    r->sum.datagrams, r->sum.resent, r->sum.lost, r->channel.dropped,
	    r->channel.duplicated, r->channel.reordered, r->channel.corrupted);
	printf(", \"sessions\": %" PRIu64 ", \"streams\": %u"
	       ", \"packets\": %" PRIu64 ", \"bytes\": %" PRIu64
	       ", \"indexes\": %" PRIu64 ", \"beacons\": %" PRIu64
	       ", \"seconds\": %.3f, \"cpu_seconds\": %.3f}\n",
	    r->sessions, r->streams, r->sum.packets, r->sum.bytes,
	    r->sum.indexes, r->sum.beacons, seconds(r), clock_cpu_s());
}

void
report_summary(const struct report *r, const char *url)
{
	const double s = seconds(r), bytes = (double)r->sum.bytes;

	if (r->is_json) {
		print_json(r, url);
		return;
	}
	/* Without a session there is nothing to tell. */
	if (r->is_quiet || r->path[0] == '\0')
		return;
	printf("%" PRIu64 " packets of %u streams, %.1f %s in %.1f s ",
	    r->sum.packets, r->streams,
	    bytes < MIB ? bytes / 1024 : bytes / MIB,
	    bytes < MIB ? "KiB" : "MiB", s);
	/* For fewer bytes the speed says nothing. */
	if (bytes >= MIB && s > 0)
		printf("(%.0f MiB/s, %.2f CPU s/GiB) ", bytes / MIB / s,
		    clock_cpu_s() / (bytes / GIB));
	printf("to %s\n", r->path);
	if (r->sum.datagrams > 0)
		printf("%" PRIu64 " datagrams, %" PRIu64
		       " of them again; %" PRIu64 " packets lost\n",
		    r->sum.datagrams, r->sum.resent, r->sum.lost);
	if (r->sessions != 1)
		printf("%" PRIu64 " sessions\n", r->sessions);
}
