/* SPDX-License-Identifier: MIT */
/* The pages of one CPU in a file, compressed or not, also those that the
 * recorder cut (page_align). */
#ifndef TOOLS_FTRACE_DAT_PAGES_H
#define TOOLS_FTRACE_DAT_PAGES_H

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ftrace/dat_read.h"

/* The largest chunk of pages, decompressed; trace-cmd puts ten pages in one. */
#define DAT_CHUNK_MAX (16 * 1024 * 1024)

/* The compression of this name in a header. */
enum dat_packing dat_packing_of(struct span name);
/* Decompresses N bytes to exactly OUT_SIZE. E_MALFORMED: the result would be
 * different. E_REFUSED: this build does not support PACKING. */
enum status dat_unpack(enum dat_packing packing, const uint8_t *p, size_t n,
    uint8_t *out, size_t out_size) MUST_CHECK;

/*
 * Calls TAKE with each page, in order, until it fails; its status is returned.
 * FILE's N bytes are those that D was read from. An incomplete page is left
 * out, or its whole events are passed (page_align). E_MALFORMED, E_REFUSED,
 * E_LIMIT: compressed pages are not readable from here on.
 */
enum status dat_pages_each(const struct dat *d, const struct dat_buffer *b,
    const struct dat_pages *cpu, const uint8_t *file, size_t n,
    enum status (*take)(void *arg, const uint8_t *page), void *arg) MUST_CHECK;

/* E_MALFORMED: bytes of the file are listed twice, once for CPU. E_NOMEM. */
enum status dat_pages_check(const struct dat *d, unsigned *cpu) MUST_CHECK;

#endif
