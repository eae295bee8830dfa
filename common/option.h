/* SPDX-License-Identifier: MIT */
/*
 * The options of a program as a table: one row each, with the kind of its value
 * and its place in a struct. option_rows.h makes the rows of a table. Reading a
 * command line is for the main thread.
 */
#ifndef COMMON_OPTION_H
#define COMMON_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

/* The most rows of a table. */
#define OPTION_ROWS 64
/* The longest message about an option, with its NUL. */
#define OPTION_WHY_LEN 512

struct option_row {
	char letter; /* 0: none */
	const char *name;
	const char *arg;  /* NULL: the option takes no argument */
	const char *help; /* ends in the default in brackets, if there is one */
	const char *group; /* the title of the rows from this one on, or NULL */
	/* Stores ARG in the field TO, which is AT bytes into the struct. ARG is
	 * NULL if the option takes none. E_MALFORMED: ARG is not valid;
	 * E_REFUSED: the same, and a message was printed. NULL: --help and
	 * --version. */
	enum status (*take)(
	    const struct option_row *r, void *to, const char *arg);
	/* The value as take() would accept it; "": there is none. NULL: the
	 * option is not a setting. */
	void (*show)(
	    const struct option_row *r, const void *from, char *out, size_t n);
	size_t at;
	uint64_t min, max;
	const char *zero; /* the word for 0, of sizes and times; or NULL */
	/* One of these is needed after a number; the first is suggested. NULL:
	 * none is. */
	const char *units;

	/* For the settings of a daemon: */
	bool needs_trust; /* ignored when set-uid or set-gid */
	/* A new value takes effect at once: the field, if SIZE is not 0. */
	size_t reload_at, reload_size;
};

struct option_table {
	const char *program; /* "tracepulse-ftrace listen" */
	const char *usage;   /* --help: what stands before the options, ... */
	const char *more;    /* ... and after them */
	const struct option_row *rows;
	unsigned n;
	/* The first word that is not an option ends the options: it begins a
	 * command line of its own. */
	bool has_command;
};

/* Begin with the command line again. */
void option_rewind(void);
/* The next option of the command line: the number of its row, and its argument
 * in optarg. OPTION_END: the operands begin at argv[optind]. OPTION_BAD: WHY is
 * one line. */
#define OPTION_END (-1)
#define OPTION_BAD (-2)
int option_next(const struct option_table *t, int argc, char **argv,
    char why[OPTION_WHY_LEN]) MUST_CHECK;

/* Which options were given: a bit for each row. */
struct option_words {
	bool is_done; /* --help or --version was printed: exit with 0 */
	uint64_t given;
	int first; /* argv[first] is the first operand */
};

/* Store all options of the command line in OPTIONS, the struct that the rows
 * mean. E_REFUSED: a message was printed on stderr; exit with 2. */
enum status option_parse(const struct option_table *t, void *options, int argc,
    char **argv, struct option_words *words) MUST_CHECK;

/* Print "PROGRAM: ..." on stderr, in printf's words. Returns E_REFUSED. */
enum status option_refuse(const struct option_table *t, const char *fmt, ...)
    PRINTF_LIKE(2, 3);
/* E_REFUSED: the first of these N options was given without option NEEDED,
 * which was printed. */
enum status option_need(const struct option_table *t, uint64_t given,
    const unsigned *ids, unsigned n, unsigned needed) MUST_CHECK;
/* E_REFUSED: the first of these N options was given, but is for WHAT only,
 * which was printed. */
enum status option_only(const struct option_table *t, uint64_t given,
    const unsigned *ids, unsigned n, const char *what) MUST_CHECK;

/* Print the rows of --help. */
void option_print_rows(const struct option_row *rows, unsigned n);
/* Why ARG is not valid for the option, in one line. */
void option_explain(
    const struct option_row *r, const char *arg, char why[OPTION_WHY_LEN]);
/* The row whose name NAME may be a misspelling of, or NULL. */
const struct option_row *option_nearest(
    const struct option_row *rows, unsigned n, const char *name);

/* Kinds of values, for take and show; the type of the field in brackets. */
#define OPTION_SIZE_UNITS "M, B, k, G, T"
#define OPTION_TIME_UNITS "s, ms, m, h, d"
#define OPTION_KIND(kind)                                                     \
	enum status option_take_##kind(                                       \
	    const struct option_row *r, void *to, const char *arg);           \
	void option_show_##kind(const struct option_row *r, const void *from, \
	    char *out, size_t n);
OPTION_KIND(flag)   /* yes or no, or without an argument (bool) */
OPTION_KIND(number) /* from MIN to MAX (unsigned) */
OPTION_KIND(size)   /* bytes from MIN to MAX (uint64_t) */
OPTION_KIND(time)   /* ns from MIN to MAX (uint64_t) */
OPTION_KIND(choice) /* one of the words in r->arg: its place (an enum) */
#undef OPTION_KIND
#define OPTION_KIND(kind)               \
	enum status option_take_##kind( \
	    const struct option_row *r, void *to, const char *arg);
OPTION_KIND(text)    /* not empty; borrowed (const char *) */
OPTION_KIND(count)   /* from MIN to MAX (uint64_t) */
OPTION_KIND(decimal) /* from MIN to MAX (double) */
#undef OPTION_KIND

/* ns as option_take_time() would accept it. */
void option_show_ns(uint64_t ns, char *out, size_t n);
/* Bytes as option_take_size() would accept them. */
void option_show_bytes(uint64_t bytes, char *out, size_t n);

#endif
