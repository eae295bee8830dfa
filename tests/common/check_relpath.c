/* SPDX-License-Identifier: MIT */
#include "common/relpath.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/bytes.h"
#include "tests/lib/fault.h"
#include "tests/lib/unit.h"

#define N55 "5555555555555555555555555555555555555555555555555555555"
#define N50 "55555555555555555555555555555555555555555555555555"
#define N255 N55 N50 N50 N50 N50

/* Parse TEXT as it lies in memory of exactly N bytes. */
static enum status
parse(struct relpath **out, const char *text, size_t n, bool name)
{
	struct bytes b = bytes_copy(text, n);
	struct span s = { (const char *)b.p, b.n };
	enum status st = name ? relname_parse(out, s) : relpath_parse(out, s);

	free(b.p);
	return st;
}

#define TEXT(s) s, sizeof(s) - 1

static const struct {
	const char *text;
	size_t n;
	const char *path; /* NULL: refused */
} cases[] = {
	{ TEXT("a"), "a" },
	{ TEXT("a/b/c"), "a/b/c" },
	{ TEXT("ust/uid/1002/64-bit"), "ust/uid/1002/64-bit" },
	{ TEXT("/a/b"), "a/b" },
	{ TEXT("a//b///c"), "a/b/c" },
	{ TEXT("host//session-date/ust/"), "host/session-date/ust" },
	{ TEXT("a/"), "a" },
	{ TEXT("a//"), "a" },
	{ TEXT("./a"), "a" },
	{ TEXT("/./a/././b/."), "a/b" },
	{ TEXT(".a"), ".a" },
	{ TEXT("..a/b..c/..."), "..a/b..c/..." },
	{ TEXT("caf\xc3\xa9/\xc2\xa0"), "caf\xc3\xa9/\xc2\xa0" },
	{ TEXT("\xe2\x82\xac/\xef\xbf\xbf"), "\xe2\x82\xac/\xef\xbf\xbf" },
	{ TEXT("\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf"),
	    "\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf" },
	{ TEXT("\xed\x9f\xbf\xee\x80\x80"), "\xed\x9f\xbf\xee\x80\x80" },
	/* cut short, as names of processes are */
	{ TEXT("\xe6\x97\xa5\xe6\x97-7"), "\xe6\x97\xa5\xe6\x97-7" },
	{ TEXT("caf\xc3"), "caf\xc3" },
	{ TEXT("\xf0/\xf0\x9f\x98/a"), "\xf0/\xf0\x9f\x98/a" },
	/* writing direction is no control character */
	{ TEXT("a\xe2\x80\xae"), "a\xe2\x80\xae" },
	{ TEXT("\xff"), NULL },
	{ TEXT("a\x80"), NULL },
	{ TEXT("a\xc2\x80"), NULL },
	{ TEXT("a/\xc2\x9b"
	       "2J"),
	    NULL },
	{ TEXT("\xc2\x9f"), NULL },
	{ TEXT("\xc0\xaf"), NULL },
	{ TEXT("\xc1\xbf"), NULL },
	{ TEXT("\xe0\x80\xaf"), NULL },
	{ TEXT("\xe0\x9f"), NULL },
	{ TEXT("\xed\xa0\x80"), NULL },
	{ TEXT("\xed\xbf"), NULL },
	{ TEXT("\xf0\x8f\xbf\xbf"), NULL },
	{ TEXT("\xf4\x90\x80\x80"), NULL },
	{ TEXT("\xf5\x80\x80\x80"), NULL },
	{ TEXT("\xc3\xa9\xa9"), NULL },
	{ TEXT(N255), N255 },
	{ TEXT("a/" N255 "/b"), "a/" N255 "/b" },
	{ TEXT(""), NULL },
	{ TEXT("/"), NULL },
	{ TEXT("//"), NULL },
	{ TEXT("//a"), NULL },
	{ TEXT("///a"), NULL },
	{ TEXT("."), NULL },
	{ TEXT("./"), NULL },
	{ TEXT(".."), NULL },
	{ TEXT("../"), NULL },
	{ TEXT("../a"), NULL },
	{ TEXT("/../a"), NULL },
	{ TEXT("a/.."), NULL },
	{ TEXT("a/../b"), NULL },
	{ TEXT("a/b/../../.."), NULL },
	{ TEXT("./.."), NULL },
	{ TEXT(N255 "5"), NULL },
	{ TEXT("a/" N255 "5/b"), NULL },
	{ TEXT("a\nb"), NULL },
	{ TEXT("a/\x01"), NULL },
	{ TEXT("a/\x1f"), NULL },
	{ TEXT("a/\x7f"), NULL },
	{ TEXT("a\0b"), NULL },
	{ TEXT("a\0"), NULL },
};

TEST_ROWS(paths_are_made_safe_or_refused, ARRAY_LEN(cases))
{
	struct relpath *p = (struct relpath *)&p;
	const char *want = cases[_i].path;

	ck_assert_int_eq(parse(&p, cases[_i].text, cases[_i].n, false),
	    want == NULL ? E_MALFORMED : OK);
	if (want == NULL) {
		ck_assert_ptr_null(p);
		return;
	}
	ck_assert_str_eq(p->s, want);
	ck_assert_uint_eq(p->len, strlen(want));
	relpath_free(p);
}

