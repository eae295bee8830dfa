/* SPDX-License-Identifier: MIT */
/*
 * A terminal with a full-screen display that is redrawn, and keys read one by
 * one. It is restored at the end, also when a signal ends the program or Ctrl-Z
 * stops it. Main thread; one at a time.
 */
#ifndef TOOLS_CTL_SCREEN_H
#define TOOLS_CTL_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ctl/terminal.h"

/* Keys that are not characters; 0: none. */
enum { KEY_UP = 256, KEY_DOWN, KEY_PAGE_UP, KEY_PAGE_DOWN, KEY_HOME };

/* E_IO: standard input or output is not such a terminal. */
enum status screen_open(void) MUST_CHECK;
void screen_close(void);

/* Show N bytes of lines from the top of the screen on, and clear the rest. */
void screen_draw(const char *text, size_t n);

/* Wait up to MS for a key. 0: none, or the size has changed. */
int screen_key(int ms);
/* Did a signal ask to end? */
bool screen_is_over(void);

#endif
