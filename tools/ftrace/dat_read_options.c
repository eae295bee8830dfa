/* SPDX-License-Identifier: MIT */
/* Options, and the buffers that some of them name (trace-cmd 3.4). */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ftrace/dat_read_internal.h"

#define NS_PER_US 1000

/* What is printable of S, up to a NUL, an end of line, or the end of OUT. */
static void
copy_text(char *out, size_t size, struct span s)
{
	size_t n = 0;

	while (n < s.n && n < size - 1 && s.p[n] != '\0' && s.p[n] != '\n') {
		const char c = s.p[n];

		out[n++] = c >= ' ' && c <= '~' ? c : '?';
	}
	out[n] = '\0';
}

/* The clock in use stands in brackets among those that there are. */
static void
option_clock(struct dat *d, struct span s)
{
	const char *open = memchr(s.p, '[', s.n), *close;

	if (open == NULL)
		return;
	s.n -= (size_t)(open + 1 - s.p);
	s.p = open + 1;
	close = memchr(s.p, ']', s.n);
	if (close != NULL)
		copy_text(d->clock, sizeof(d->clock),
		    (struct span){ s.p, (size_t)(close - s.p) });
}

/* "Linux HOST RELEASE MACHINE" */
static void
option_uname(struct dat *d, struct span s)
{
	char text[3 * DAT_NAME_MAX], *rest = text;

	copy_text(text, sizeof(text), s);
	(void)strsep(&rest, " ");
	if (rest != NULL)
		(void)snprintf(
		    d->hostname, sizeof(d->hostname), "%s", strsep(&rest, " "));
	if (rest != NULL)
		(void)snprintf(
		    d->release, sizeof(d->release), "%s", strsep(&rest, " "));
}

/* A number as strtoll(3) has it; the DATE is in us, the OFFSET in ns. */
static void
option_offset(
    struct dat *d, struct span s, enum dat_offset from, int64_t ns_per_unit)
{
	char text[64], *end;
	int64_t v, ns;

	copy_text(text, sizeof(text), s);
	errno = 0;
	v = strtoll(text, &end, 0);
	if (errno != 0 || end == text || *end != '\0' ||
	    __builtin_mul_overflow(v, ns_per_unit, &ns) ||
	    d->offset_from == DAT_OFFSET_DATE)
		return;
	d->offset_from = from;
	d->offset_ns = ns;
}

struct dat_buffer *
dat_add_buffer(struct dat_reading *g, struct span name)
{
	struct dat *d = g->d;
	struct dat_buffer *b;

	if (d->n_buffers == DAT_BUFFERS_MAX) {
		(void)dat_fail(
		    g, E_LIMIT, "more than %d buffers", DAT_BUFFERS_MAX);
		return NULL;
	}
	if (d->buffers == NULL)
		d->buffers = calloc(DAT_BUFFERS_MAX, sizeof(*d->buffers));
	if (d->buffers == NULL)
		return NULL;
	b = &d->buffers[d->n_buffers++];
	copy_text(b->name, sizeof(b->name), name);
	b->page_size = g->page_size;
	return b;
}

enum status
dat_add_cpu(struct dat_reading *g, struct dat_buffer *b, unsigned cpu,
    uint64_t at, uint64_t size)
{
	struct dat_pages *more;

	if (size == 0)
		return OK;
	if (at > g->n || size > g->n - at)
		return dat_fail(g, E_MALFORMED,
		    "the pages of CPU %u are not in the file", cpu);
	if (b->n_cpus == DAT_CPUS_MAX || cpu >= DAT_CPUS_MAX)
		return dat_fail(g, E_LIMIT, "more than %d CPUs", DAT_CPUS_MAX);
	for (unsigned i = 0; i < b->n_cpus; i++)
		if (b->cpus[i].cpu == cpu)
			return dat_fail(
			    g, E_MALFORMED, "CPU %u is there twice", cpu);
	more = realloc(b->cpus, (b->n_cpus + 1) * sizeof(*more));
	if (more == NULL)
		return E_NOMEM;
	b->cpus = more;
	b->cpus[b->n_cpus++] = (struct dat_pages){ cpu, at, size };
	return OK;
}

