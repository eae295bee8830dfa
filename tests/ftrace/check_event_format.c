/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/compiler.h"
#include "tests/lib/unit.h"
#include "tools/ftrace/event_format.h"

static struct span
span(const char *s)
{
	return (struct span){ s, strlen(s) };
}

#define AT ";	offset:8;	size:"

/* What a line says, with a long of 8 bytes. */
static const struct {
	const char *line, *name;
	enum field_kind kind;
	uint32_t size, count;
	unsigned element;
	const char *flags; /* s: signed; x: an address; r: relative */
} lines[] = {
	{ "int pid" AT "4;	signed:1;", "pid", FIELD_INTEGER, 4, 0, 4,
	    "s" },
	{ "char comm[16]" AT "16;	signed:0;", "comm", FIELD_TEXT, 16, 0,
	    1, "" },
	{ "const char comm[TASK_COMM_LEN]" AT "16;	signed:0;", "comm",
	    FIELD_TEXT, 16, 0, 1, "" },
	{ "unsigned char mac[6]" AT "6;	signed:0;", "mac", FIELD_ARRAY, 6, 6, 1,
	    "" },
	{ "unsigned long caller[8]" AT "64;	signed:0;", "caller",
	    FIELD_ARRAY, 64, 8, 8, "x" },
	{ "long long times[2]" AT "16;	signed:1;", "times", FIELD_ARRAY, 16, 2,
	    8, "s" },
	{ "u8 grid[2][3]" AT "6;	signed:0;", "grid", FIELD_ARRAY, 6, 6,
	    1, "" },
	{ "enum odd x[4]" AT "16;	signed:0;", "x", FIELD_ARRAY, 16, 4, 4,
	    "" },
	{ "struct in6_addr x[2]" AT "32;	signed:0;", "x", FIELD_BYTES,
	    32, 32, 1, "" },
	{ "const char * fmt" AT "8;	signed:0;", "fmt", FIELD_INTEGER, 8, 0,
	    8, "x" },
	{ "void *work" AT "8;	signed:0;", "work", FIELD_INTEGER, 8, 0, 8,
	    "x" },
	{ "unsigned long parent_ip" AT "8;	signed:0;", "parent_ip",
	    FIELD_INTEGER, 8, 0, 8, "x" },
	{ "unsigned long nr" AT "8;	signed:0;", "nr", FIELD_INTEGER, 8, 0,
	    8, "" },
	{ "long prev_state" AT "8;	signed:1;", "prev_state", FIELD_INTEGER,
	    8, 0, 8, "s" },
	{ "struct sockaddr a" AT "16;	signed:0;", "a", FIELD_BYTES, 16, 16, 1,
	    "" },
	{ "u24 odd" AT "3;	signed:0;", "odd", FIELD_BYTES, 3, 3, 1, "" },
	{ "char buf[]" AT "0;	signed:0;", "buf", FIELD_REST_TEXT, 0, 0, 1,
	    "" },
	{ "unsigned long args[]" AT "0;	signed:0;", "args", FIELD_REST_ARRAY, 0,
	    0, 8, "" },
	{ "u32 buf[]" AT "0;	signed:0;", "buf", FIELD_REST_ARRAY, 0, 0, 4,
	    "" },
	{ "__data_loc char[] name" AT "4;	signed:1;", "name",
	    FIELD_DYNAMIC_TEXT, 4, 0, 1, "s" },
	{ "__rel_loc char[] name" AT "4;	signed:0;", "name",
	    FIELD_DYNAMIC_TEXT, 4, 0, 1, "r" },
	{ "__data_loc unsigned long[] mask" AT "4;	signed:0;", "mask",
	    FIELD_DYNAMIC_ARRAY, 4, 0, 8, "" },
	{ "__data_loc u16[] x" AT "4;	signed:0;", "x", FIELD_DYNAMIC_ARRAY, 4,
	    0, 2, "" },
	{ "__data_loc cpumask_t[] cpus" AT "4;	signed:0;", "cpus",
	    FIELD_DYNAMIC_ARRAY, 4, 0, 8, "" },
	{ "int 3com" AT "4;	signed:0;", "_3com", FIELD_INTEGER, 4, 0, 4,
	    "" },
	{ "int " AT "4;	signed:0;", "int", FIELD_INTEGER, 4, 0, 4, "" },
	{ "" AT "4;	signed:0;", "_", FIELD_INTEGER, 4, 0, 4, "" },
	{ "int old" AT "4;", "old", FIELD_INTEGER, 4, 0, 4, "" },
};