TEST_ROWS(names_are_paths_of_one_component, ARRAY_LEN(cases))
{
	const char *text = cases[_i].text;
	/* a name is what the path rules leave as it was, without a slash */
	const bool is_name = cases[_i].path != NULL &&
			     strcmp(cases[_i].path, text) == 0 &&
			     strchr(text, '/') == NULL;
	struct relpath *p;

	ck_assert_int_eq(
	    parse(&p, text, cases[_i].n, true), is_name ? OK : E_MALFORMED);
	if (is_name)
		ck_assert_str_eq(p->s, text);
	else
		ck_assert_ptr_null(p);
	relpath_free(p);
}

/* LEN bytes of path: components of 99, the last one shorter or longer. */
static struct relpath *
long_path(size_t len, enum status want)
{
	struct relpath *p;
	char *text = malloc(len);

	ck_assert_ptr_nonnull(text);
	memset(text, 'x', len);
	for (size_t i = 99; i + 50 < len; i += 100)
		text[i] = '/';
	ck_assert_int_eq(parse(&p, text, len, false), want);
	free(text);
	return p;
}

TEST(a_path_is_shorter_than_its_limit)
{
	struct relpath *p = long_path(RELPATH_MAX - 1, OK);

	ck_assert_uint_eq(p->len, RELPATH_MAX - 1);
	relpath_free(p);
	ck_assert_ptr_null(long_path(RELPATH_MAX, E_MALFORMED));
}

TEST(join_puts_one_slash_between)
{
	struct relpath *a, *b, *j;

	ck_assert_int_eq(parse(&a, TEXT("a/b"), false), OK);
	ck_assert_int_eq(parse(&b, TEXT("c"), false), OK);
	ck_assert_int_eq(relpath_join(&j, a, b), OK);
	ck_assert_str_eq(j->s, "a/b/c");
	ck_assert_uint_eq(j->len, 5);
	relpath_free(j);
	ck_assert_int_eq(relpath_join(&j, NULL, b), OK);
	ck_assert(relpath_equal(j, b));
	ck_assert_ptr_ne(j, b);
	relpath_free(j);
	ck_assert_int_eq(relpath_join(&j, a, NULL), OK);
	ck_assert(relpath_equal(j, a));
	ck_assert(!relpath_equal(j, b));
	relpath_free(j);
	relpath_free(a);
	relpath_free(b);
}

TEST(join_keeps_the_limit)
{
	struct relpath *a = long_path(RELPATH_MAX - 3, OK), *b, *j;

	ck_assert_int_eq(parse(&b, TEXT("c"), false), OK);
	ck_assert_int_eq(relpath_join(&j, a, b), OK);
	ck_assert_uint_eq(j->len, RELPATH_MAX - 1);
	relpath_free(a);
	relpath_free(b);
	ck_assert_int_eq(parse(&b, TEXT("c"), false), OK);
	ck_assert_int_eq(relpath_join(&a, j, b), E_LIMIT);
	ck_assert_ptr_null(a);
	relpath_free(b);
	relpath_free(j);
}

static const struct {
	const char *path, *suffix, *want; /* NULL: over a limit */
} suffixes[] = {
	{ "a", "", "a" },
	{ "a/b", "-20261121", "a/b-20261121" },
	{ "a/" N50 N50 N50 N50 N50, "12345", "a/" N50 N50 N50 N50 N50 "12345" },
	{ "a/" N50 N50 N50 N50 N50, "123456", NULL },
	{ N255, "1", NULL },
	{ N255 "/a", "1", N255 "/a1" },
};

TEST_ROWS(suffix_keeps_names_within_their_limit, ARRAY_LEN(suffixes))
{
	const char *want = suffixes[_i].want;
	struct relpath *p, *s;

	ck_assert_int_eq(
	    parse(&p, suffixes[_i].path, strlen(suffixes[_i].path), false), OK);
	ck_assert_int_eq(relpath_suffix(&s, p, suffixes[_i].suffix),
	    want == NULL ? E_LIMIT : OK);
	if (want == NULL) {
		ck_assert_ptr_null(s);
	} else {
		ck_assert_str_eq(s->s, want);
		ck_assert_uint_eq(s->len, strlen(want));
	}
	relpath_free(s);
	relpath_free(p);
}

TEST(top_is_the_first_component)
{
	struct relpath *p, *top, *again;

	ck_assert_int_eq(parse(&p, TEXT("host/session/ust"), false), OK);
	ck_assert_int_eq(relpath_top(&top, p), OK);
	ck_assert_str_eq(top->s, "host");
	ck_assert_uint_eq(top->len, 4);
	ck_assert_int_eq(relpath_top(&again, top), OK);
	ck_assert(relpath_equal(top, again));
	relpath_free(again);
	relpath_free(top);
	relpath_free(p);
}

TEST(without_memory_nothing_comes_out)
{
	struct relpath *a, *out[6];
	enum status st[6];

	ck_assert_int_eq(parse(&a, TEXT("a/b"), false), OK);
	for (int i = 0; i < 6; i++) {
		struct span s = { "x", 1 };

		out[i] = a;
		fault_arm(1);
		st[i] = i == 0	 ? relpath_parse(&out[i], s)
			: i == 1 ? relname_parse(&out[i], s)
			: i == 2 ? relpath_join(&out[i], a, a)
			: i == 3 ? relpath_suffix(&out[i], a, "x")
			: i == 4 ? relpath_dup(&out[i], a)
				 : relpath_top(&out[i], a);
		(void)fault_disarm();
	}
	for (int i = 0; i < 6; i++) {
		ck_assert_int_eq(st[i], E_NOMEM);
		ck_assert_ptr_null(out[i]);
	}
	relpath_free(a);
}
