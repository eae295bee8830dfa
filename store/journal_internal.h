/* SPDX-License-Identifier: MIT */
/* What journal.c, which has the slots, and journal_marks.c, which knows what of
 * them is on the disk, share. Nobody else includes it. */
#ifndef STORE_JOURNAL_INTERNAL_H
#define STORE_JOURNAL_INTERNAL_H

#include "store/journal.h"
#include "store/journal_format.h"

/* With --sync=TIME: when so many slots of closed files wait for the disk, a
 * round is asked for early, or rings of small files would fill the journal. */
#define JOURNAL_LEAVING_MAX 8192

struct journal {
	int base_fd, fd;
	struct journal_slot *slots;
	uint32_t n_slots, n_fresh; /* slots from n_fresh on were never used */
	uint32_t free_list;	   /* by slot->next, 0: empty */
	struct list files;	   /* those without a slot */
	uint64_t n_files;	   /* all that are open */
	bool is_failing;	   /* a warning was logged */
	uint64_t retry_ns;	   /* while failing: the time of the next try */
	uint64_t number;	   /* of the last file; the first is random */
	char name[64];
	bool has_new_name; /* it is perhaps not on the disk yet */
	char boot[JOURNAL_BOOT];
	struct journal_config config;
	bool is_ending;	    /* journal_end() was called */
	struct list marked; /* files whose length is not on the disk */
	/* Slots of closed files whose bytes are not on the disk, by slot->next,
	 * the oldest first; 0: none. */
	uint32_t leaving, last_leaving, n_leaving;
	/* Slots of closed files whose bytes may never get there. */
	uint32_t n_doubtful;
	uint64_t failed;  /* the syncer's last failure that is known here */
	uint64_t hurried; /* the round that was asked for early */
};

/* Remove the file: the journal is now without one. Keeps errno. */
void journal_leave(struct journal *j);
/* The same, if it names no file. */
void journal_leave_if_empty(struct journal *j);
/* Free slot N of a file, and that of its root with the last one. */
void journal_leave_file(struct journal *j, uint32_t n);
/* FILE, which has a slot, is closed, but perhaps not on the disk. */
void journal_leave_later(struct journal *j, const struct journal_file *file);
/* Note the length that the next round of the syncer has on the disk. */
void journal_mark(struct journal *j, struct journal_file *file);

#endif
