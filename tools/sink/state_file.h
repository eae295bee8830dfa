/* SPDX-License-Identifier: MIT */
/* A small file with what is stored, for the next run of the program. */
#ifndef TOOLS_SINK_STATE_FILE_H
#define TOOLS_SINK_STATE_FILE_H

#include <stddef.h>

#include "common/compiler.h"
#include "common/status.h"

/* Call LINE for each line after the first, without its newline. OK, too, if
 * there is no file PATH yet. E_MALFORMED: its first line is not FIRST. E_IO:
 * errno. Otherwise what LINE returns. */
enum status state_file_read(const char *path, const char *first,
    enum status (*line)(void *arg, char *text), void *arg) MUST_CHECK;
/* Replace the file as a whole, and have it on the disk. Only its owner can read
 * it. E_IO: errno. */
enum status state_file_write(
    const char *path, const char *text, size_t size) MUST_CHECK;

#endif
