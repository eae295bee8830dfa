/* SPDX-License-Identifier: MIT */
#include "tools/ctl/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"
#include "tools/ctl/text.h"

#define PROGRESS_NS (NS_PER_S / 2)

void
progress_begin(struct progress *p, const char *name, uint64_t at, uint64_t size)
{
	*p = (struct progress){ .name = name,
		.size = size,
		.first = at,
		.began_ns = clock_now_ns() };
}

static void
print(struct progress *p, uint64_t at, uint64_t now, const char *end)
{
	char done[TEXT_UNIT_MAX], all[TEXT_UNIT_MAX], rate[TEXT_UNIT_MAX];
	const double s = (double)(now - p->began_ns) / NS_PER_S;

	if (!isatty(STDERR_FILENO))
		return;
	p->shown_ns = now;
	fprintf(stderr, "\r%s: %3u %%, %s of %s, %s \033[K%s", p->name,
	    (unsigned)(p->size == 0 ? 100 : at * 100 / p->size),
	    text_bytes(done, at), text_bytes(all, p->size),
	    text_rate(rate, s > 0 ? (double)(at - p->first) / s : 0), end);
}

bool
progress_is_due(const struct progress *p)
{
	return clock_now_ns() - p->shown_ns >= PROGRESS_NS;
}

void
progress_show(struct progress *p, uint64_t at)
{
	if (progress_is_due(p))
		print(p, at, clock_now_ns(), "");
}

void
progress_end(struct progress *p, uint64_t at)
{
	print(p, at, clock_now_ns(), "\n");
}
