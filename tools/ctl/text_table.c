/* SPDX-License-Identifier: MIT */
#include "tools/ctl/text_table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "tools/ctl/ctl.h"
#include "tools/ctl/text.h"

#define BETWEEN "  "
#define CUT_MARK "~"

void
text_table_begin(struct text_table *t, const struct column *columns, unsigned n)
{
	*t = (struct text_table){ .columns = columns, .n_columns = n };
}

void
text_table_free(struct text_table *t)
{
	for (size_t i = 0; i < t->n_cells; i++)
		free(t->cells[i].text);
	free(t->cells);
	*t = (struct text_table){ 0 };
}

void
text_table_add(struct text_table *t, enum tone tone, const char *text)
{
	if (t->n_cells == t->space) {
		t->space = t->space == 0 ? 64 : t->space * 2;
		t->cells = ctl_memory(
		    reallocarray(t->cells, t->space, sizeof(*t->cells)));
	}
	t->cells[t->n_cells++] = (struct table_cell){ text_escaped(text),
		tone };
}

void
text_table_addf(struct text_table *t, enum tone tone, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_table_add(t, tone, text);
}

void
table_cell_text(struct text_table *t, struct json_answer *a, const json_t *j,
    const char *member)
{
	text_table_add(t, TONE_PLAIN, answer_text(a, j, member));
}

void
table_cell_number(struct text_table *t, struct json_answer *a, const json_t *j,
    const char *member)
{
	text_table_addf(t, TONE_PLAIN, "%" PRIu64, answer_number(a, j, member));
}

void
table_cell_lost(struct text_table *t, struct json_answer *a, const json_t *j,
    const char *member)
{
	const uint64_t n = answer_number(a, j, member);

	text_table_addf(t, n > 0 ? TONE_BAD : TONE_PLAIN, "%" PRIu64, n);
}

void
table_cell_bytes(struct text_table *t, struct json_answer *a, const json_t *j,
    const char *member)
{
	char text[TEXT_UNIT_MAX];

	text_table_add(
	    t, TONE_PLAIN, text_bytes(text, answer_number(a, j, member)));
}

void
table_cell_time(struct text_table *t, struct json_answer *a, const json_t *j,
    const char *member)
{
	char text[TEXT_UNIT_MAX];

	text_table_add(
	    t, TONE_PLAIN, text_time(text, answer_number(a, j, member)));
}

void
table_cell_time_ns(struct text_table *t, struct json_answer *a, const json_t *j,
    const char *member)
{
	char text[TEXT_UNIT_MAX];

	text_table_add(t, TONE_PLAIN,
	    text_time(text, answer_number(a, j, member) / NS_PER_S));
}

void
table_cell_duration(struct text_table *t, struct json_answer *a,
    const json_t *j, const char *member)
{
	char text[TEXT_UNIT_MAX];

	text_table_add(
	    t, TONE_PLAIN, text_duration(text, answer_real(a, j, member)));
}

void
text_table_add_object(
    struct text_table *t, struct json_answer *a, const json_t *j)
{
	for (unsigned c = 0; c < t->n_columns; c++)
		t->columns[c].cell(t, a, j, t->columns[c].member);
}

void
text_table_add_list(
    struct text_table *t, struct json_answer *a, const json_t *list)
{
	const json_t *j;
	size_t i;

	json_array_foreach(list, i, j) text_table_add_object(t, a, j);
}

size_t
text_table_rows(const struct text_table *t)
{
	return t->n_cells / t->n_columns;
}

/* The widths that the rows need. */
static void
measure(const struct text_table *t, size_t first, size_t end, unsigned *widths)
{
	for (unsigned c = 0; c < t->n_columns; c++)
		widths[c] = text_width(t->columns[c].head);
	for (size_t row = first; row < end; row++)
		for (unsigned c = 0; c < t->n_columns; c++) {
			unsigned w = text_width(
			    t->cells[row * t->n_columns + c].text);

			widths[c] = w > widths[c] ? w : widths[c];
		}
}

static unsigned
sum_of(const unsigned *widths, unsigned n)
{
	unsigned sum = 0;

	for (unsigned c = 0; c < n; c++)
		sum += widths[c] == 0 ? 0
				      : widths[c] + (unsigned)strlen(BETWEEN);
	return sum == 0 ? 0 : sum - (unsigned)strlen(BETWEEN);
}

