/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/ctf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "tools/ftrace/ctf_op.h"

/* Readers count ns from 1970 in 63 bits; half of that is for the offset. */
#define NS_MAX (UINT64_C(1) << 62)
/* The clock "uptime" counts as times(2) does. */
#define TICKS_PER_S 100

static const struct {
	const char *name;
	uint64_t freq;
} clocks[] = {
	{ "", NS_PER_S }, /* it does not say: the kernel's default */
	{ "local", NS_PER_S }, { "global", NS_PER_S }, { "mono", NS_PER_S },
	{ "mono_raw", NS_PER_S }, { "boot", NS_PER_S }, { "tai", NS_PER_S },
	{ "perf", NS_PER_S }, { "uptime", TICKS_PER_S },
	{ "counter", 1 }, /* no time at all: in order on each CPU */
};

/* Hz; 0: unknown. Times of a faster clock would not be counted in 64 bits. */
#define FREQ_MAX (100 * NS_PER_S)
static uint64_t
frequency(const struct dat *d)
{
	unsigned __int128 freq = 0;

	for (size_t i = 0; i < ARRAY_LEN(clocks); i++)
		if (strcmp(d->clock, clocks[i].name) == 0)
			return clocks[i].freq;
	if (d->has_tsc)
		freq = ((unsigned __int128)NS_PER_S << d->tsc_shift) /
		       d->tsc_mult;
	return freq <= FREQ_MAX ? (uint64_t)freq : 0;
}

static uint64_t
time_max(uint64_t freq)
{
	const unsigned __int128 t = (unsigned __int128)NS_MAX * freq / NS_PER_S;

	return t > UINT64_MAX ? UINT64_MAX : (uint64_t)t;
}

void
ctf_settings_offset(struct ctf_settings *s, const struct dat *d)
{
	static const char *const from[] = { [DAT_OFFSET_NONE] = "none",
		[DAT_OFFSET_DATE] = "date",
		[DAT_OFFSET_GIVEN] = "ts-offset" };
	const bool fits = d->offset_ns <= CTF_OFFSET_MAX &&
			  d->offset_ns >= -CTF_OFFSET_MAX;

	s->has_offset = d->offset_from != DAT_OFFSET_NONE && fits;
	s->offset_ns = s->has_offset ? d->offset_ns : 0;
	s->offset_from = s->has_offset ? from[d->offset_from] : "none";
	/* Unix time, but for leap seconds, if its machine knows of them. */
	if (!s->has_offset && strcmp(d->clock, "tai") == 0) {
		s->has_offset = true;
		s->offset_from = "tai";
	}
}

/* FNV-1a, of 64 bits: who reads a recording again gets the same. */
static uint64_t
hash(uint64_t h, const void *p, size_t n)
{
	const uint8_t *bytes = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ bytes[i]) * UINT64_C(0x100000001b3);
	return h;
}

/* A UUID that says nothing of how it was made (RFC 9562, 5.8). */
static void
make_uuid(uint8_t out[CTF_UUID_LEN], const struct dat *d, const char *kind,
    uint64_t some_time)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325), id = d->trace_id;

	h = hash(h, d->hostname, strlen(d->hostname) + 1);
	h = hash(h, d->release, strlen(d->release) + 1);
	if (!d->has_trace_id)
		id = hash(h, &some_time, sizeof(some_time));
	h = hash(h, kind, strlen(kind) + 1);
	h = hash(h, &id, sizeof(id));
	memcpy(out, &id, sizeof(id));
	memcpy(out + sizeof(id), &h, sizeof(h));
	out[6] = (uint8_t)((out[6] & 0x0f) | 0x80);
	out[8] = (uint8_t)((out[8] & 0x3f) | 0x80);
}

static enum status
compile(struct ctf_trace *t)
{
	const struct dat *d = t->dat;
	const size_t n_events = d->n_events + 1;
	const size_t n_ops = d->n_fields + CTF_OPS_EXTRA * n_events;
	struct ctf_op *next;

	t->events = calloc(n_events, sizeof(*t->events));
	t->ops = calloc(n_ops, sizeof(*t->ops));
	t->memory = n_events * sizeof(*t->events) + n_ops * sizeof(*t->ops);
	if (t->events == NULL || t->ops == NULL)
		return E_NOMEM;
	next = t->ops;
	for (unsigned i = 0; i < d->n_events; i++) {
		const uint32_t n = ctf_event_compile(d->events[i], next);

		if (n == 0)
			continue;
		t->events[i] = (struct ctf_event){ .ops = next,
			.n_ops = n,
			.fixed_size = d->events[i]->fixed_size };
		next += n;
	}
	return OK;
}

enum status
ctf_trace_create(struct ctf_trace **out, const struct dat *d,
    const struct ctf_settings *settings, char why[DAT_WHY_MAX])
{
	struct ctf_trace *t = calloc(1, sizeof(*t));
	enum status st;

	*out = NULL;
	(void)snprintf(why, DAT_WHY_MAX, "%s", status_text(E_NOMEM));
	if (t == NULL)
		return E_NOMEM;
	t->dat = d;
	t->freq = frequency(d);
	if (t->freq == 0) {
		(void)snprintf(why, DAT_WHY_MAX,
		    "the frequency of the clock %s is not known", d->clock);
		ctf_trace_destroy(t);
		return E_REFUSED;
	}
	t->time_max = time_max(t->freq);
	make_uuid(t->uuid, d, settings->buffer, settings->some_time);
	make_uuid(t->clock_uuid, d, "/clock", settings->some_time);
	st = compile(t);
	if (st == OK)
		st = ctf_metadata(t, settings);
	if (st != OK) {
		ctf_trace_destroy(t);
		return st;
	}
	*out = t;
	return OK;
}

void
ctf_trace_destroy(struct ctf_trace *t)
{
	if (t == NULL)
		return;
	buf_free(&t->metadata);
	free(t->events);
	free(t->ops);
	free(t);
}

uint64_t
ctf_trace_memory(const struct ctf_trace *t)
{
	return sizeof(*t) + t->memory + t->metadata.cap;
}

uint64_t
ctf_time_ns(const struct ctf_trace *t, uint64_t time)
{
	return t->freq == NS_PER_S
		   ? time
		   : (uint64_t)((unsigned __int128)time * NS_PER_S / t->freq);
}

uint64_t
ctf_time_of_ns(const struct ctf_trace *t, uint64_t ns)
{
	return t->freq == NS_PER_S
		   ? ns
		   : (uint64_t)((unsigned __int128)ns * t->freq / NS_PER_S);
}
