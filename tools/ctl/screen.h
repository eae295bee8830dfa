/* SPDX-License-Identifier: MIT */
/*
 * A terminal whose whole screen is drawn again and again, and whose keys are
 * read one by one. It is put back as it was at the end, also when a signal ends
 * the program or Ctrl-Z stops it. Main thread; one at a time.
 */
#ifndef TOOLS_CTL_SCREEN_H
#define TOOLS_CTL_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ctl/terminal.h"

/* Keys beside characters; 0: none. */
enum { KEY_UP = 256, KEY_DOWN, KEY_PAGE_UP, KEY_PAGE_DOWN, KEY_HOME };

/* E_IO: standard input or output is no terminal that can do it. */
enum status screen_open(void) MUST_CHECK;
void screen_close(void);

/* Show N bytes of lines, which begin at the top; what is below them is
 * cleared. */
void screen_draw(const char *text, size_t n);

/* Wait up to MS for a key. 0: there is none; also when the size has changed. */
int screen_key(int ms);
/* A signal has asked to end. */
bool screen_is_over(void);

#endif
