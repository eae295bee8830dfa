/* SPDX-License-Identifier: MIT */
/*
 * A table for people: columns that are aligned and that fit the terminal. Where
 * there is less room than they take, those that may be narrower become so, then
 * the least important are left out. Any thread.
 */
#ifndef TOOLS_CTL_TABLE_H
#define TOOLS_CTL_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/compiler.h"
#include "tools/ctl/terminal.h"

#define TABLE_COLUMNS_MAX 20
/* A column that becomes narrower keeps so much. */
#define TABLE_NARROW 10

enum column_kind {
	COLUMN_TEXT,   /* at the left; it may become narrower */
	COLUMN_WORD,   /* at the left, whole */
	COLUMN_NUMBER, /* at the right, whole */
};

struct column {
	const char *head;
	enum column_kind kind;
	unsigned rank; /* the highest is left out first; 0: never */
};

struct table_cell {
	char *text;
	enum tone tone;
};

struct table {
	const struct column *columns; /* borrowed */
	unsigned n_columns;
	struct table_cell *cells; /* row by row */
	size_t n_cells, room;
	bool lacks_memory;
};

void table_begin(struct table *t, const struct column *columns, unsigned n);
void table_free(struct table *t);

/* The next cell, from the left to the right, row after row. TEXT is escaped
 * here. */
void table_add(struct table *t, enum tone tone, const char *text);
/* The same; what is made of FMT is cut at 255 bytes. */
void table_addf(struct table *t, enum tone tone, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

size_t table_rows(const struct table *t);

/* MOST: so many rows; they begin with the row FIRST. The head is a line before
 * them. */
void table_print(const struct table *t, const struct terminal *to, size_t first,
    size_t most);

#endif
