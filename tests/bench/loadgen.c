/* SPDX-License-Identifier: MIT */
/* Load for a relay: many sessions from one thread. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/bench/load.h"
#include "tests/bench/program.h"

static const double percents[] = { 50, 90, 99, 99.9, 100 };
#define PERCENTS (sizeof(percents) / sizeof(percents[0]))

static double
own_cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static double
percentile_us(const struct load_result *r, unsigned i)
{
	return (double)histogram_percentile(&r->index_reply, percents[i]) / 1e3;
}

static void
print_json(const struct load_result *r, double wall_s)
{
	printf("{\"wall_s\": %.6f, \"packets\": %" PRIu64
	       ", \"bytes\": %" PRIu64 ", \"beacons\": %" PRIu64
	       ", \"bytes_per_s\": %.0f"
	       ", \"cpu_s\": %.6f",
	    wall_s, r->packets, r->bytes, r->beacons, (double)r->bytes / wall_s,
	    own_cpu_s());
	if (r->datagrams > 0)
		printf(", \"datagrams\": %" PRIu64 ", \"resent\": %" PRIu64,
		    r->datagrams, r->resent);
	printf(", \"index_reply_us\": {");
	for (unsigned i = 0; i < PERCENTS; i++)
		printf("%s\"p%g\": %.1f", i == 0 ? "" : ", ", percents[i],
		    percentile_us(r, i));
	puts("}}");
}

static void
print_text(const struct load_result *r, double wall_s)
{
	printf("%" PRIu64 " packets, %" PRIu64
	       " bytes in %.3f s: %.0f packets/s"
	       ", %.1f MiB/s; %.3f s of own CPU\n",
	    r->packets, r->bytes, wall_s, (double)r->packets / wall_s,
	    (double)r->bytes / wall_s / (1 << 20), own_cpu_s());
	if (r->datagrams > 0)
		printf("%" PRIu64 " datagrams, %" PRIu64 " of them again\n",
		    r->datagrams, r->resent);
	if (r->beacons > 0)
		printf("%" PRIu64 " beacons\n", r->beacons);
	if (r->index_reply.count == 0)
		return;
	printf("SEND_INDEX answered after (us):");
	for (unsigned i = 0; i < PERCENTS; i++)
		printf("%s p%g %.1f", i == 0 ? "" : ",", percents[i],
		    percentile_us(r, i));
	putchar('\n');
}

/* A file of zeros, so that a reader sees what is there so far. */
static uint64_t *
map_sent(const struct load_options *o)
{
	const size_t size = o->shape.packets * o->shape.streams *
			    sizeof(uint64_t);
	int fd = open(o->sent_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *p;

	if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
		program_fail("%s: %s", o->sent_path, strerror(errno));
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		program_fail("%s: %s", o->sent_path, strerror(errno));
	close(fd);
	return p;
}

int
main(int argc, char **argv)
{
	static struct load_result r;
	struct load_options o;
	double wall_s;

	load_options_parse(&o, argc, argv);
	signal(SIGPIPE, SIG_IGN);
	if (!shape_init(&o.shape))
		program_fail("out of memory");
	program_raise_descriptors();
	if (o.sent_path != NULL)
		o.sent = map_sent(&o);
	if (o.raw != 0)
		load_run_raw(&o, &r);
	else if (o.url.control != 0)
		load_run(&o, &r);
	wall_s = (double)(r.ended_ns - r.started_ns) / (double)NS_PER_S;
	if (r.ended_ns != 0 && o.is_json)
		print_json(&r, wall_s);
	else if (r.ended_ns != 0)
		print_text(&r, wall_s);
	if (o.verify != NULL && !load_verify(&o))
		return 1;
	return fflush(stdout) == 0 ? 0 : 1;
}
