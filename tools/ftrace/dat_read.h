/* SPDX-License-Identifier: MIT */
/*
 * What a trace.dat says (versions 6 and 7, trace-cmd 3.1 to 3.4): of a whole
 * file, or of the part that a recorder sends to a listener, which has no pages.
 * All of it comes from a peer: every length, count and offset is compared with
 * what is there, and what is compressed may not become larger than
 * DAT_UNPACKED_MAX. A format text that is not valid costs its events only.
 *
 * Depends on: common/. Knows nothing of sockets and CTF. Single owner.
 */
#ifndef TOOLS_FTRACE_DAT_READ_H
#define TOOLS_FTRACE_DAT_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ftrace/event_format.h"
#include "tools/ftrace/page.h"

/* The metadata of a kernel with many modules has 20 MiB. */
#define DAT_UNPACKED_MAX (64 * 1024 * 1024)
/* A kernel with all modules has about 3,000 events, with 20,000 fields. */
#define DAT_EVENTS_MAX 16384
#define DAT_FIELDS_MAX 131072
/* trace-cmd has one ring buffer for each -B. */
#define DAT_BUFFERS_MAX 64
/* Linux has at most so many (CONFIG_NR_CPUS). */
#define DAT_CPUS_MAX 8192
/* Sections of options, each of which names the next; and options in all:
 * trace-cmd writes a few, and some for each CPU. */
#define DAT_SECTIONS_MAX 256
#define DAT_READ_OPTIONS_MAX 65536
#define DAT_NAME_MAX 256
#define DAT_WHY_MAX 256

/* What relates the trace's times to Unix time. */
enum dat_offset {
	DAT_OFFSET_NONE,  /* nothing */
	DAT_OFFSET_DATE,  /* record --date */
	DAT_OFFSET_GIVEN, /* record --ts-offset */
};

struct dat_pages {
	unsigned cpu;
	uint64_t at, size; /* in the file; within it */
};

/* A ring buffer. */
struct dat_buffer {
	char name[DAT_NAME_MAX]; /* "": the main one */
	bool is_packed;		 /* compressed chunks (trace-cmd 3.4) */
	uint32_t page_size;
	struct dat_pages *cpus; /* those with data, as the file has them */
	unsigned n_cpus;
};

enum dat_packing { DAT_PLAIN, DAT_ZLIB, DAT_ZSTD, DAT_UNKNOWN };

struct dat {
	unsigned version; /* 6 or 7 */
	bool is_big;
	enum dat_packing packing;
	struct page_layout page;
	unsigned n_cpus; /* of the machine; 0: it does not say */

	struct event_format **events; /* in the order of the file */
	unsigned n_events, n_fields;
	unsigned n_refused; /* format texts that are none of an event */
	uint16_t *by_id;    /* 65536 of them: 1 + the event's place; 0: none */
	unsigned n_symbols, n_names; /* lines of kallsyms, of saved_cmdlines */

	char clock[32]; /* "" if it does not say */
	char hostname[DAT_NAME_MAX], release[DAT_NAME_MAX];
	bool has_trace_id, has_tsc;
	uint64_t trace_id;
	uint32_t tsc_mult, tsc_shift; /* ns = cycles * mult >> shift */
	enum dat_offset offset_from;
	int64_t offset_ns; /* what to add to the trace's times */

	struct dat_buffer *buffers; /* none in what a recorder sends */
	unsigned n_buffers;
};

/*
 * N bytes at P are borrowed for the call. Not OK: *WHY is one line.
 * E_MALFORMED: not a trace.dat, or a broken one. E_REFUSED: one that is not
 * read, such as of another version or compressed in a way that this build does
 * not know. E_LIMIT, E_NOMEM.
 */
enum status dat_read(struct dat **out, const uint8_t *p, size_t n,
    char why[DAT_WHY_MAX]) MUST_CHECK;
void dat_free(struct dat *d); /* NULL is fine */
/* Up to 40 MiB go: what describes events, and the buffers. What stays is small,
 * but for by_id. */
#define DAT_BY_ID_SIZE ((UINT16_MAX + 1) * sizeof(uint16_t))
void dat_forget_events(struct dat *d);

#endif
