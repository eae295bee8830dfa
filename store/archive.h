/* SPDX-License-Identifier: MIT */
/*
 * A finished trace as a tar file that is never written: any part of it can be
 * read. It has the files of the trace, by name; the same directory gives the
 * same bytes. One thread at a time, which may block; two descriptors.
 */
#ifndef STORE_ARCHIVE_H
#define STORE_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/status.h"

/* Files of one trace; each takes memory while the archive exists (about 100
 * bytes). */
#define ARCHIVE_FILES_MAX 100000

struct archive;

/* The directory TAKE_ROOT; names in the archive begin with PREFIX and a slash.
 * E_NOMEM: TAKE_ROOT is closed. */
enum status archive_create(
    struct archive **out, int take_root, const char *prefix) MUST_CHECK;
void archive_destroy(struct archive *a); /* NULL is fine */

/* Find about N more files. E_LATER: there are more; E_LIMIT: too many; E_IO: a
 * directory cannot be read; E_NOMEM. */
enum status archive_list(struct archive *a, unsigned n) MUST_CHECK;

bool archive_is_listed(const struct archive *a); /* archive_list() was OK */

/* Then: bytes of the whole file, and a number that is
 * another one when a file is another one. */
uint64_t archive_size(const struct archive *a);
uint64_t archive_tag(const struct archive *a);
/* Append N bytes from AT on, which are inside, to B. E_NOENT: a file has gone
 * or has changed, as if the trace is being deleted; E_IO; E_NOMEM. */
enum status archive_read(
    struct archive *a, uint64_t at, size_t n, struct buf *b) MUST_CHECK;

#endif