/* Version 6: a name, and where another "flyrecord" is. */
static enum status
buffer_v6(struct dat_reading *g, struct dat_input in)
{
	const uint64_t at = dat_input_u64(&in);
	const struct span name = dat_input_string(&in, DAT_NAME_MAX);
	struct dat_buffer *b;
	enum status st = OK;

	if (in.r.bad || at >= g->n)
		return dat_fail(g, E_MALFORMED, "a buffer is not in the file");
	b = dat_add_buffer(g, name);
	if (b == NULL)
		return g->why[0] == '\0' ? E_NOMEM : E_LIMIT;
	in = dat_input_over(g->p + at, g->n - at, g->d->is_big);
	if (!dat_input_word(&in, "flyrecord", sizeof("flyrecord")))
		return dat_fail(g, E_MALFORMED, "a buffer has no data");
	for (unsigned i = 0; i < g->d->n_cpus && st == OK && !in.r.bad; i++) {
		const uint64_t begin = dat_input_u64(&in);

		st = dat_add_cpu(g, b, i, begin, dat_input_u64(&in));
	}
	return st != OK	  ? st
	       : in.r.bad ? dat_fail(g, E_MALFORMED, "a buffer is cut short")
			  : OK;
}

/* Version 7: all of it, but for the flags, which are the section's. */
static enum status
buffer_v7(struct dat_reading *g, struct dat_input in)
{
	const uint64_t at = dat_input_u64(&in);
	const struct span name = dat_input_string(&in, DAT_NAME_MAX);
	struct dat_input section;
	struct dat_buffer *b;
	enum status st = OK;
	uint32_t cpus;

	(void)dat_input_string(&in, DAT_NAME_MAX); /* its clock */
	if (in.r.bad || at >= g->n)
		return dat_fail(g, E_MALFORMED, "a buffer is not in the file");
	b = dat_add_buffer(g, name);
	if (b == NULL)
		return g->why[0] == '\0' ? E_NOMEM : E_LIMIT;
	b->page_size = dat_input_u32(&in);
	cpus = dat_input_u32(&in);
	section = dat_input_over(g->p + at, g->n - at, g->d->is_big);
	(void)dat_input_u16(&section); /* its id */
	b->is_packed = (dat_input_u16(&section) & 1) != 0;
	for (uint32_t i = 0; i < cpus && st == OK && !in.r.bad; i++) {
		const uint32_t cpu = dat_input_u32(&in);
		const uint64_t begin = dat_input_u64(&in);

		st = dat_add_cpu(g, b, cpu, begin, dat_input_u64(&in));
	}
	if (st == OK &&
	    (in.r.bad || section.r.bad || b->page_size < PAGE_SIZE_MIN ||
		b->page_size > PAGE_SIZE_MAX))
		return dat_fail(g, E_MALFORMED, "a buffer is cut short");
	return st;
}

enum status
dat_read_option(struct dat_reading *g, unsigned id, struct dat_input body)
{
	struct dat *d = g->d;
	const struct span all = { (const char *)body.r.p,
		(size_t)reader_left(&body.r) };

	if (++g->n_options > DAT_READ_OPTIONS_MAX)
		return dat_fail(g, E_LIMIT, "too many options");
	switch (id) {
	case OPTION_DATE:
		option_offset(d, all, DAT_OFFSET_DATE, NS_PER_US);
		break;
	case OPTION_OFFSET:
		option_offset(d, all, DAT_OFFSET_GIVEN, 1);
		break;
	case OPTION_CLOCK:
		option_clock(d, all);
		break;
	case OPTION_UNAME:
		option_uname(d, all);
		break;
	case OPTION_CPUS:
		d->n_cpus = dat_input_u32(&body);
		break;
	case OPTION_TRACE_ID:
		d->trace_id = dat_input_u64(&body);
		d->has_trace_id = !body.r.bad;
		break;
	case OPTION_TSC2NSEC:
		d->tsc_mult = dat_input_u32(&body);
		d->tsc_shift = dat_input_u32(&body);
		d->has_tsc = !body.r.bad && d->tsc_mult > 0 &&
			     d->tsc_shift < 64;
		break;
	case OPTION_BUFFER:
		return d->version == 6 ? buffer_v6(g, body)
				       : buffer_v7(g, body);
	default:
		if (d->version == 7 && id >= OPTION_HEADERS &&
		    id <= OPTION_CMDLINES)
			g->sections[id] = dat_input_u64(&body);
		break;
	}
	return OK;
}
