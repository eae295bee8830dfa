/* SPDX-License-Identifier: MIT */
/* Command lines of a program that does not exist: values, and what is wrong. */
#include "common/option.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/parse.h"
#include "tests/lib/unit.h"

#define WORDS 8

struct values {
	bool flag;
	const char *text;
	unsigned number;
	uint64_t count, size, time_ns;
	double decimal;
	enum { RED, GREEN, BLUE } choice;
	int tiny;
};

static enum status
take_tiny(const struct option_row *r, void *to, const char *arg)
{
	struct values *v = to;

	(void)r;
	if (parse_int(arg, -4, 4, &v->tiny) != OK)
		return E_MALFORMED;
	v->tiny *= 2;
	return OK;
}

#define OPTIONS_TABLE "tests/common/options.tbl.h"
#define OPTIONS_STRUCT struct values
#include "common/option_rows.h"

static const struct option_table table = {
	.program = "check_option", .rows = rows, .n = N_OPTIONS
};

/* Splits LINE at blanks, as a command line of the program. */
static int
split(char *line, char **argv)
{
	int argc = 1;

	argv[0] = "check_option";
	for (char *w = strtok(line, " "); w != NULL; w = strtok(NULL, " "))
		argv[argc++] = w;
	ck_assert_int_lt(argc, WORDS);
	argv[argc] = NULL;
	return argc;
}

static const struct {
	const char *line;
	struct values values;
	unsigned operands;
} good[] = {
	{ "", { .number = 5 }, 0 },
	{ "-f x -ty", { .flag = true, .text = "y", .number = 5 }, 1 },
	{ "--number=9 --count 0 a b", { .number = 9 }, 2 },
	{ "--dec 0.5 --size=3k", { .number = 5, .decimal = 0.5, .size = 3072 },
	    0 },
	{ "--time 20ms -- --flag", { .number = 5, .time_ns = 20 * NS_PER_MS },
	    1 },
	{ "-c blue --choice=green --tiny=-3",
	    { .number = 5, .choice = GREEN, .tiny = -6 }, 0 },
};

TEST_ROWS(values_go_where_the_table_says, ARRAY_LEN(good))
{
	const struct values *want = &good[_i].values;
	struct values v = { .number = 5 };
	char line[128], *argv[WORDS];
	struct option_words words;
	int argc;

	snprintf(line, sizeof(line), "%s", good[_i].line);
	argc = split(line, argv);
	ck_assert_int_eq(option_parse(&table, &v, argc, argv, &words), OK);
	ck_assert_int_eq(argc - words.first, good[_i].operands);
	ck_assert_int_eq(v.flag, want->flag);
	ck_assert_pstr_eq(v.text, want->text);
	ck_assert_uint_eq(v.number, want->number);
	ck_assert_uint_eq(v.count, want->count);
	ck_assert(v.decimal <= want->decimal && v.decimal >= want->decimal);
	ck_assert_uint_eq(v.size, want->size);
	ck_assert_uint_eq(v.time_ns, want->time_ns);
	ck_assert_int_eq(v.choice, want->choice);
	ck_assert_int_eq(v.tiny, want->tiny);
}

static const struct {
	const char *line, *why;
} bad[] = {
	{ "--flga", "unknown option \"--flga\" (did you mean \"--flag\"?)" },
	{ "--elephant=2", "unknown option \"--elephant\"; see --help" },
	{ "-x", "unknown option \"-x\"; see --help" },
	{ "--ti 1", "\"--ti\" is short for 2 options; see --help" },
	{ "--flag=2", "--flag takes no value" },
	{ "--text", "--text needs a value" },
	{ "-t", "-t needs a value" },
	{ "--number=10", "invalid value \"10\" for --number=N: 2 to 9 [5]" },
	{ "--count=-1", "invalid value \"-1\" for --count=N: any number" },
	{ "--decimal 2", "invalid value \"2\" for --decimal=P: 0 to 1" },
	{ "--decimal nan", "invalid value \"nan\" for --decimal=P: 0 to 1" },
	{ "--size 64", "--size 64: a unit is missing (did you mean 64M? units: "
		       "M, B, k, G, T)" },
	{ "--time 5", "--time 5: a unit is missing (did you mean 5s? units: s, "
		      "ms, m, h, d)" },
	{ "--time 2s", "invalid value \"2s\" for --time=TIME: up to 1s" },
	{ "-c gree",
	    "invalid value \"gree\" for --choice=red|green|blue: a colour" },
	{ "--tiny=5", "invalid value \"5\" for --tiny=N: twice that number" },
};

/* As option_parse(), but the message is kept. */
TEST_ROWS(what_is_wrong_is_said, ARRAY_LEN(bad))
{
	struct values v = { 0 };
	char line[128], *argv[WORDS], why[OPTION_WHY_LEN] = "";
	int argc, i;

	snprintf(line, sizeof(line), "%s", bad[_i].line);
	argc = split(line, argv);
	option_rewind();
	i = option_next(&table, argc, argv, why);
	if (i >= 0) {
		ck_assert_int_eq(
		    rows[i].take(&rows[i], (char *)&v + rows[i].at, optarg),
		    E_MALFORMED);
		option_explain(&rows[i], optarg, why);
	}
	ck_assert_str_eq(why, bad[_i].why);
}

TEST(values_are_shown_as_they_are_taken)
{
	char text[32];

	option_show_ns(90 * NS_PER_S, text, sizeof(text));
	ck_assert_str_eq(text, "90s");
	option_show_ns(0, text, sizeof(text));
	ck_assert_str_eq(text, "0s");
	option_show_bytes(3 << 20, text, sizeof(text));
	ck_assert_str_eq(text, "3M");
	option_show_bytes(1500, text, sizeof(text));
	ck_assert_str_eq(text, "1500B");
}
