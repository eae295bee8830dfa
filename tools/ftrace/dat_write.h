/* SPDX-License-Identifier: MIT */
/*
 * What stands around the pages of a trace.dat: given its first part and how
 * many bytes of pages each CPU has, where these go and what is written before,
 * behind and between them. As trace-cmd listen writes it, with two differences:
 * the clock is the sender's, not the listener's, and pages are not compressed.
 * Any thread; no files.
 */
#ifndef TOOLS_FTRACE_DAT_WRITE_H
#define TOOLS_FTRACE_DAT_WRITE_H

#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/status.h"
#include "tools/ftrace/dat_layout.h"

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
