/* SPDX-License-Identifier: MIT */
/* Text, numbers and tables for people. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "common/compiler.h"
#include "tests/lib/unit.h"
#include "tools/ctl/text_table.h"
#include "tools/ctl/text.h"

static const struct {
	const char *raw, *shown;
	unsigned width;
} escapes[] = {
	{ "plain", "plain", 5 },
	{ "", "", 0 },
	{ "\033[31mred", "\\x1b[31mred", 11 },
	{ "a\nb\tc\rd", "a\\x0ab\\x09c\\x0dd", 16 },
	{ "\x7f", "\\x7f", 4 },
	{ "\xc2\x9b"
	  "31m",
	    "\\u009b31m", 9 }, /* CSI in one character */
	{ "\xe2\x80\xae"
	  "x",
	    "\\u202ex", 7 },			   /* turns the direction */
	{ "\xe2\x80\xa8", "\\u2028", 6 },	   /* a line ends */
	{ "\xf3\xa0\x81\x81", "\\U000e0041", 10 }, /* a tag, unseen */
	{ "\xe3\x85\xa4", "\\u3164", 6 },	   /* a blank letter */
	{ "\xc3\xa9", "\xc3\xa9", 1 },
	{ "\xe6\xbc\xa2", "\xe6\xbc\xa2", 2 }, /* wide */
	{ "e\xcc\x81", "e\xcc\x81", 1 },       /* an accent of its own */
	{ "\xff\xc3", "\\xff\\xc3", 8 },
	{ "\xc0\xaf", "\\xc0\\xaf", 8 },	   /* too long a shape of / */
	{ "\xed\xa0\x80", "\\xed\\xa0\\x80", 12 }, /* half of a pair */
	{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", 16 },
};

TEST(one_is_singular)
{
	char text[TEXT_UNIT_MAX];

	ck_assert_str_eq(text_count(text, 0, "packet"), "0 packets");
	ck_assert_str_eq(text_count(text, 1, "packet"), "1 packet");
	ck_assert_str_eq(text_count(text, 2, "session"), "2 sessions");
	ck_assert_str_eq(text_count(text, UINT64_MAX, "directive"),
	    "18446744073709551615 directives");
}

TEST_ROWS(what_controls_a_terminal_is_escaped, ARRAY_LEN(escapes))
{
	char out[64], *own;

	text_escape(out, sizeof(out), escapes[_i].raw);
	ck_assert_str_eq(out, escapes[_i].shown);
	ck_assert_uint_eq(text_width(out), escapes[_i].width);
	own = text_escaped(escapes[_i].raw);
	ck_assert_str_eq(own, escapes[_i].shown);
	free(own);
}

TEST(escapes_are_cut_between_characters)
{
	const char *text = "ab\033\xe6\xbc\xa2";
	char out[16];

	for (size_t n = 1; n < sizeof(out); n++) {
		memset(out, 'X', sizeof(out));
		text_escape(out, n, text);
		ck_assert_uint_lt(strlen(out), n);
		ck_assert(
		    strncmp(out, "ab\\x1b\xe6\xbc\xa2", strlen(out)) == 0);
		ck_assert(
		    strlen(out) <= 2 || strlen(out) == 6 || strlen(out) == 9);
	}
	ck_assert_uint_eq(text_fit("ab\xe6\xbc\xa2", 3), 2);
	ck_assert_uint_eq(text_fit("ab\xe6\xbc\xa2", 4), 5);
}

TEST(in_another_locale_nothing_but_ascii_is_shown)
{
	char out[32];

	setlocale(LC_CTYPE, "C");
	text_escape(out, sizeof(out), "\xc3\xa9x");
	setlocale(LC_CTYPE, "C.UTF-8");
	ck_assert_str_eq(out, "\\u00e9x");
}

TEST(numbers_have_three_figures_and_a_unit)
{
	static const struct {
		uint64_t n;
		const char *text;
	} rows[] = { { 0, "0 B" }, { 1023, "1023 B" }, { 1024, "1.0 KiB" },
		{ 102297, "99.9 KiB" }, { 102400, "100 KiB" },
		{ 1048064, "1.0 MiB" }, { 1572864, "1.5 MiB" },
		{ UINT64_MAX, "16.0 EiB" } };
	char text[TEXT_UNIT_MAX];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_str_eq(text_bytes(text, rows[i].n), rows[i].text);
	ck_assert_str_eq(text_rate(text, -5), "0 B/s");
	ck_assert_str_eq(text_rate(text, 0.0 / 0.0), "0 B/s");
	ck_assert_str_eq(text_rate(text, 2048.4), "2.0 KiB/s");
	ck_assert_str_eq(text_rate(text, 1e300), "888 PiB/s");
	ck_assert_str_eq(text_per_second(text, -1), "0");
	ck_assert_str_eq(text_per_second(text, 0.0 / 0.0), "0");
	ck_assert_str_eq(text_per_second(text, 0.001), "0.1");
	ck_assert_str_eq(text_per_second(text, 1.8), "1.8");
	ck_assert_str_eq(text_per_second(text, 9.96), "10");
	ck_assert_str_eq(text_per_second(text, 25.4), "25");
}

