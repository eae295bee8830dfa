/* SPDX-License-Identifier: MIT */
/*
 * A table for people: columns are aligned and fit the terminal. If there is not
 * enough space, those that may be narrower become so, then the least important
 * are left out. Any thread.
 */
#ifndef TOOLS_CTL_TEXT_TABLE_H
#define TOOLS_CTL_TEXT_TABLE_H

#include <jansson.h>
#include <stddef.h>

#include "common/compiler.h"
#include "tools/ctl/answer.h"
#include "tools/ctl/terminal.h"

#define TEXT_TABLE_COLUMNS_MAX 20
/* A column does not become narrower than this. */
#define TEXT_TABLE_NARROW 10

enum column_kind {
	COLUMN_TEXT,   /* at the left; it may become narrower */
	COLUMN_WORD,   /* at the left, whole */
	COLUMN_NUMBER, /* at the right, whole */
};

struct text_table;

/* Adds a cell, usually from MEMBER of the object J. */
typedef void table_cell_fn(struct text_table *t, struct json_answer *a,
    const json_t *j, const char *member);

struct column {
	const char *head;
	enum column_kind kind;
	unsigned rank; /* the highest is left out first; 0: never */
	/* For text_table_add_object(). */
	const char *member;
	table_cell_fn *cell;
};

struct table_cell {
	char *text;
	enum tone tone;
};

struct text_table {
	const struct column *columns; /* borrowed */
	unsigned n_columns;
	struct table_cell *cells; /* row by row */
	size_t n_cells, space;
};

void text_table_begin(
    struct text_table *t, const struct column *columns, unsigned n);
void text_table_free(struct text_table *t);

/* Add the next cell, from left to right, row after row. TEXT is escaped. */
void text_table_add(struct text_table *t, enum tone tone, const char *text);
/* The same, in printf's words, cut at 255 bytes. */
void text_table_addf(struct text_table *t, enum tone tone, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* Add a row for the object J. */
void text_table_add_object(
    struct text_table *t, struct json_answer *a, const json_t *j);
/* Add a row for each object of LIST. */
void text_table_add_list(
    struct text_table *t, struct json_answer *a, const json_t *list);
table_cell_fn table_cell_text, table_cell_number, table_cell_bytes,
    table_cell_time, table_cell_duration, table_cell_lost;
table_cell_fn table_cell_time_ns; /* nanoseconds */

size_t text_table_rows(const struct text_table *t);

/* Print the heads, then at most MOST rows from row FIRST on. */
void text_table_print(const struct text_table *t, const struct terminal *to,
    size_t first, size_t most);

#endif
