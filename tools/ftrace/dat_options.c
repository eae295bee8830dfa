/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/dat_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
dat_copy_text(char *out, size_t size, struct span s)
{
	size_t n = 0;

	while (n < s.n && n < size - 1 && s.p[n] != '\0' && s.p[n] != '\n') {
		const char c = s.p[n];

		out[n++] = c >= ' ' && c <= '~' ? c : '?';
	}
	out[n] = '\0';
}

/* The clock in use is in brackets: "[local] global counter ...". */
void
dat_option_clock(struct dat *d, struct span s)
{
	const char *open = memchr(s.p, '[', s.n), *close;

	if (open == NULL)
		return;
	s.n -= (size_t)(open + 1 - s.p);
	s.p = open + 1;
	close = memchr(s.p, ']', s.n);
	if (close != NULL)
		dat_copy_text(d->clock, sizeof(d->clock),
		    (struct span){ s.p, (size_t)(close - s.p) });
}

/* "Linux HOST RELEASE MACHINE" */
void
dat_option_uname(struct dat *d, struct span s)
{
	char text[3 * DAT_NAME_MAX], *rest = text;

	dat_copy_text(text, sizeof(text), s);
	(void)strsep(&rest, " ");
	if (rest != NULL)
		(void)snprintf(
		    d->hostname, DAT_NAME_MAX, "%s", strsep(&rest, " "));
	if (rest != NULL)
		(void)snprintf(
		    d->release, DAT_NAME_MAX, "%s", strsep(&rest, " "));
}

/* A number as strtoll(3) reads it. DATE has precedence over OFFSET. */
void
dat_option_offset(
    struct dat *d, struct span s, enum dat_offset from, int64_t ns_per_unit)
{
	char text[64], *end;
	int64_t v, ns;

	dat_copy_text(text, sizeof(text), s);
	errno = 0;
	v = strtoll(text, &end, 0);
	if (errno != 0 || end == text || *end != '\0' ||
	    __builtin_mul_overflow(v, ns_per_unit, &ns) ||
	    d->offset_from == DAT_OFFSET_DATE)
		return;
	d->offset_from = from;
	d->offset_ns = ns;
}

/* A shift: 8 bytes each of time, offset and factor. */
#define SHIFT_BYTES 24

static enum status
read_shifts(struct dat_shifts *s, struct dat_input *in)
{
	s->n = dat_input_u32(in);
	if (in->r.bad || s->n > reader_left(&in->r) / SHIFT_BYTES) {
		s->n = 0;
		return E_MALFORMED;
	}
	s->all = calloc(s->n + 1, sizeof(*s->all));
	if (s->all == NULL)
		return E_NOMEM;
	for (uint32_t i = 0; i < s->n; i++)
		s->all[i].from = dat_input_u64(in);
	for (uint32_t i = 0; i < s->n; i++)
		s->all[i].offset = (int64_t)dat_input_u64(in);
	for (uint32_t i = 0; i < s->n; i++)
		s->all[i].factor = dat_input_u64(in);
	return OK;
}

/* They follow all CPUs; older files have none. */
static enum status
read_fractions(struct dat *d, struct dat_input *in)
{
	const bool has_fractions = reader_left(&in->r) > 0;

	for (uint32_t i = 0; i < d->n_shifts && has_fractions; i++)
		for (uint32_t k = 0; k < d->shifts[i].n; k++) {
			const uint64_t bits = dat_input_u64(in);

			if (in->r.bad || bits >= 64)
				return E_MALFORMED;
			d->shifts[i].all[k].fraction = (unsigned)bits;
		}
	return OK;
}

enum status
dat_option_shift(struct dat *d, struct dat_input in)
{
	enum status st = OK;
	uint32_t cpus;

	dat_shifts_free(d);
	(void)dat_input_u64(&in); /* the peer's id */
	(void)dat_input_u32(&in); /* flags of the protocol */
	cpus = dat_input_u32(&in);
	if (in.r.bad || cpus > DAT_CPUS_MAX)
		return E_MALFORMED;
	d->shifts = calloc(cpus + (size_t)1, sizeof(*d->shifts));
	if (d->shifts == NULL)
		return E_NOMEM;
	d->n_shifts = cpus;
	for (uint32_t i = 0; i < cpus && st == OK; i++)
		st = read_shifts(&d->shifts[i], &in);
	return st == OK ? read_fractions(d, &in) : st;
}

void
dat_shifts_free(struct dat *d)
{
	for (unsigned i = 0; i < d->n_shifts; i++)
		free(d->shifts[i].all);
	free(d->shifts);
	d->shifts = NULL;
	d->n_shifts = 0;
}

uint64_t
dat_shift_time(const struct dat_shifts *s, uint64_t time)
{
	const struct dat_shift *x = s->all;

	if (s->n == 1)
		return time + (uint64_t)x->offset;
	for (uint32_t i = 1; i + 1 < s->n && time >= s->all[i].from; i++)
		x = &s->all[i];
	return (uint64_t)((unsigned __int128)time * x->factor >> x->fraction) +
	       (uint64_t)x->offset;
}
