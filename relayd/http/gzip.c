/* SPDX-License-Identifier: MIT */
#include "relayd/http/gzip.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/reader.h"

/* The fastest: other levels save little of JSON, metrics and traces, and take
 * this thread twice as long. */
#define LEVEL 1

static struct span
trimmed(struct span s)
{
	while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = (struct span){ s.p + 1, s.n - 1 };
	while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

static bool
is_word(struct span s, const char *word)
{
	return s.n == strlen(word) && strncasecmp(s.p, word, s.n) == 0;
}

/* What stands before the first C of *REST, which is cut off with it. */
static struct span
cut(struct span *rest, char c)
{
	const char *end = rest->n == 0 ? NULL : memchr(rest->p, c, rest->n);
	struct span first = { rest->p,
		end == NULL ? rest->n : (size_t)(end - rest->p) };
	const size_t used = end == NULL ? first.n : first.n + 1;

	*rest = (struct span){ rest->p + used, rest->n - used };
	return trimmed(first);
}

/* Is it ";q=0", "; q=0.000"? */
static bool
is_weight_zero(struct span weight)
{
	struct span name = cut(&weight, '=');

	weight = trimmed(weight);
	if (!is_word(name, "q") || weight.n == 0)
		return false;
	for (size_t i = 0; i < weight.n; i++)
		if (weight.p[i] != '0' && weight.p[i] != '.')
			return false;
	return true;
}

bool
gzip_is_accepted(const char *accept)
{
	struct span rest = { accept, accept == NULL ? 0 : strlen(accept) };
	bool others = false;

	while (rest.n > 0) {
		struct span weight = cut(&rest, ',');
		struct span coding = cut(&weight, ';');

		if (is_word(coding, "gzip") || is_word(coding, "x-gzip"))
			return !is_weight_zero(weight);
		if (is_word(coding, "*"))
			others = !is_weight_zero(weight);
	}
	return others;
}

void
gzip_add(struct buf *b, const void *p, size_t n)
{
	struct libdeflate_compressor *z = libdeflate_alloc_compressor(LEVEL);
	size_t most;
	uint8_t *to;

	if (z == NULL) {
		b->bad = true;
		return;
	}
	most = libdeflate_gzip_compress_bound(z, n);
	to = buf_reserve(b, most);
	if (to != NULL)
		buf_added(b, libdeflate_gzip_compress(z, p, n, to, most));
	libdeflate_free_compressor(z);
}
