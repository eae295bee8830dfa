/* SPDX-License-Identifier: MIT */
#include "tools/send/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"

#define KIB 1024.0
#define MIB (1024 * KIB)

void
progress_begin(struct progress *p, uint64_t session)
{
	p->session = session;
	p->n_samples = 0;
}

static const struct progress_sample *
oldest(const struct progress *p)
{
	return &p->samples[p->n_samples < PROGRESS_SAMPLES
			       ? 0
			       : p->n_samples % PROGRESS_SAMPLES];
}

/* Bytes per second; negative: not known yet. */
static double
rate(struct progress *p, const struct progress_now *now)
{
	struct progress_sample since = { now->ns, now->bytes };

	if (p->n_samples > 0)
		since = *oldest(p);
	p->samples[p->n_samples++ % PROGRESS_SAMPLES] =
	    (struct progress_sample){ now->ns, now->bytes };
	if (now->ns <= since.ns)
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
	/* Beyond a month it is not worth telling, and at rest not known. */
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
		snprintf(out, size, "; waiting for the relay to write it");
		break;
	case PROGRESS_ENDING:
		snprintf(out, size, "; ending the session");
		break;
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
	put_phase(rest, sizeof(rest), p, now);
	snprintf(out, PROGRESS_LINE_MAX,
	    "%s%3.0f %%  %.1f of %.1f MiB, %" PRIu64 " packets%s", which,
	    total > 0 ? 100.0 * bytes / total : 100.0, bytes / MIB, total / MIB,
	    now->packets, rest);
}
