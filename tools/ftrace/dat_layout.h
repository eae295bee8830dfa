/* SPDX-License-Identifier: MIT */
/*
 * Where things are in the first part of a trace.dat, as a recorder sends it:
 * what must be known to put pages behind it. Versions 6 and 7. It is walked
 * from length to length, each checked against the bytes that are there; texts
 * are not looked into. Any bytes, any thread.
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
/* Sections of options that are a chain. */
#define DAT_CHAIN_MAX 64
#define DAT_CLOCK_BYTES 32

struct dat_layout {
	unsigned version;   /* 6, 7 */
	bool is_big;	    /* byte order of all numbers */
	unsigned long_size; /* bytes; 4, 8, or what it says */
	uint32_t page_size;
	/* The sender's clock, such as "local", which is also what is used when
	 * it does not say. */
	char clock[DAT_CLOCK_BYTES];
	/* The metadata has said it. A recorder of V1 does not. */
	bool has_cpus;
	uint32_t cpus;
	bool has_commands; /* version 6: the names of processes are in it */
	bool has_options;  /* version 6: they are in it, up to their end */
	/* Version 7: where the file says where its next section of options is,
	 * 8 bytes, 0 so far; and where its first one is. */
	uint64_t next_link, first_link;
	uint64_t first_options;
	bool is_link_hidden; /* in a compressed section: NEXT_LINK is none */
};

/*
 * E_MORE: it is not whole; in OUT is what is known. E_MALFORMED: it cannot be
 * one. Bytes behind the end of a version 6 are E_MALFORMED, too. The metadata
 * of V1 is whole when it is OK without has_commands.
 */
enum status dat_layout_find(
    struct dat_layout *out, const uint8_t *p, size_t n) MUST_CHECK;

/*
 * What stands around the pages of a trace.dat: given its first part and how
 * many bytes of pages each CPU has, where these go and what is written before,
 * behind and between them. As trace-cmd listen writes it, with two differences:
 * the clock is the sender's, not the listener's, and pages are not compressed.
 * Any thread; no files.
 */

struct dat_part {
	uint64_t size;	 /* bytes of whole pages */
	uint64_t offset; /* where they go; behind the former CPU's are zeros up
			    to there */
};

struct dat_plan {
	struct buf head; /* behind the first part */
	struct buf tail; /* at tail_offset, if it is not empty */
	uint64_t tail_offset;
	/* Version 7: these 8 bytes are written over the first part. */
	bool has_patch;
	uint64_t patch_offset;
	uint8_t patch[8];
	uint64_t size; /* of the whole file */
};

/* SIZE is that of the first part, LAYOUT of it. Fills the offsets of CPUS. The
 * caller frees the plan, whatever is returned. E_NOMEM; E_PROTOCOL: the first
 * part is of another number of CPUs. */
enum status dat_plan_make(struct dat_plan *out, const struct dat_layout *layout,
    uint64_t size, struct dat_part *cpus, uint32_t n_cpus) MUST_CHECK;
void dat_plan_free(struct dat_plan *p);

#endif