TEST(times_are_told_in_two_units)
{
	char text[TEXT_UNIT_MAX];

	ck_assert_str_eq(text_duration(text, 0), "0s");
	ck_assert_str_eq(text_duration(text, 59.9), "59s");
	ck_assert_str_eq(text_duration(text, 60), "1m 00s");
	ck_assert_str_eq(text_duration(text, 3599), "59m 59s");
	ck_assert_str_eq(text_duration(text, 7505), "2h 05m");
	ck_assert_str_eq(text_duration(text, 93600), "1d 02h");
	ck_assert_str_eq(text_duration(text, -1), "0s");
	ck_assert_str_eq(text_duration(text, 1e300), "11574074074d 01h");
	ck_assert_str_eq(text_time(text, 0), "-");
	ck_assert_str_eq(text_time(text, UINT64_MAX), "-");
	setenv("TZ", "UTC", 1);
	ck_assert_str_eq(text_time(text, 86399), "1970-01-01 23:59:59");
}

static const struct column columns[] = {
	{ "NUMBER", COLUMN_NUMBER, 2, NULL, NULL },
	{ "NAME", COLUMN_TEXT, 0, NULL, NULL },
	{ "STATE", COLUMN_WORD, 1, NULL, NULL },
	{ "LOST", COLUMN_NUMBER, 0, NULL, NULL },
};

/* A table of two rows in so many columns of a terminal. */
static char *
drawn(unsigned width, bool has_colours)
{
	char *text = NULL;
	size_t n = 0;
	struct terminal to = { .out = open_memstream(&text, &n),
		.columns = width,
		.has_colours = has_colours };
	struct text_table t;

	text_table_begin(&t, columns, ARRAY_LEN(columns));
	text_table_addf(&t, TONE_PLAIN, "%d", 7);
	text_table_add(&t, TONE_PLAIN, "a-name-of-18-bytes");
	text_table_add(&t, TONE_PLAIN, "on");
	text_table_add(&t, TONE_BAD, "12");
	text_table_addf(&t, TONE_PLAIN, "%d", 123);
	text_table_add(&t, TONE_PLAIN, "\xe6\xbc\xa2\n");
	text_table_add(&t, TONE_PLAIN, "off");
	text_table_add(&t, TONE_PLAIN, "0");
	ck_assert_uint_eq(text_table_rows(&t), 2);
	text_table_print(&t, &to, 0, SIZE_MAX);
	text_table_free(&t);
	fclose(to.out);
	return text;
}

static const struct {
	unsigned width;
	const char *text;
} tables[] = {
	{ 0, "NUMBER  NAME                STATE  LOST\n"
	     "     7  a-name-of-18-bytes  on       12\n"
	     "   123  \xe6\xbc\xa2\\x0a              off       0\n" },
	{ 39, "NUMBER  NAME                STATE  LOST\n"
	      "     7  a-name-of-18-bytes  on       12\n"
	      "   123  \xe6\xbc\xa2\\x0a              off       0\n" },
	/* The text is cut first, */
	{ 33, "NUMBER  NAME          STATE  LOST\n"
	      "     7  a-name-of-1~  on       12\n"
	      "   123  \xe6\xbc\xa2\\x0a        off       0\n" },
	/* then the number is left out, and the text has room again, */
	{ 30, "NAME               STATE  LOST\n"
	      "a-name-of-18-byt~  on       12\n"
	      "\xe6\xbc\xa2\\x0a             off       0\n" },
	/* at last only what must be there is. */
	{ 8, "NAME        LOST\n"
	     "a-name-of~    12\n"
	     "\xe6\xbc\xa2\\x0a         0\n" },
};

TEST_ROWS(a_table_fits_the_terminal, ARRAY_LEN(tables))
{
	char *text = drawn(tables[_i].width, false);

	ck_assert_str_eq(text, tables[_i].text);
	free(text);
}

TEST(colours_take_no_room)
{
	char *text = drawn(39, true);

	ck_assert_str_eq(text,
	    "\033[1mNUMBER\033[0m  \033[1mNAME\033[0m                "
	    "\033[1mSTATE\033[0m  \033[1mLOST\033[0m\n"
	    "     7  a-name-of-18-bytes  on       \033[1;31m12\033[0m\n"
	    "   123  \xe6\xbc\xa2\\x0a              off       0\n");
	free(text);
}

int
main(void)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	return unit_run();
}
