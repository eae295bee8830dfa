/* SPDX-License-Identifier: MIT */
#include "ctf/beacons.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/buf.h"

#define FIRST_LINE "tracepulse beacons 1\n"

void
beacons_begin(struct buf *out)
{
	buf_bytes(out, FIRST_LINE, strlen(FIRST_LINE));
}

void
beacons_add(struct buf *out, const struct beacon *b)
{
	char numbers[3 * (20 + 1) + 1];
	const int n = snprintf(numbers, sizeof(numbers),
	    "%" PRIu64 " %" PRIu64 " %" PRIu64 " ", b->cycles, b->ctf_stream,
	    b->ctf_instance);

	buf_bytes(out, numbers, (size_t)n);
	buf_bytes(out, b->path.p, b->path.n);
	buf_bytes(out, "\n", 1);
}

static void
take(struct span *s, size_t n)
{
	s->p += n;
	s->n -= n;
}

enum status
beacons_read(struct span *text)
{
	const size_t n = strlen(FIRST_LINE);

	if (text->n < n || memcmp(text->p, FIRST_LINE, n) != 0)
		return E_MALFORMED;
	take(text, n);
	return OK;
}

/* Digits and a space. */
static bool
take_number(struct span *s, uint64_t *out)
{
	size_t n = 0;

	*out = 0;
	for (; n < s->n && s->p[n] >= '0' && s->p[n] <= '9'; n++)
		if (__builtin_mul_overflow(*out, 10, out) ||
		    __builtin_add_overflow(*out, s->p[n] - '0', out))
			return false;
	if (n == 0 || n == s->n || s->p[n] != ' ')
		return false;
	take(s, n + 1);
	return true;
}

enum status
beacons_next(struct span *text, struct beacon *out)
{
	struct span line = *text;
	const char *end;

	if (text->n == 0)
		return E_NOENT;
	end = memchr(text->p, '\n', text->n);
	if (end == NULL)
		return E_MALFORMED;
	line.n = (size_t)(end - line.p);
	take(text, line.n + 1);
	if (!take_number(&line, &out->cycles) ||
	    !take_number(&line, &out->ctf_stream) ||
	    !take_number(&line, &out->ctf_instance))
		return E_MALFORMED;
	out->path = line;
	return OK;
}
