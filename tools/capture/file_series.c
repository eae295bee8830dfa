/* SPDX-License-Identifier: MIT */
#include "tools/capture/file_series.h"

#include <stdio.h>
#include <time.h>

#include "common/clock.h"

static int
digits_of(unsigned n)
{
	int digits = 0;

	for (; n > 0; n /= 10)
		digits++;
	return digits;
}

static enum status
set_path(struct file_series *s)
{
	const bool has_number = s->rotation.max_bytes != 0 &&
				(s->count == 0 ? s->number > 0 : s->count > 1);
	int n;

	if (has_number)
		n = snprintf(s->path, sizeof(s->path), "%s%0*u", s->base,
		    s->count == 0 ? 0 : digits_of(s->count - 1), s->number);
	else
		n = snprintf(s->path, sizeof(s->path), "%s", s->base);
	return n < (int)sizeof(s->path) ? OK : E_REFUSED;
}

static uint64_t
whole_seconds(uint64_t ns)
{
	return ns / NS_PER_S * NS_PER_S;
}

/* The file that begins with the second of NS. */
static enum status
begin_at(struct file_series *s, uint64_t ns)
{
	const time_t seconds = (time_t)(ns / NS_PER_S);
	struct tm tm;

	s->number = 0;
	rotation_begin(&s->rotation, whole_seconds(ns));
	if (s->rotation.max_ns == 0)
		snprintf(s->base, sizeof(s->base), "%s", s->name);
	else if (localtime_r(&seconds, &tm) == NULL ||
		 strftime(s->base, sizeof(s->base), s->name, &tm) == 0)
		return E_REFUSED;
	s->n_by_time++;
	return set_path(s);
}

enum status
file_series_begin(struct file_series *s, uint64_t ns)
{
	s->first_ns = ns;
	s->n_by_time = 0;
	return begin_at(s, ns);
}

static uint64_t
time_of(const struct file_series *s, uint64_t ns)
{
	return ns > s->first_ns ? ns : s->first_ns;
}

bool
file_series_is_due(const struct file_series *s, uint64_t ns)
{
	return rotation_is_full(&s->rotation, 0) ||
	       rotation_is_over(&s->rotation, time_of(s, ns));
}

enum status
file_series_next(struct file_series *s, uint64_t ns)
{
	const uint64_t at = time_of(s, ns);

	if (rotation_is_over(&s->rotation, at)) {
		if (s->rotation.max_bytes == 0 && s->count != 0 &&
		    s->n_by_time == s->count)
			return E_STOPPED;
		return begin_at(s, at);
	}
	s->number++;
	if (s->count != 0)
		s->number %= s->count;
	s->rotation.bytes = 0;
	return set_path(s);
}
