/* SPDX-License-Identifier: MIT */
/* A directory of a test's own. Failures end the test. */
#ifndef TESTS_RELAYD_SCRATCH_H
#define TESTS_RELAYD_SCRATCH_H

#include <stdbool.h>

void scratch_open(void);
void scratch_close(void); /* with all that is in it */

/* Remove NAME and all below it, as rm -r; "": the directory. */
void scratch_remove(const char *name);

/* The path of NAME in the directory; valid until the eighth call after this
 * one. */
const char *scratch_path(const char *name);
bool scratch_exists(const char *name);
/* The start of a file, as a string; valid until the next call. */
const char *scratch_read(const char *name);
void scratch_write(const char *name, const char *text);

/* A datagram socket bound to "n" in the directory, and what it received within
 * five seconds. */
int scratch_notify_socket(void);
const char *scratch_receive(int fd);

#endif
