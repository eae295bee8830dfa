/* SPDX-License-Identifier: MIT */
/*
 * Reads a trace.dat (versions 6 and 7, trace-cmd 3.1 to 3.4): a whole file, or
 * the part that a recorder sends to a listener, which has no pages. The bytes
 * come from a peer: each length, count and offset is checked against the bytes
 * present, and compressed parts may not grow beyond DAT_UNPACKED_MAX. A format
 * text that is not valid costs only its own events.
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
#include "tools/ftrace/symbols.h"

/* The metadata of a kernel with many modules has 20 MiB. */
#define DAT_UNPACKED_MAX (64 * 1024 * 1024)
/* A kernel with all modules has about 3,000 events, with 20,000 fields. */
#define DAT_EVENTS_MAX 16384
#define DAT_FIELDS_MAX 131072
/* trace-cmd has one ring buffer for each -B. */
#define DAT_BUFFERS_MAX 64
/* The most that Linux supports (CONFIG_NR_CPUS). */
#define DAT_CPUS_MAX 8192
/* Sections of options, each of which names the next; and options in all:
 * trace-cmd writes a few, and some for each CPU. */
#define DAT_SECTIONS_MAX 256
#define DAT_READ_OPTIONS_MAX 65536
#define DAT_NAME_MAX 256
#define DAT_WHY_MAX 256

/* What relates the trace's times to Unix time. */
enum dat_offset {
	DAT_OFFSET_NONE,
	DAT_OFFSET_DATE,  /* record --date */
	DAT_OFFSET_GIVEN, /* record --ts-offset */
};

/*
 * From a time of the guest on: (time * factor >> fraction) + offset is the
 * host's time. As trace-cmd report does it, the last of several is only the end
 * of the one before, and of a single one only the offset counts.
 */
struct dat_shift {
	uint64_t from, factor;
	int64_t offset;
	unsigned fraction; /* less than 64 */
};

struct dat_shifts { /* of one CPU, in the file's order */
	struct dat_shift *all;
	uint32_t n;
};

struct dat_pages {
	unsigned cpu;
	uint64_t at, size; /* within the file */
};

/* A ring buffer. */
struct dat_buffer {
	char name[DAT_NAME_MAX]; /* "": the main one */
	bool is_packed;		 /* compressed chunks (trace-cmd 3.4) */
	uint32_t page_size;
	struct dat_pages *cpus; /* those with data, in the file's order */
	unsigned n_cpus;
};

enum dat_packing { DAT_PLAIN, DAT_ZLIB, DAT_ZSTD, DAT_UNKNOWN };

struct dat {
	unsigned version; /* 6 or 7 */
	bool is_big;
	enum dat_packing packing;
	struct page_layout page;
	unsigned n_cpus; /* of the machine; 0: not stated */

	struct event_format **events; /* in the file's order */
	unsigned n_events, n_fields;
	uint16_t *by_id; /* 65536: 1 + the index in EVENTS; 0: none */

	char clock[32]; /* "": not stated */
	char hostname[DAT_NAME_MAX], release[DAT_NAME_MAX];
	bool has_trace_id, has_tsc;
	uint64_t trace_id;
	uint32_t tsc_mult, tsc_shift; /* ns = cycles * mult >> shift */
	enum dat_offset offset_from;
	int64_t offset_ns; /* to add to the trace's times */

	struct symbols *symbols; /* NULL: not asked for, or the file has none */

	struct dat_shifts *shifts; /* a guest's, for each CPU from 0 on */
	unsigned n_shifts;

	struct dat_buffer *buffers; /* none in what a recorder sends */
	unsigned n_buffers;
};

/*
 * N bytes at P are borrowed for the call. On failure WHY is one line.
 * E_MALFORMED: not a trace.dat, or a broken one. E_REFUSED: one that cannot be
 * read, such as one of another version, or with a compression that this build
 * does not know. E_LIMIT, E_NOMEM.
 */
enum status dat_read(struct dat **out, const uint8_t *p, size_t n,
    char why[DAT_WHY_MAX]) MUST_CHECK;
/* The same; with HAS_SYMBOLS also the kernel's, about 12 MiB of memory. */
enum status dat_read_symbols(struct dat **out, const uint8_t *p, size_t n,
    bool has_symbols, char why[DAT_WHY_MAX]) MUST_CHECK;
void dat_free(struct dat *d); /* NULL is fine */
/*
 * Finds out whether N bytes are the whole first part of a trace.dat, as a
 * recorder sends it; texts are not parsed, and compressed parts not opened.
 * E_MORE: it is not whole. E_MALFORMED: it cannot become valid; in version 6
 * also bytes after its end. The metadata of V1 is whole if the result is OK
 * without has_commands.
 */
enum status dat_read_layout(
    struct dat_layout *out, const uint8_t *p, size_t n) MUST_CHECK;
/* The host's time for a TIME of the CPU of S, which has at least one shift. */
uint64_t dat_shift_time(const struct dat_shifts *s, uint64_t time);
/* Frees the event formats and the buffers, up to 40 MiB. Of the rest only by_id
 * is large. */
#define DAT_BY_ID_SIZE ((UINT16_MAX + 1) * sizeof(uint16_t))
void dat_forget_events(struct dat *d);

#endif
