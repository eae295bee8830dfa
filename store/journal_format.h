/* SPDX-License-Identifier: MIT */
/*
 * The journal's file: slots of 128 bytes in host byte order, of this machine
 * only. The kind is stored last when a slot is filled and first when it is
 * freed, so a process may die between any two stores.
 */
#ifndef STORE_JOURNAL_FORMAT_H
#define STORE_JOURNAL_FORMAT_H

#include <stdint.h>

#define JOURNAL_PREFIX ".tracepulse-journal."
#define JOURNAL_MAGIC UINT32_C(0x54504a31) /* "TPJ1" */
#define JOURNAL_SLOT 128
#define JOURNAL_PIECE (JOURNAL_SLOT - 16)

enum journal_kind {
	JOURNAL_FREE = 0,
	JOURNAL_HEAD, /* slot 0 */
	JOURNAL_ROOT, /* the first piece of a directory's path */
	JOURNAL_MORE, /* a further piece */
	JOURNAL_FILE,
};

struct journal_slot {
	uint32_t kind; /* enum journal_kind */
	uint32_t root; /* MORE, FILE: the slot of the root */
	uint32_t next; /* ROOT, MORE: the slot of the next piece, 0: none */
	uint32_t piece_len;
	union {
		struct {
			uint64_t ino, length;
		} file;
		struct {
			uint32_t magic;
		} head;
		char piece[JOURNAL_PIECE];
	};
};

_Static_assert(sizeof(struct journal_slot) == JOURNAL_SLOT, "slot size");

#endif
