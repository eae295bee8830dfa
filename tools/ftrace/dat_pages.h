/* SPDX-License-Identifier: MIT */
/* The pages of one CPU in a file, compressed or not. Pages that the recorder
 * cut are found by page_align. */
#ifndef TOOLS_FTRACE_DAT_PAGES_H
#define TOOLS_FTRACE_DAT_PAGES_H

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ftrace/dat_read.h"

/* What a chunk of compressed pages becomes; trace-cmd makes ten pages one. */
#define CONVERT_CHUNK_MAX (16 * 1024 * 1024)

/* OUT_SIZE bytes become known from N compressed ones. E_MALFORMED: it is not
 * what it should be; E_REFUSED: this build cannot. */
enum status dat_unpack(enum dat_packing packing, const uint8_t *p, size_t n,
    uint8_t *out, size_t out_size) MUST_CHECK;

/*
 * FILE's N bytes are what D was read from. TAKE is called with each page, in
 * order, until it is not OK, which is returned. A page that is cut short is
 * left out, or what is whole of it is taken (page_align). E_MALFORMED,
 * E_REFUSED, E_LIMIT: what is compressed cannot be read, from there on; pages
 * before it were taken.
 */
enum status convert_pages(const struct dat *d, const struct dat_buffer *b,
    const struct dat_pages *cpu, const uint8_t *file, size_t n,
    enum status (*take)(void *arg, const uint8_t *page), void *arg) MUST_CHECK;
/* The time of the first page, if it can be read. */
uint64_t convert_pages_first_time(const struct dat *d,
    const struct dat_buffer *b, const struct dat_pages *cpu,
    const uint8_t *file, size_t n);

#endif
