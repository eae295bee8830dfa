/* SPDX-License-Identifier: MIT */
/* What the files retention*.c share; not for other files. */
#ifndef RELAYD_RETENTION_RETENTION_INTERNAL_H
#define RELAYD_RETENTION_RETENTION_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "relayd/retention/retention.h"
#include "relayd/retention/table.h"
#include "relayd/stats/stats.h"
#include "store/notes.h"
#include "store/tree.h"

/* The free space, and what was deleted but is not reported as free yet. */
struct disk_space {
	bool is_known;
	uint64_t free, total; /* bytes, from statvfs() */
	uint64_t pending;     /* deleted, but not in FREE yet */
	uint64_t pending_until_ns;
};

/* What the limits are compared with, in bytes: now, or in a dry run. */
struct usage {
	uint64_t use, free;
	/* The same if everything deletable were deleted. A limit that would
	 * still be exceeded deletes nothing. */
	uint64_t least_use, most_free;
};

/* The directory that is being counted or deleted. Before a deletion everything
 * below the directory is checked. */
struct job {
	struct entry *entry; /* NULL: none */
	enum job_step { JOB_COUNT, JOB_CHECK, JOB_REMOVE } step;
	enum deleted reason;
	int fd; /* of the directory; locked, unless it is only counted */
	/* On the path: no session begins at it, above it or below it. */
	struct dir_claim *claim;
	struct tree *tree;
	bool has_newer; /* a directory in it, born after the end of ENTRY */
};

struct retention {
	const char *output, *state_dir;
	uint64_t memory_max;
	uint64_t n_unnoted, last_full_log;
	int base_fd; /* -1: the output directory is not there */
	bool is_loaded;
	struct notes *notes; /* NULL: nothing is noted, and nothing deleted */
	bool is_locked_out;  /* NOTES is NULL for a reason that may pass */
	bool has_logged_why; /* why NOTES is NULL was logged */
	struct table table;
	struct retention_limits limits;
	struct disk_space disk;
	struct job job;
	uint64_t next_tick_ns; /* 0: check the limits in the next step */
	/* The check whether entries still exist. */
	struct entry *next_to_check; /* the next; NULL: from the first on */
	uint64_t pass_began_ns;	     /* at the first */
	uint64_t fresh_ns;  /* when the last pass over all began; 0: never */
	uint64_t last_mark; /* see struct entry */
	bool must_check;    /* all at once, before more is deleted */
	struct usage usage;
	bool is_estimated; /* since the last tick, in USAGE */
	bool is_unreachable[DELETED_REASONS]; /* it was logged */
	bool has_unnoted;		      /* something could not be noted */
	struct stored_info *waiting;	      /* for the end of a deletion */
	void (*answer)(struct stored_info *take_i);
	struct stats *stats;
};

/* retention.c */
/* Note that E is, or will be, at PATH. */
void retention_note(
    struct retention *r, const struct entry *e, const char *path);
/* Write the notes to the file; SYNCS: also to the disk. E_IO. */
enum status retention_flush(struct retention *r, bool syncs) MUST_CHECK;

/* retention_delete.c */
/* Read the free space of the file system. */
void retention_measure_disk(struct retention *r);
/* --keep-free in bytes; 0: none. */
uint64_t retention_keep_free(const struct retention *r);
/* Measure the usage now, and what it would be without all that may be
 * deleted. */
void retention_measure(struct retention *r, struct usage *o);
void retention_estimate(struct retention *r, struct usage *o);
/* May E be deleted now? Entries with MARK count as deleted. */
bool retention_may_delete(
    const struct retention *r, struct entry *e, uint64_t mark);
/* Must E, the oldest deletable entry, be deleted? For which limit? */
bool retention_is_due(const struct retention *r, const struct usage *o,
    const struct entry *e, enum deleted *reason);
/* Continue the job, or begin one. False: there is nothing to do. */
bool retention_work(struct retention *r);
void retention_end_job(struct retention *r);
/* retention.c: all of the directory was counted. */
void retention_end_count(struct retention *r);
/* The directory is gone: forget it. */
void retention_forget(struct retention *r, struct entry *e);
/* Open the directory of E. E_NOENT: it is missing, or replaced. */
enum status retention_open(
    struct retention *r, const struct entry *e, int *fd) MUST_CHECK;

/* retention_answer.c */
void retention_fill_item(const struct entry *e, struct stored_item *to);
/* Add a deleted trace to the answers of the requests that wait. */
void retention_report_deleted(
    struct retention *r, const struct stored_item *item);
/* Answer the requests that wait, if there is no more work or their time is
 * over. */
void retention_answer_waiting(struct retention *r, bool is_idle);

#endif
