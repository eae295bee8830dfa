/* SPDX-License-Identifier: MIT */
/* Files of a trace in a directory that the user chose. */
#ifndef TOOLS_CLIENT_TRACE_DIR_H
#define TOOLS_CLIENT_TRACE_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

/* Opens the directory PATH, which is created if it does not exist, and must be
 * empty. E_IO, E_EXISTS: WHY is one line, cut to SIZE bytes. */
enum status trace_dir_open(
    int *out, const char *path, char *why, size_t size) MUST_CHECK;
/* The directory PATH below DIR, which is created with those above it; links are
 * not followed. PATH is a relpath (common/relpath.h). -1 with errno. */
int trace_dir_below(int dir, const char *path);
/* All of it at byte AT, or errno. */
bool trace_dir_write(int fd, const uint8_t *p, size_t n, uint64_t at);

#endif
