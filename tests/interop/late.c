/* SPDX-License-Identifier: MIT */
/*
 * Makes streams late (doc/live.md 4.11): preloaded into lttng-sessiond, whose
 * consumer daemon then sleeps LATE_DATA_MS milliseconds after it made the
 * buffers of a new process, and LATE_METADATA_MS after it made those of its
 * metadata. The tracer takes the beginning of the first packet before, and
 * announces the streams after that.
 */
#include "config.h" /* _GNU_SOURCE */

#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

struct attributes;
struct channel;

/* Of liblttng-ust-ctl, for consumer daemons. The attributes begin with the
 * kind of the channel. */
struct channel *lttng_ust_ctl_create_channel(
    struct attributes *a, const int *fds, int n);

enum kind { DATA = 0, METADATA = 1 };

static void
sleep_for(const char *variable)
{
	const char *text = getenv(variable);
	long ms = text == NULL ? 0 : atol(text);

	nanosleep(&(struct timespec){ .tv_sec = ms / 1000,
		      .tv_nsec = ms % 1000 * 1000000 },
	    NULL);
}

struct channel *
lttng_ust_ctl_create_channel(struct attributes *a, const int *fds, int n)
{
	struct channel *(*real)(struct attributes *, const int *, int);
	void *symbol = dlsym(RTLD_NEXT, "lttng_ust_ctl_create_channel");
	const enum kind *kind = (const void *)a;
	struct channel *c;

	if (symbol == NULL)
		abort();
	*(void **)&real = symbol;
	c = real(a, fds, n);
	if (*kind == DATA)
		sleep_for("LATE_DATA_MS");
	else if (*kind == METADATA)
		sleep_for("LATE_METADATA_MS");
	return c;
}
