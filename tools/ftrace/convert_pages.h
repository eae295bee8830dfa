/* SPDX-License-Identifier: MIT */
/* The pages of one CPU in a file, compressed or not. Pages that the recorder
 * cut are found by page_align. */
#ifndef TOOLS_FTRACE_CONVERT_PAGES_H
#define TOOLS_FTRACE_CONVERT_PAGES_H

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ftrace/dat_read.h"

/* What a chunk of compressed pages becomes; trace-cmd makes ten pages one. */
#define CONVERT_CHUNK_MAX (16 * 1024 * 1024)

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