static bool
has(int i, char flag)
{
	return strchr(lines[i].flags, flag) != NULL;
}

TEST_ROWS(a_line_says_what_a_field_is, ARRAY_LEN(lines))
{
	struct event_field f;
	char line[256];

	(void)snprintf(line, sizeof(line), "	field:%s", lines[_i].line);
	ck_assert_int_eq(event_field_parse(&f, span(line), 8), OK);
	ck_assert_str_eq(f.name, lines[_i].name);
	ck_assert_int_eq(f.kind, lines[_i].kind);
	ck_assert_uint_eq(f.offset, 8);
	ck_assert_uint_eq(f.size, lines[_i].size);
	if (f.kind == FIELD_ARRAY || f.kind == FIELD_BYTES)
		ck_assert_uint_eq(f.count, lines[_i].count);
	ck_assert_uint_eq(f.element, lines[_i].element);
	ck_assert(f.is_signed == has(_i, 's'));
	ck_assert(f.is_address == has(_i, 'x'));
	ck_assert(f.is_relative == has(_i, 'r'));
}

static const char *const no_fields[] = {
	"",
	"field:",
	"field:int x",
	"field:int x;",
	"field:int x;	offset:8;",
	"field:int x;	offset:;	size:4;",
	"field:int x;	offset:8;	size:4",
	"field:int x;	offset:-8;	size:4;",
	"field:int x;	offset:65536;	size:4;",
	"field:int x;	offset:0;	size:65536;",
	"field:int x;	offset:4294967296;	size:4;",
	"field:__data_loc char[] x;	offset:8;	size:8;",
	"print fmt: \"field:int x;	offset:8;	size:4;",
};

TEST_ROWS(other_lines_are_refused, ARRAY_LEN(no_fields))
{
	struct event_field f;

	ck_assert_int_eq(
	    event_field_parse(&f, span(no_fields[_i]), 8), E_MALFORMED);
}

#define COMMON                                          \
	"	field:unsigned short common_type;	offset:0;	" \
	"size:2;	"                                      \
	"signed:0;\n"                                   \
	"	field:int common_pid;	offset:4;	size:4;	signed:1;\n"

TEST(an_event_has_the_fields_of_its_text)
{
	const char *text =
	    "name: sched_switch\nID: 42\nformat:\n" COMMON "\n"
	    "	field:int x;	offset:8;	size:4;	signed:1;\n"
	    "	field:char y[8];	offset:12;	size:8;	signed:0;\n"
	    "\nprint fmt: \"x\nfield:int no;	offset:20;	size:4;";
	struct event_format *f;

	ck_assert_int_eq(
	    event_format_parse(&f, span("sched"), span(text), 8), OK);
	ck_assert_str_eq(f->system, "sched");
	ck_assert_str_eq(f->name, "sched_switch");
	ck_assert_uint_eq(f->id, 42);
	ck_assert_uint_eq(f->n_common, 2);
	ck_assert_uint_eq(f->n_fields, 4);
	ck_assert_uint_eq(f->fixed_size, 20);
	ck_assert_ptr_eq(event_format_field(f, "y"), &f->fields[3]);
	ck_assert_ptr_null(event_format_field(f, "no"));
	event_format_free(f);
}

static const struct {
	const char *system, *text;
} no_events[] = {
	{ "a", "" },
	{ "a", "name: x\n" },
	{ "a", "ID: 1\n" },
	{ "a", "name: x\nID: 65536\n" },
	{ "a", "name: x\nID: 1x\n" },
	{ "a", "name: \nID: 1\n" },
	{ "a", "name: x y\nID: 1\n" },
	{ "a", "name: \x1b[2J\nID: 1\n" },
	{ "", "name: x\nID: 1\n" },
	{ "a\n", "name: x\nID: 1\n" },
	{ "a", "name: x\nID: 1\n	field:int x;	offset:8;\n" },
};

