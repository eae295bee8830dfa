/* SPDX-License-Identifier: MIT */
/*
 * What surrounds the pages of a trace.dat (versions 6 and 7). The result is
 * like that of trace-cmd listen, except that the clock is the sender's, not the
 * listener's, and pages are not compressed. Any thread; no files.
 */
#ifndef TOOLS_FTRACE_DAT_LAYOUT_H
#define TOOLS_FTRACE_DAT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/status.h"

/* A trace.dat begins with these bytes. */
#define DAT_MAGIC "\x17\x08\x44tracing"
/* The largest page of a ring buffer; over UDP see DATA_DATAGRAM_BYTES. */
#define DAT_PAGE_BYTES_MAX (1 << 20)
#define DAT_CLOCK_BYTES 32

/* What dat_read_layout() finds in the first part of a trace.dat. */
struct dat_layout {
	unsigned version;   /* 6 or 7 */
	bool is_big;	    /* byte order of all numbers */
	unsigned long_size; /* bytes; 4 or 8 */
	uint32_t page_size;
	/* The sender's clock. "local", the default, if it is not stated. */
	char clock[DAT_CLOCK_BYTES];
	/* Stated in the metadata; a recorder of V1 does not. */
	bool has_cpus;
	uint32_t cpus;
	bool has_commands; /* version 6: it has the names of processes */
	bool has_options;  /* version 6: it has the options, up to their end */
	/* Version 7: the places of two links of 8 bytes: to the next section of
	 * options, which is 0, and to the first one. */
	uint64_t next_link, first_link;
	uint64_t first_options;
	bool is_link_hidden; /* the last section is compressed: there is no
				NEXT_LINK */
};

struct dat_part {
	uint64_t size;	 /* bytes of whole pages */
	uint64_t offset; /* in the file; zeros fill the space before it */
};

struct dat_plan {
	struct buf head; /* follows the first part */
	struct buf tail; /* at tail_offset, unless it is empty */
	uint64_t tail_offset;
	/* Version 7: 8 bytes to write over the first part. */
	bool has_patch;
	uint64_t patch_offset;
	uint8_t patch[8];
	uint64_t size; /* of the whole file */
};

/* LAYOUT is that of the first part, of SIZE bytes. Sets the offsets of CPUS.
 * The caller frees the plan, also on failure. E_NOMEM; E_PROTOCOL: the first
 * part states another number of CPUs. */
enum status dat_plan_make(struct dat_plan *out, const struct dat_layout *layout,
    uint64_t size, struct dat_part *cpus, uint32_t n_cpus) MUST_CHECK;
void dat_plan_free(struct dat_plan *p);

#endif
