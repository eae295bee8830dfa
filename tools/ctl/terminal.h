/* SPDX-License-Identifier: MIT */
/* Where output goes: how wide it is, and whether it has colours. Main thread.
 */
#ifndef TOOLS_CTL_TERMINAL_H
#define TOOLS_CTL_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* How something is shown where there are colours. Never the only way in which
 * it is said. */
enum tone { TONE_PLAIN, TONE_HEAD, TONE_GOOD, TONE_WARNING, TONE_BAD };

struct terminal {
	FILE *out;
	bool is_terminal;
	bool has_colours;
	unsigned columns, rows; /* 0: any number */
};

/* Standard output. Colours: on a terminal that is not "dumb", without NO_COLOR
 * (https://no-color.org). COLUMNS and LINES are for what is none. */
void terminal_open(struct terminal *t);
/* Its size may have changed. */
void terminal_measure(struct terminal *t);

/* TEXT as it is, in that tone. */
void terminal_put(const struct terminal *t, enum tone tone, const char *text);

#endif
