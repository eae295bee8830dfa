/* SPDX-License-Identifier: MIT */
/*
 * Reads files that only libtrace can read: in a process without rights, as
 * libtrace ends its process where a file is damaged (child.h). One thread at a
 * time per input.
 */
#ifndef TOOLS_CAPTURE_FILE_INPUT_H
#define TOOLS_CAPTURE_FILE_INPUT_H

#include "common/compiler.h"
#include "common/status.h"
#include "tools/capture/source.h"

struct file_input;

/* Does libtrace know the format that a URI begins with, if it does? Not OK: as
 * source_open(). */
enum status file_input_check_format(
    const char *uri, char why[SOURCE_WHY_MAX]) MUST_CHECK;

/* Read FD, borrowed, the file of CONFIG->uri. Not OK: as source_open(). */
enum status file_input_open(struct file_input **out,
    const struct source_config *config, int fd,
    char why[SOURCE_WHY_MAX]) MUST_CHECK;
void file_input_close(struct file_input *in); /* NULL is fine */

/* As source_next(); SOURCE_FAILED: WHY is one line. */
enum source_got file_input_next(struct file_input *in, const char *uri,
    struct record *record, const uint8_t **bytes,
    char why[SOURCE_WHY_MAX]) MUST_CHECK;

#endif
