/* SPDX-License-Identifier: MIT */
/*
 * The traced application of the interop tests: emits numbered events and
 * writes down, one line per event, after each, the numbers it emitted.
 */
#include "config.h" /* _GNU_SOURCE */

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/interop/tp.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "usage: app [-l LOG] [-w MILLISECONDS] FIRST COUNT MICROSECONDS LENGTH "
    "[CPU]\n"
    "Wait first, if so told.\n"
    "Emit COUNT events demo:ev numbered from FIRST, one per MICROSECONDS, "
    "with\n"
    "a text of LENGTH times the letter 'a' + number % 26; append the numbers\n"
    "to LOG; run on CPU only. SIGTERM ends it behind an event.\n";

#define TEXT_MAX 65536

static volatile sig_atomic_t is_enough;

static void
on_term(int number)
{
	(void)number;
	is_enough = 1;
}

static void
pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		perror("app: sched_setaffinity"); /* fewer CPUs: no harm */
}

/* Straight to the file: the line must survive a kill -9. */
static void
write_down(int fd, int n)
{
	char line[16];
	int len = snprintf(line, sizeof(line), "%d\n", n);

	if (fd >= 0 && write(fd, line, (size_t)len) != len) {
		perror("app: log");
		exit(1);
	}
}

static void
emit(int first, int count, long microseconds, size_t length, int fd)
{
	static char text[TEXT_MAX + 1];
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (int n = first; n < first + count && !is_enough; n++) {
		memset(text, 'a' + n % 26, length);
		lttng_ust_tracepoint(demo, ev, n, text);
		write_down(fd, n);
		next.tv_nsec += microseconds * 1000;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
}

int
main(int argc, char **argv)
{
	int opt, fd = -1;
	long length, wait_ms = 0;

	while ((opt = getopt(argc, argv, "l:w:")) != -1) {
		if (opt == 'w') {
			wait_ms = atol(optarg);
			continue;
		}
		if (opt != 'l') {
			fputs(usage, stderr);
			return 2;
		}
		fd = open(optarg, O_WRONLY | O_CREAT | O_APPEND, 0644);
		if (fd < 0) {
			perror(optarg);
			return 1;
		}
	}
	argv += optind;
	argc -= optind;
	if (argc < 4 || (length = atol(argv[3])) < 0 || length > TEXT_MAX) {
		fputs(usage, stderr);
		return 2;
	}
	if (argc > 4)
		pin(atoi(argv[4]));
	signal(SIGTERM, on_term);
	nanosleep(&(struct timespec){ .tv_sec = wait_ms / 1000,
		      .tv_nsec = wait_ms % 1000 * 1000000 },
	    NULL);
	emit(atoi(argv[0]), atoi(argv[1]), atol(argv[2]), (size_t)length, fd);
	return 0;
}
