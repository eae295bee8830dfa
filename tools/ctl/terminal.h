/* SPDX-License-Identifier: MIT */
/* The output: its width, and whether it has colours. Main thread.
 */
#ifndef TOOLS_CTL_TERMINAL_H
#define TOOLS_CTL_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* How text is shown if there are colours. Text never depends on its colour. */
enum tone { TONE_PLAIN, TONE_HEAD, TONE_GOOD, TONE_WARNING, TONE_BAD };

struct terminal {
	FILE *out;
	bool is_terminal;
	bool has_colours;
	unsigned columns, rows; /* 0: any number */
};

/* Standard output. Colours: on a terminal that is not "dumb", without NO_COLOR
 * (https://no-color.org). COLUMNS and LINES are used if it is not a terminal.
 */
void terminal_open(struct terminal *t);
/* Read the size again. */
void terminal_measure(struct terminal *t);

/* Print TEXT as it is, in that tone. */
void terminal_put(const struct terminal *t, enum tone tone, const char *text);

#endif
