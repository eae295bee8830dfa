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

/* What is free, with what was deleted and is not told of yet. */
struct disk_room {
	bool is_known;
	uint64_t free, total; /* bytes, as the system says */
	uint64_t pending;     /* deleted, not seen in FREE yet */
	uint64_t pending_until_ns;
	/* Writes that found no room (store/room.h), also where the system
	 * says that there is some, as with a quota. */
	uint64_t wanted_seen;
	bool is_wanted;
};

/* The directory that is being deleted. */
struct victim {
	struct entry *entry; /* NULL: none */
	enum deleted reason;
	int fd; /* of the directory, locked */
	struct tree *tree;
};

struct retention {
	const char *output;
	uint64_t memory_max;
	uint64_t n_unnoted, last_full_log;
	int base_fd; /* -1: the output directory is not there */
	bool is_loaded;
	bool has_followed;   /* the output directory, since the last turn */
	struct notes *notes; /* NULL: nothing is noted, and nothing deleted */
	struct table table;
	struct retention_limits limits;
	struct disk_room room;
	struct victim victim;
	struct tree *count; /* of the first of table.to_count */
	struct entry *counted;
	int count_fd;
	uint64_t next_tick_ns;
	/* Looking whether entries are still there. */
	struct entry *look_at;	/* the next; NULL: from the first on */
	uint64_t pass_began_ns; /* at the first */
	uint64_t fresh_ns;   /* when the last pass over all began; 0: never */
	uint64_t last_mark;  /* of dry runs */
	bool must_look;	     /* all at once, before more is deleted */
	bool is_stuck;	     /* limits do not hold, nothing can go: logged */
	bool has_lost_lines; /* the notes are to be written anew */
	uint64_t tidy_ns;    /* not before; 0: now */
	struct stored_info *waiting; /* for the end of a deletion */
	void (*answer)(void *arg, struct stored_info *take_i);
	void *answer_arg;
	struct stats *stats;
};

/* retention_notes.c */
/* Open the output directory and read the notes; nothing is kept of another one
 * before. */
void retention_load(struct retention *r);
void retention_unload(struct retention *r);
/* Lines for E. */
void retention_note_made(struct retention *r, const struct entry *e);
void retention_note_ended(struct retention *r, const struct entry *e);
void retention_note_kept(struct retention *r, const struct entry *e);
void retention_note_moved(
    struct retention *r, const struct entry *e, const char *path);
void retention_note_gone(struct retention *r, const struct entry *e);
/* Have the lines in the file; SYNCS: and on the disk. E_IO. */
enum status retention_flush(struct retention *r, bool syncs) MUST_CHECK;
/* Write all anew if most lines do not count any more. */
void retention_tidy(struct retention *r);

/* retention_delete.c */
/* Look at the file system. */
void retention_look_at_room(struct retention *r);
/* What --keep-free means here, bytes; 0: nothing. */
uint64_t retention_keep_free(const struct retention *r);
/* Which limit does not hold. False: all do. */
bool retention_is_over(struct retention *r, enum deleted *reason);
/* Go on deleting. False: there is nothing to do. */
bool retention_delete_step(struct retention *r);
void retention_give_up_victim(struct retention *r);
/* Nothing of it is there any more: forget it. */
void retention_forget(struct retention *r, struct entry *e);
/* The directory of E, open; E_NOENT: it is not there, or another one is. */
enum status retention_open(
    struct retention *r, const struct entry *e, int *fd) MUST_CHECK;

/* retention_answer.c */
void retention_fill_item(const struct entry *e, struct stored_item *to);
/* E was deleted: those who wait are told with the answer. */
void retention_tell_deleted(
    struct retention *r, const struct stored_item *item);
/* Answer those who wait, if nothing goes on, or their time is over. */
void retention_answer_waiting(struct retention *r, bool is_idle);

#endif