/* Make one column narrower. False: none can be. */
static bool
make_narrower(const struct text_table *t, unsigned *widths)
{
	unsigned widest = TEXT_TABLE_COLUMNS_MAX;

	for (unsigned c = 0; c < t->n_columns; c++)
		if (t->columns[c].kind == COLUMN_TEXT &&
		    widths[c] > TEXT_TABLE_NARROW &&
		    (widest == TEXT_TABLE_COLUMNS_MAX ||
			widths[c] > widths[widest]))
			widest = c;
	if (widest == TEXT_TABLE_COLUMNS_MAX)
		return false;
	widths[widest]--;
	return true;
}

/* Leave out one column. False: all that are left are needed. */
static bool
leave_out(const struct text_table *t, unsigned *widths)
{
	unsigned last = TEXT_TABLE_COLUMNS_MAX;

	for (unsigned c = 0; c < t->n_columns; c++)
		if (t->columns[c].rank > 0 && widths[c] > 0 &&
		    (last == TEXT_TABLE_COLUMNS_MAX ||
			t->columns[c].rank > t->columns[last].rank))
			last = c;
	if (last == TEXT_TABLE_COLUMNS_MAX)
		return false;
	widths[last] = 0;
	return true;
}

/* Widths that fit; 0: the column is left out. */
static void
fit(const struct text_table *t, const struct terminal *to, size_t first,
    size_t end, unsigned *widths)
{
	unsigned full[TEXT_TABLE_COLUMNS_MAX];

	measure(t, first, end, full);
	memcpy(widths, full, sizeof(full));
	while (to->columns > 0 && sum_of(widths, t->n_columns) > to->columns) {
		if (make_narrower(t, widths))
			continue;
		if (!leave_out(t, widths))
			return;
		/* The others may have enough space now. */
		for (unsigned c = 0; c < t->n_columns; c++)
			widths[c] = widths[c] == 0 ? 0 : full[c];
	}
}

static void
put_blanks(const struct terminal *to, unsigned n)
{
	fprintf(to->out, "%*s", (int)n, "");
}

static void
put_cell(const struct terminal *to, enum tone tone, const char *text,
    const struct column *column, unsigned width, bool is_last)
{
	const unsigned w = text_width(text);
	const unsigned blanks = w < width ? width - w : 0;

	if (column->kind == COLUMN_NUMBER)
		put_blanks(to, blanks);
	if (w > width) {
		char *cut = ctl_memory(strdup(text));

		cut[text_fit(cut, width - 1)] = '\0';
		terminal_put(to, tone, cut);
		put_blanks(to, width - 1 - text_width(cut));
		fputs(CUT_MARK, to->out);
		free(cut);
	} else {
		terminal_put(to, tone, text);
	}
	if (column->kind != COLUMN_NUMBER && !is_last)
		put_blanks(to, blanks);
}

/* Print the cells at ROW; NULL: the heads. */
static void
put_row(const struct text_table *t, const struct terminal *to,
    const unsigned *widths, const struct table_cell *row)
{
	unsigned last = 0;
	bool is_first = true;

	for (unsigned c = 0; c < t->n_columns; c++)
		last = widths[c] > 0 ? c : last;
	for (unsigned c = 0; c <= last; c++) {
		if (widths[c] == 0)
			continue;
		if (!is_first)
			fputs(BETWEEN, to->out);
		is_first = false;
		put_cell(to, row == NULL ? TONE_HEAD : row[c].tone,
		    row == NULL ? t->columns[c].head : row[c].text,
		    &t->columns[c], widths[c], c == last);
	}
	putc('\n', to->out);
}

void
text_table_print(const struct text_table *t, const struct terminal *to,
    size_t first, size_t most)
{
	const size_t n = text_table_rows(t);
	unsigned widths[TEXT_TABLE_COLUMNS_MAX];
	size_t end;

	first = first < n ? first : n;
	end = n - first > most ? first + most : n;
	fit(t, to, first, end, widths);
	put_row(t, to, widths, NULL);
	for (size_t row = first; row < end; row++)
		put_row(t, to, widths, &t->cells[row * t->n_columns]);
}
