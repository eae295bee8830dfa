/* SPDX-License-Identifier: MIT */
/*
 * The journal's file: slots of 128 bytes in host byte order, read only on this
 * machine. The kind is stored last when a slot is filled and first when it is
 * freed, so that a process may die between any two stores.
 *
 * While the machine runs, the kernel keeps every page as it was stored last.
 * After a power cut each page and each file may have any earlier state. So
 * LENGTH is valid only in the boot that the head names. SYNCED is always valid
 * if the head says JOURNAL_SYNCED: it is stored after that many bytes were
 * synced, so every state of the page is true.
 */
#ifndef STORE_JOURNAL_FORMAT_H
#define STORE_JOURNAL_FORMAT_H

#include <stdint.h>

#define JOURNAL_PREFIX ".tracepulse-journal."
#define JOURNAL_MAGIC UINT32_C(0x54504a32) /* "TPJ2" */
#define JOURNAL_SLOT 128
#define JOURNAL_PIECE (JOURNAL_SLOT - 16)
/* 32 MiB: more files than a worker can serve. A larger file is not a journal.
 * */
#define JOURNAL_SLOTS_MAX (UINT32_C(1) << 18)
#define JOURNAL_BOOT 40

enum journal_kind {
	JOURNAL_FREE = 0,
	JOURNAL_HEAD, /* slot 0 */
	JOURNAL_ROOT, /* the first piece of a path of a directory */
	JOURNAL_MORE, /* a further piece */
	JOURNAL_FILE,
};

struct journal_slot {
	uint32_t kind; /* enum journal_kind */
	/* FILE: the slot of its root. ROOT: the number of its FILEs, used only
	 * by its owner. */
	uint32_t root;
	/* ROOT, MORE: the slot of the next piece, 0: none. FREE, FILE: used
	 * only by the owner. */
	uint32_t next;
	uint32_t piece_len;
	union {
		struct {
			uint64_t ino, length;
			uint64_t synced;   /* bytes that were synced */
			uint64_t born;	   /* ns since the epoch; 0: unknown */
			uint32_t is_index; /* 1: an index file */
			uint64_t round;	   /* used only by the owner */
		} file;
		struct {
			uint32_t magic;
			uint32_t sync;		 /* enum journal_sync_kind */
			char boot[JOURNAL_BOOT]; /* empty: unknown */
		} head;
		char piece[JOURNAL_PIECE];
	};
};

_Static_assert(sizeof(struct journal_slot) == JOURNAL_SLOT, "slot size");

/* The id of this boot; empty if unknown. */
void journal_boot(char out[JOURNAL_BOOT]);

#endif
