/* SPDX-License-Identifier: MIT */
#include "common/relpath.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Make a relpath of A and B, one after the other. */
static enum status
join(struct relpath **out, struct span a, struct span b)
{
	struct relpath *p = malloc(sizeof(*p) + a.n + b.n + 1);

	*out = p;
	if (p == NULL)
		return E_NOMEM;
	p->len = (uint32_t)(a.n + b.n);
	p->refs = 1;
	memcpy(p->s, a.p, a.n);
	memcpy(p->s + a.n, b.p, b.n);
	p->s[p->len] = '\0';
	return OK;
}

static struct span
span_of(const char *s)
{
	return (struct span){ s, strlen(s) };
}

static bool
is_dots(struct span c, size_t n)
{
	return c.n == n && memcmp(c.p, "..", n) == 0;
}

/*
 * The length of the character at S, of which N bytes are there; 0 when it is
 * not allowed. A character that is cut short is allowed: paths have names of
 * processes in them, and kernels cut these after 15 bytes.
 */
static size_t
char_len(const unsigned char *s, size_t n)
{
	uint32_t code = s[0], least, first, last;
	size_t k, len;

	if (code < 0x80)
		return code >= 0x20 && code != 0x7f && code != '/';
	if (code < 0xc2 || code > 0xf4)
		return 0;
	len = code < 0xe0 ? 2 : code < 0xf0 ? 3 : 4;
	/* U+0080 to U+009F are control characters. */
	least = len == 2 ? 0xa0 : len == 3 ? 0x800 : 0x10000;
	code &= 0x7fu >> len;
	for (k = 1; k < len && k < n && (s[k] & 0xc0) == 0x80; k++)
		code = code << 6 | (s[k] & 0x3fu);
	/* If the character was cut, it was one from FIRST to LAST. */
	first = code << 6 * (len - k);
	last = first | ((1u << 6 * (len - k)) - 1);
	if (last < least || first > 0x10ffff ||
	    (first >= 0xd800 && last <= 0xdfff))
		return 0;
	return k;
}

static bool
component_ok(struct span c)
{
	const unsigned char *s = (const unsigned char *)c.p;

	if (c.n == 0 || c.n > NAME_MAX || is_dots(c, 1) || is_dots(c, 2))
		return false;
	for (size_t i = 0, len; i < c.n; i += len) {
		len = char_len(s + i, c.n - i);
		if (len == 0)
			return false;
	}
	return true;
}

/* The text before the next slash. S then begins after that slash. */
static struct span
next_component(struct span *s)
{
	const char *slash = memchr(s->p, '/', s->n);
	struct span c = { s->p, slash == NULL ? s->n : (size_t)(slash - s->p) };
	const size_t taken = slash == NULL ? s->n : c.n + 1;

	s->p += taken;
	s->n -= taken;
	return c;
}

/* Remove from P, in its place, what a relpath has not. Returns false if a
 * component is not allowed, there is none, or P is too long. */
static bool
clean(struct relpath *p)
{
	struct span s = { p->s, p->len };

	p->len = 0;
	while (s.n > 0) {
		struct span c = next_component(&s);

		if (c.n == 0 || is_dots(c, 1))
			continue;
		if (!component_ok(c))
			return false;
		if (p->len > 0)
			p->s[p->len++] = '/';
		memmove(p->s + p->len, c.p, c.n);
		p->len += (uint32_t)c.n;
	}
	p->s[p->len] = '\0';
	return p->len > 0 && p->len < RELPATH_MAX;
}

enum status
relpath_parse(struct relpath **out, struct span s)
{
	*out = NULL;
	if (s.n > 0 && s.p[0] == '/') {
		s.p++;
		s.n--;
	}
	if (s.n == 0 || s.p[0] == '/')
		return E_MALFORMED;
	if (join(out, s, span_of("")) != OK)
		return E_NOMEM;
	if (clean(*out))
		return OK;
	relpath_free(*out);
	*out = NULL;
	return E_MALFORMED;
}

enum status
relname_parse(struct relpath **out, struct span s)
{
	*out = NULL;
	return component_ok(s) ? join(out, s, span_of("")) : E_MALFORMED;
}

enum status
relpath_join(
    struct relpath **out, const struct relpath *a, const struct relpath *b)
{
	enum status st;

	if (a == NULL || b == NULL)
		return relpath_dup(out, a == NULL ? b : a);
	*out = NULL;
	if (a->len + 1 + b->len >= RELPATH_MAX)
		return E_LIMIT;
	/* The NUL of A becomes the slash. */
	st = join(out, (struct span){ a->s, a->len + 1 },
	    (struct span){ b->s, b->len });
	if (st == OK)
		(*out)->s[a->len] = '/';
	return st;
}

enum status
relpath_suffix(
    struct relpath **out, const struct relpath *p, const char *suffix)
{
	const char *slash = strrchr(p->s, '/');
	const size_t n = strlen(suffix);
	const size_t last = slash == NULL ? p->len : strlen(slash + 1);

	*out = NULL;
	if (last + n > NAME_MAX || p->len + n >= RELPATH_MAX)
		return E_LIMIT;
	return join(out, (struct span){ p->s, p->len }, span_of(suffix));
}

enum status
relpath_dup(struct relpath **out, const struct relpath *p)
{
	return join(out, (struct span){ p->s, p->len }, span_of(""));
}

enum status
relpath_top(struct relpath **out, const struct relpath *p)
{
	return join(
	    out, (struct span){ p->s, strcspn(p->s, "/") }, span_of(""));
}

struct relpath *
relpath_share(const struct relpath *p)
{
	struct relpath *shared = (struct relpath *)(uintptr_t)p;

	shared->refs++;
	return shared;
}

bool
relpath_equal(const struct relpath *a, const struct relpath *b)
{
	return a->len == b->len && memcmp(a->s, b->s, a->len) == 0;
}

uint64_t
relpath_memory(const struct relpath *p)
{
	return sizeof(*p) + p->len + 1;
}

void
relpath_free(struct relpath *p)
{
	if (p != NULL && --p->refs == 0)
		free(p);
}