TEST_ROWS(other_texts_are_refused, ARRAY_LEN(no_events))
{
	struct event_format *f;

	ck_assert_int_eq(event_format_parse(&f, span(no_events[_i].system),
			     span(no_events[_i].text), 8),
	    E_MALFORMED);
	ck_assert_ptr_null(f);
}

TEST_ROWS(fields_without_end_are_refused, 2)
{
	static const char line[] = "field:u8 x;	offset:8;	size:1;\n";
	char *text = malloc(64 + (EVENT_FIELDS_MAX + 1) * sizeof(line)),
	     *at = text;
	struct event_format *f;

	ck_assert_ptr_nonnull(text);
	at += sprintf(at, "name: x\nID: 1\n");
	for (int i = 0; i < EVENT_FIELDS_MAX + _i; i++)
		at += sprintf(at, line);
	ck_assert_int_eq(event_format_parse(&f, span("a"), span(text), 8),
	    _i == 0 ? OK : E_LIMIT);
	event_format_free(f);
	free(text);
}

/* Metadata may be one line of 64 MiB; or as many lines as it likes. */
static const struct {
	size_t words, lines;
} long_types[] = { { 16 << 20, 1 }, { 8 << 10, 2 << 10 } };

TEST_ROWS(words_without_end_cost_little, ARRAY_LEN(long_types))
{
	static const char end[] = "zz x[4]" AT "8;	signed:0;";
	const size_t words = long_types[_i].words;
	char *line = malloc(sizeof("field:") + 3 * words + sizeof(end)),
	     *at = stpcpy(line, "field:");
	const clock_t began = clock();
	struct event_field f;

	for (size_t i = 0; i < words; i++)
		at = stpcpy(at, "zz ");
	(void)stpcpy(at, end);
	for (size_t i = 0; i < long_types[_i].lines; i++)
		ck_assert_int_eq(event_field_parse(&f, span(line), 8), OK);
	ck_assert_uint_eq(f.count, 4);
	ck_assert_uint_eq(f.element, 2);
	ck_assert_int_lt(clock() - began, 5 * CLOCKS_PER_SEC);
	free(line);
}

static const char labels[] =
    "name: x\nID: 1\n\tfield:int a" AT "4;	signed:1;\n"
    "\tfield:int b" AT "4;	signed:1;\n\n"
    "print fmt: \"%s\", __print_flags(REC->a, \"|\", { (1u << 4), "
    "\"A\" \"B\" }, {-0x7fUL, \"C)\"} ), __print_symbolic(REC->b, {3,\"D\"})";

TEST(values_have_the_names_of_the_print_format)
{
	struct event_format *f;
	const struct event_labels *l;

	ck_assert_int_eq(
	    event_format_parse(&f, span("s"), span(labels), 8), OK);
	l = &f->fields[0].labels;
	ck_assert_uint_eq(l->n, 2);
	ck_assert_int_eq(l->all[0].value, 16);
	ck_assert_str_eq(l->names + l->all[0].name, "AB");
	ck_assert_int_eq(l->all[1].value, -0x7f);
	ck_assert_str_eq(l->names + l->all[1].name, "C)");
	l = &f->fields[1].labels;
	ck_assert_uint_eq(l->n, 1);
	ck_assert_str_eq(l->names + l->all[0].name, "D");
	event_format_free(f);
}

TEST(a_print_format_may_end_anywhere_and_have_any_letter)
{
	static const char letters[] = "(){}\",<-0 \\\n";

	for (size_t n = 0; n < sizeof(labels) - 1; n++)
		for (size_t k = 0; k < sizeof(letters); k++) {
			char *copy = malloc(n + 1);
			struct event_format *f;

			ck_assert_ptr_nonnull(copy);
			memcpy(copy, labels, n);
			copy[n] = letters[k];
			if (event_format_parse(&f, span("s"),
				(struct span){ copy, n + 1 }, 8) == OK)
				event_format_free(f);
			free(copy);
		}
	for (size_t n = 0; n < sizeof(labels) - 1; n++)
		for (size_t k = 0; k < sizeof(letters) - 1; k++) {
			char *copy = strdup(labels);
			struct event_format *f;

			ck_assert_ptr_nonnull(copy);
			copy[n] = letters[k];
			if (event_format_parse(&f, span("s"), span(copy), 8) ==
			    OK)
				event_format_free(f);
			free(copy);
		}
}
