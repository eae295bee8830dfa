/* SPDX-License-Identifier: MIT */
/*
 * The noted directories in memory: which exist, who uses them, and in which
 * order the ended ones would be deleted. Only table_move() accesses the disk.
 * Single owner: the retention thread.
 */
#ifndef RELAYD_RETENTION_TABLE_H
#define RELAYD_RETENTION_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/idmap.h"
#include "common/list.h"
#include "common/status.h"
#include "store/dir.h"
#include "store/notes.h"
#include "store/stored.h"

struct dir_node;
struct dir_registry;

struct entry {
	struct list node;  /* table->all, by number */
	struct list order; /* table->ended, by ended_ns; if it may be deleted */
	struct list active;   /* table->active: a session that has not ended */
	struct list to_count; /* table->to_count: its bytes are not known */
	struct list children; /* struct entry, by sibling */
	struct list sibling;
	struct entry *parent;	/* the session that it is in; NULL: none */
	struct dir_node *place; /* its path in the tree of all directories */
	uint64_t number; /* from 1, in the order in which they were added */
	enum stored_kind kind;
	uint64_t ino, born;
	uint64_t began_ns, ended_ns, bytes;
	uint64_t seen_end_ns; /* clock_now_ns() then; 0: before this start */
	bool is_ended, is_kept;
	bool is_unreadable; /* as its metadata is missing; known if counted */
	bool has_losses;    /* known if counted */
	uint64_t mark;	    /* of the last dry run that deletes it */
	uint64_t retry_ns;  /* it could not be deleted: not before then */
	unsigned
	    n_refused; /* times that a newer directory prevented its deletion */
	struct stored_dir **users; /* references */
	unsigned n_users;
	char *path; /* where it is, below the output directory */
	char *name; /* where it was created */
	const char *host, *session; /* in NAME's memory */
	size_t name_size;	    /* of that */
};

struct table {
	struct list all, ended, active, to_count;
	struct idmap by_id;
	struct dir_registry *registry; /* borrowed: paths -> entries */
	struct dir_id output; /* that paths are below; set by the owner */
	uint64_t last_number, n, n_kept;
	uint64_t memory;     /* bytes that the entries take */
	uint64_t memory_max; /* for new ones; 0: no limit */
	uint64_t bytes;	     /* of those that have ended */
};

void table_init(struct table *t, struct dir_registry *registry);
/* Remove all; the table can be used again, with another OUTPUT. */
void table_clear(struct table *t);

/* An entry for a directory that was created or is used again: the existing one
 * with this identity, if any. The caller removes another entry at the same path
 * first (table_find_path()). The entry is active. E_NOMEM; E_LIMIT: MEMORY_MAX
 * is used up. */
enum status table_add(struct table *t, const struct notes_row *from,
    struct entry **out) MUST_CHECK;
void table_remove(struct table *t, struct entry *take_e);
struct entry *table_find_id(const struct table *t, uint64_t ino, uint64_t born);
struct entry *table_find_path(const struct table *t, const char *path);

/* The entry after E; E NULL: the first. NULL: there is none. */
struct entry *table_next(const struct table *t, const struct entry *e);

/* E has ended. COUNTED: it has BYTES on the disk; otherwise they must be
 * counted. */
void table_end(struct table *t, struct entry *e, uint64_t ended_ns,
    uint64_t bytes, bool counted);
void table_set_bytes(struct table *t, struct entry *e, uint64_t bytes);
void table_keep(struct table *t, struct entry *e, bool keeps);
/* E is at PATH from now on. BASE, unless it is -1: rename its directory, which
 * is below BASE. On failure nothing changes. E_NOMEM, or as dir_rename(). */
enum status table_move(
    struct table *t, struct entry *e, const char *path, int base) MUST_CHECK;
/* Add a user, a reference. E_NOMEM: the reference is dropped. */
enum status table_use(struct entry *e, struct stored_dir *take_user) MUST_CHECK;
/* Drop former users. True: somebody uses it. */
bool table_is_used(struct entry *e);

/* Bytes of all, also of the active ones. */
uint64_t table_bytes(const struct table *t);
/* Bytes of one. */
uint64_t table_bytes_of(const struct entry *e);
/* Is it kept, or the session that contains it? */
bool table_is_kept(const struct entry *e);

#endif
