/* SPDX-License-Identifier: MIT */
/* Viewers for a relay that loadgen feeds: all packets, every byte checked. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/bench/program.h"
#include "tests/bench/view.h"

static const double percents[] = { 50, 90, 99, 100 };
#define PERCENTS (sizeof(percents) / sizeof(percents[0]))

static const char *const time_names[VIEW_TIMES] = { [VIEW_CONNECT] = "connect",
	[VIEW_LIST] = "list",
	[VIEW_CREATE] = "create",
	[VIEW_ATTACH] = "attach",
	[VIEW_METADATA] = "metadata",
	[VIEW_INDEX] = "index",
	[VIEW_PACKET] = "packet",
	[VIEW_BEGIN] = "begin",
	[VIEW_LATENCY] = "latency" };

static void
print_times(const struct view_result *r, bool is_json)
{
	for (unsigned i = 0; i < VIEW_TIMES; i++) {
		const struct histogram *h = &r->times[i];

		if (h->count == 0)
			continue;
		printf(is_json ? ", \"%s_us\": {\"n\": %" PRIu64
			       : "%s (us): n %" PRIu64,
		    time_names[i], h->count);
		for (unsigned p = 0; p < PERCENTS; p++)
			printf(is_json ? ", \"p%g\": %.1f" : ", p%g %.1f",
			    percents[p],
			    (double)histogram_percentile(h, percents[p]) / 1e3);
		fputs(is_json ? "}" : "\n", stdout);
	}
}

static void
print(const struct view_result *r, bool is_json)
{
	const double wall_s = (double)(r->ended_ns - r->started_ns) /
			      (double)NS_PER_S;

	printf(is_json
		   ? "{\"wall_s\": %.6f, \"packets\": %" PRIu64
		     ", \"bytes\": %" PRIu64 ", \"requests\": %" PRIu64
		     ", \"nothing\": %" PRIu64 ", \"stalled_bytes\": %" PRIu64
		   : "%.3f s: %" PRIu64 " packets, %" PRIu64 " bytes, %" PRIu64
		     " requests, %" PRIu64 " nothing new, %" PRIu64
		     " bytes unread\n",
	    wall_s, r->packets, r->bytes, r->requests, r->nothing,
	    r->stalled_bytes);
	print_times(r, is_json);
	if (is_json)
		puts("}");
}

/* Written by loadgen, which may not have begun. */
static const uint64_t *
map_sent(const struct view_options *o)
{
	const uint64_t wanted = o->shape.packets * o->shape.streams *
				sizeof(uint64_t);
	int fd = open(o->sent_path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st) != 0)
		program_fail("%s: %s", o->sent_path, strerror(errno));
	if ((uint64_t)st.st_size < wanted)
		program_fail("%s: not %" PRIu64 " bytes", o->sent_path, wanted);
	p = mmap(NULL, (size_t)wanted, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		program_fail("%s: %s", o->sent_path, strerror(errno));
	close(fd);
	return p;
}

int
main(int argc, char **argv)
{
	static struct view_result r;
	struct view_options o;

	view_options_parse(&o, argc, argv);
	signal(SIGPIPE, SIG_IGN);
	if (!shape_init(&o.shape))
		program_fail("out of memory");
	program_raise_descriptors();
	if (o.sent_path != NULL)
		o.sent = map_sent(&o);
	view_run(&o, &r);
	print(&r, o.is_json);
	return fflush(stdout) == 0 ? 0 : 1;
}
