/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/trace_clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/compiler.h"

#define TRACEFS "/sys/kernel/tracing/"
/* Another process may run between the readings: the closest ones count. */
#define READINGS 16

/* Reads the clock ID into *NS, which is right to *UNIT. */
struct source {
	bool (*read)(clockid_t id, uint64_t *ns);
	clockid_t id;
	uint64_t unit;
};

static bool
read_posix(clockid_t id, uint64_t *ns)
{
	struct timespec t;

	if (clock_gettime(id, &t) != 0)
		return false;
	*ns = (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
	return true;
}

/* Reads a small file of tracefs as text. */
static bool
read_file(const char *path, char *out, size_t size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, out, size - 1);
	close(fd);
	out[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The present time of the ring buffer, "now ts:  5809.032005", in us. */
static bool
read_tracefs(clockid_t id, uint64_t *ns)
{
	static const char word[] = "now ts:";
	char text[1024], *at, *end;
	unsigned long long s, us;

	(void)id;
	if (!read_file(TRACEFS "per_cpu/cpu0/stats", text, sizeof(text)))
		return false;
	at = strstr(text, word);
	if (at == NULL)
		return false;
	s = strtoull(at + strlen(word), &end, 10);
	if (*end != '.')
		return false;
	us = strtoull(end + 1, &end, 10);
	*ns = s * NS_PER_S + us * 1000;
	return *end == '\n';
}

/* Does tracefs use the clock NAME: "local [NAME] mono"? */
static bool
is_in_use(const char *name)
{
	char text[256], word[40];

	(void)snprintf(word, sizeof(word), "[%s]", name);
	return read_file(TRACEFS "trace_clock", text, sizeof(text)) &&
	       strstr(text, word) != NULL;
}

static bool
find_source(const char *name, struct source *out)
{
	static const struct {
		const char *name;
		clockid_t id;
	} clocks[] = {
		{ "mono", CLOCK_MONOTONIC },
		{ "mono_raw", CLOCK_MONOTONIC_RAW },
		{ "boot", CLOCK_BOOTTIME },
		{ "tai", CLOCK_TAI },
	};

	for (size_t i = 0; i < ARRAY_LEN(clocks); i++)
		if (strcmp(name, clocks[i].name) == 0) {
			*out = (struct source){ read_posix, clocks[i].id, 0 };
			return true;
		}
	*out = (struct source){ read_tracefs, 0, 1000 };
	return (strcmp(name, "local") == 0 || strcmp(name, "global") == 0 ||
		   strcmp(name, "perf") == 0) &&
	       is_in_use(name);
}

bool
trace_clock_measure(const char *name, struct trace_clock_offset *out)
{
	struct source from;
	uint64_t before, time, after, best = UINT64_MAX;

	if (!find_source(name, &from))
		return false;
	for (int i = 0; i < READINGS; i++) {
		before = clock_wall_ns();
		if (!from.read(from.id, &time))
			return false;
		after = clock_wall_ns();
		/* Somebody may set the clock meanwhile. */
		if (after < before || after - before >= best)
			continue;
		best = after - before;
		out->ns = (int64_t)(before + best / 2 - time);
		out->error_ns = best / 2 + from.unit;
	}
	return best != UINT64_MAX;
}

bool
trace_clock_is_ours(const char *hostname, const char *release)
{
	struct utsname u;

	return uname(&u) == 0 && strcmp(hostname, u.nodename) == 0 &&
	       strcmp(release, u.release) == 0;
}
