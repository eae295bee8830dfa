/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/option.h"

#include <assert.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/near.h"
#include "common/parse.h"

/* getopt_long() returns a long option as this plus the number of its row. */
#define LONG_BASE 256

void
option_rewind(void)
{
	optind = 0;
}

const struct option_row *
option_nearest(const struct option_row *rows, unsigned n, const char *name)
{
	const struct option_row *best = NULL;
	unsigned near = UINT32_MAX;

	for (unsigned i = 0; i < n; i++) {
		const unsigned d = near_distance(name, rows[i].name);

		if (d < near && near_enough(name, d)) {
			near = d;
			best = &rows[i];
		}
	}
	return best;
}

/* Why getopt_long() does not take WORD, which may be a short form of more than
 * one option. */
static void
explain_word(const struct option_table *t, const char *word, char *why)
{
	const struct option_row *near;
	char name[NEAR_WORD_MAX + 1];
	unsigned n = 0;

	if (optopt >= LONG_BASE) {
		snprintf(why, OPTION_WHY_LEN, "--%s takes no value",
		    t->rows[optopt - LONG_BASE].name);
		return;
	}
	/* The word of a short option may be the next one. */
	if (optopt != 0 || strncmp(word, "--", 2) != 0) {
		snprintf(why, OPTION_WHY_LEN,
		    "unknown option \"-%c\"; see --help", optopt);
		return;
	}
	snprintf(
	    name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	for (unsigned i = 0; i < t->n; i++)
		n += strncmp(t->rows[i].name, name, strlen(name)) == 0;
	near = option_nearest(t->rows, t->n, name);
	if (n > 1)
		snprintf(why, OPTION_WHY_LEN,
		    "\"--%s\" is short for %u options; see --help", name, n);
	else if (near != NULL)
		snprintf(why, OPTION_WHY_LEN,
		    "unknown option \"--%s\" (did you mean \"--%s\"?)", name,
		    near->name);
	else
		snprintf(why, OPTION_WHY_LEN,
		    "unknown option \"--%s\"; see --help", name);
}

static int
row_of_letter(const struct option_table *t, int letter)
{
	unsigned i = 0;

	while (t->rows[i].letter != letter)
		i++;
	assert(i < t->n);
	return (int)i;
}

int
option_next(const struct option_table *t, int argc, char **argv,
    char why[OPTION_WHY_LEN])
{
	struct option longs[OPTION_ROWS + 1] = { 0 };
	/* "+": stop at the first operand; ":": report a missing argument. */
	char letters[2 * OPTION_ROWS + 3] = "+:";
	char *end = letters + (t->has_command ? 2 : 1);
	int c;

	assert(t->n <= OPTION_ROWS);
	if (!t->has_command)
		letters[0] = ':';
	for (unsigned i = 0; i < t->n; i++) {
		const struct option_row *r = &t->rows[i];

		longs[i] = (struct option){ .name = r->name,
			.has_arg = r->arg != NULL,
			.val = LONG_BASE + (int)i };
		if (r->letter == 0)
			continue;
		*end++ = r->letter;
		if (r->arg != NULL)
			*end++ = ':';
	}
	*end = '\0';
	opterr = 0; /* messages are ours */
	c = getopt_long(argc, argv, letters, longs, NULL);
	if (c == -1)
		return OPTION_END;
	if (c == ':')
		snprintf(why, OPTION_WHY_LEN, "%.200s needs a value",
		    argv[optind - 1]);
	else if (c == '?')
		explain_word(t, argv[optind - 1], why);
	else
		return c >= LONG_BASE ? c - LONG_BASE : row_of_letter(t, c);
	return OPTION_BAD;
}

enum status
option_refuse(const struct option_table *t, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", t->program);
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return E_REFUSED;
}

enum status
option_need(const struct option_table *t, uint64_t given, const unsigned *ids,
    unsigned n, unsigned needed)
{
	if ((given >> needed & 1) != 0)
		return OK;
	for (unsigned i = 0; i < n; i++)
		if ((given >> ids[i] & 1) != 0)
			return option_refuse(t, "--%s requires --%s",
			    t->rows[ids[i]].name, t->rows[needed].name);
	return OK;
}

enum status
option_only(const struct option_table *t, uint64_t given, const unsigned *ids,
    unsigned n, const char *what)
{
	for (unsigned i = 0; i < n; i++)
		if ((given >> ids[i] & 1) != 0)
			return option_refuse(
			    t, "--%s is for %s", t->rows[ids[i]].name, what);
	return OK;
}

static void
print(const struct option_table *t, const char *name)
{
	/* The version is that of the program, not of its command. */
	if (strcmp(name, "version") == 0) {
		printf("%.*s " PACKAGE_VERSION "\n",
		    (int)strcspn(t->program, " "), t->program);
		return;
	}
	assert(strcmp(name, "help") == 0);
	printf("Usage: %s\n", t->usage);
	option_print_rows(t->rows, t->n);
	printf("%s", t->more);
}

enum status
option_parse(const struct option_table *t, void *options, int argc, char **argv,
    struct option_words *words)
{
	char why[OPTION_WHY_LEN];
	enum status st;
	int i;

	*words = (struct option_words){ 0 };
	option_rewind();
	while ((i = option_next(t, argc, argv, why)) >= 0) {
		const struct option_row *r = &t->rows[i];

		if (r->take == NULL) {
			print(t, r->name);
			words->is_done = true;
			return OK;
		}
		st = r->take(r, (char *)options + r->at, optarg);
		if (st == E_MALFORMED) {
			option_explain(r, optarg, why);
			return option_refuse(t, "%s", why);
		}
		if (st != OK)
			return st;
		words->given |= UINT64_C(1) << i;
	}
	words->first = optind;
	return i == OPTION_END ? OK : option_refuse(t, "%s", why);
}

/* "-o, --output=DIR", or without its letter. */
static int
put_names(char *out, size_t size, const struct option_row *r, bool has_letters)
{
	char letter[8] = "    ";

	if (r->letter != 0)
		snprintf(letter, sizeof(letter), "-%c, ", r->letter);
	return snprintf(out, size, "%s--%s%s%s", has_letters ? letter : "",
	    r->name, r->arg != NULL ? "=" : "", r->arg != NULL ? r->arg : "");
}

void
option_print_rows(const struct option_row *rows, unsigned n)
{
	/* Wider names push their own text to the right. */
	enum { WIDTH_MAX = 34 };
	bool has_letters = false;
	char names[80];
	int width = 0;

	for (unsigned i = 0; i < n; i++)
		has_letters |= rows[i].letter != 0;
	for (unsigned i = 0; i < n; i++) {
		const int len = put_names(
		    names, sizeof(names), &rows[i], has_letters);

		if (len > width && len <= WIDTH_MAX)
			width = len;
	}
	for (unsigned i = 0; i < n; i++) {
		(void)put_names(names, sizeof(names), &rows[i], has_letters);
		if (rows[i].group != NULL)
			printf("\n%s:\n", rows[i].group);
		printf("  %-*s %s\n", width, names, rows[i].help);
	}
}

void
option_explain(
    const struct option_row *r, const char *arg, char why[OPTION_WHY_LEN])
{
	if (r->take == option_take_flag)
		snprintf(why, OPTION_WHY_LEN,
		    "invalid value \"%.200s\" for --%s: expected yes or no",
		    arg, r->name);
	else if (r->units != NULL && parse_lacks_unit(arg))
		snprintf(why, OPTION_WHY_LEN,
		    "--%s %.200s: a unit is missing (did you mean %.200s%.*s? "
		    "units: %s)",
		    r->name, arg, arg, (int)strcspn(r->units, ","), r->units,
		    r->units);
	else
		snprintf(why, OPTION_WHY_LEN,
		    "invalid value \"%.200s\" for --%s=%s: %s", arg, r->name,
		    r->arg, r->help);
}

enum status
option_take_flag(const struct option_row *r, void *to, const char *arg)
{
	(void)r;
	if (arg != NULL)
		return parse_bool(arg, to) == OK ? OK : E_MALFORMED;
	*(bool *)to = true;
	return OK;
}

void
option_show_flag(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	(void)r;
	snprintf(out, n, "%s", *(const bool *)from ? "yes" : "no");
}

enum status
option_take_number(const struct option_row *r, void *to, const char *arg)
{
	uint64_t v;

	if (parse_u64(arg, r->min, r->max, &v) != OK)
		return E_MALFORMED;
	*(unsigned *)to = (unsigned)v;
	return OK;
}

void
option_show_number(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	(void)r;
	snprintf(out, n, "%u", *(const unsigned *)from);
}

enum status
option_take_count(const struct option_row *r, void *to, const char *arg)
{
	return parse_u64(arg, r->min, r->max, to) == OK ? OK : E_MALFORMED;
}

enum status
option_take_decimal(const struct option_row *r, void *to, const char *arg)
{
	char *end;
	const double v = strtod(arg, &end);

	if (end == arg || *end != '\0' || !(v >= (double)r->min) ||
	    v > (double)r->max)
		return E_MALFORMED;
	*(double *)to = v;
	return OK;
}

enum status
option_take_text(const struct option_row *r, void *to, const char *arg)
{
	(void)r;
	*(const char **)to = arg;
	return *arg != '\0' ? OK : E_MALFORMED;
}

enum status
option_take_choice(const struct option_row *r, void *to, const char *arg)
{
	const char *word = r->arg;

	for (unsigned i = 0;; i++) {
		const size_t n = strcspn(word, "|");

		if (n == strlen(arg) && memcmp(word, arg, n) == 0) {
			*(unsigned *)to = i;
			return OK;
		}
		if (word[n] == '\0')
			return E_MALFORMED;
		word += n + 1;
	}
}

void
option_show_choice(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	const char *word = r->arg;

	for (unsigned i = *(const unsigned *)from; i > 0; i--)
		word = strchr(word, '|') + 1;
	snprintf(out, n, "%.*s", (int)strcspn(word, "|"), word);
}

static bool
is_zero_word(const struct option_row *r, const char *arg)
{
	return r->zero != NULL && strcmp(arg, r->zero) == 0;
}

enum status
option_take_size(const struct option_row *r, void *to, const char *arg)
{
	if (is_zero_word(r, arg)) {
		*(uint64_t *)to = 0;
		return OK;
	}
	return parse_size(arg, r->min, r->max, to) == OK ? OK : E_MALFORMED;
}

void
option_show_bytes(uint64_t bytes, char *out, size_t n)
{
	static const char units[] = "BkMGT";
	unsigned i = 0;

	while (bytes % 1024 == 0 && i < 4) {
		bytes /= 1024;
		i++;
	}
	snprintf(out, n, "%" PRIu64 "%c", bytes, units[i]);
}

void
option_show_size(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	if (*(const uint64_t *)from == 0 && r->zero != NULL)
		snprintf(out, n, "%s", r->zero);
	else
		option_show_bytes(*(const uint64_t *)from, out, n);
}

enum status
option_take_time(const struct option_row *r, void *to, const char *arg)
{
	if (is_zero_word(r, arg)) {
		*(uint64_t *)to = 0;
		return OK;
	}
	return parse_duration(arg, r->max, to) == OK &&
		       *(uint64_t *)to >= r->min
		   ? OK
		   : E_MALFORMED;
}

void
option_show_ns(uint64_t ns, char *out, size_t n)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = { { "d", 24 * 3600 * NS_PER_S }, { "h", 3600 * NS_PER_S },
		{ "m", 60 * NS_PER_S }, { "s", NS_PER_S },
		{ "ms", NS_PER_MS } };
	size_t i = ns == 0 ? ARRAY_LEN(units) - 2 : 0;

	while (i < ARRAY_LEN(units) - 1 && ns % units[i].ns != 0)
		i++;
	snprintf(out, n, "%" PRIu64 "%s", ns / units[i].ns, units[i].unit);
}

void
option_show_time(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	if (*(const uint64_t *)from == 0 && r->zero != NULL)
		snprintf(out, n, "%s", r->zero);
	else
		option_show_ns(*(const uint64_t *)from, out, n);
}
