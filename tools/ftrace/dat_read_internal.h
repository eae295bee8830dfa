/* SPDX-License-Identifier: MIT */
/* What the files of dat_read share. */
#ifndef TOOLS_FTRACE_DAT_READ_INTERNAL_H
#define TOOLS_FTRACE_DAT_READ_INTERNAL_H

#include "tools/ftrace/dat_input.h"
#include "tools/ftrace/dat_read.h"

/* Options of both versions (trace-cmd 3.4). */
enum dat_option {
	OPTION_END = 0,
	OPTION_DATE = 1,
	OPTION_BUFFER = 3,
	OPTION_CLOCK = 4,
	OPTION_UNAME = 5,
	OPTION_OFFSET = 7,
	OPTION_CPUS = 8,
	OPTION_TRACE_ID = 11,
	OPTION_TSC2NSEC = 14,
	/* Places of sections, of the same numbers. */
	OPTION_HEADERS = 16,
	OPTION_FTRACE = 17,
	OPTION_FORMATS = 18,
	OPTION_KALLSYMS = 19,
	OPTION_PRINTK = 20,
	OPTION_CMDLINES = 21,
};

/* What is being read. */
struct dat_reading {
	struct dat *d;
	const uint8_t *p; /* all of it */
	size_t n;
	uint32_t page_size; /* of the header */
	size_t unpacked;    /* bytes so far */
	unsigned n_options;
	/* Where sections are; 0: none (version 7). */
	uint64_t sections[OPTION_CMDLINES + 1];
	char *why; /* DAT_WHY_MAX; the first failure's line */
};

/* Note a failure, with printf's words. Returns ST. */
enum status dat_fail(struct dat_reading *g, enum status st, const char *fmt,
    ...) PRINTF_LIKE(3, 4);

/* dat_read_metadata.c: the blocks of trace-cmd 3.2, items 6 to 9, which both
 * versions have. */
enum status dat_read_headers(
    struct dat_reading *g, struct dat_input *in) MUST_CHECK;
enum status dat_read_ftrace(
    struct dat_reading *g, struct dat_input *in) MUST_CHECK;
enum status dat_read_formats(
    struct dat_reading *g, struct dat_input *in) MUST_CHECK;
enum status dat_read_kallsyms(
    struct dat_reading *g, struct dat_input *in) MUST_CHECK;
enum status dat_read_printk(
    struct dat_reading *g, struct dat_input *in) MUST_CHECK;
enum status dat_read_cmdlines(
    struct dat_reading *g, struct dat_input *in) MUST_CHECK;
/* Nothing follows: there may be less of them than their length says. */
enum status dat_read_last_cmdlines(
    struct dat_reading *g, struct dat_input *in) MUST_CHECK;

/* dat_read_options.c: one option; BODY is all of it. */
enum status dat_read_option(
    struct dat_reading *g, unsigned id, struct dat_input body) MUST_CHECK;
/* A new buffer at the end of the list; NULL: no memory, or too many. */
struct dat_buffer *dat_add_buffer(struct dat_reading *g, struct span name);
/* The pages of CPU are there; E_MALFORMED: they are not within the file. */
enum status dat_add_cpu(struct dat_reading *g, struct dat_buffer *b,
    unsigned cpu, uint64_t at, uint64_t size) MUST_CHECK;

/* What is behind the header: dat_read_v6.c, dat_read_v7.c. */
enum status dat_read_v6(struct dat_reading *g, struct dat_input *in) MUST_CHECK;
enum status dat_read_v7(struct dat_reading *g, struct dat_input *in) MUST_CHECK;

#endif
