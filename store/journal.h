/* SPDX-License-Identifier: MIT */
/*
 * The journal of open streams: which files are being written, and the length of
 * their complete part, so that a start after kill -9 can cut torn ends.
 *
 * There is one file per worker, `.tracepulse-journal.<16 hex digits>` in the
 * output directory, mapped shared: a commit stores two numbers without a system
 * call, and the kernel keeps them when the process dies. The file is created
 * when the first trace file is opened and removed when the last one is closed,
 * and is locked with flock(2) meanwhile. Trace files are named by inode below a
 * root (the session's directory), so that no entry changes when a trace chunk
 * moves.
 *
 * After a power cut the pages of the journal may be older than the files. So
 * the journal names the boot in which its lengths are valid, and stores next to
 * each length how many bytes have been synced, which is valid in every boot.
 * With --sync=TIME the entry of a closed file stays until the file is synced
 * completely.
 *
 * Single owner. Recovery (store/recovery.h) leaves the journals of running
 * relays alone.
 */
#ifndef STORE_JOURNAL_H
#define STORE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "common/list.h"
#include "common/publish.h"
#include "common/relpath.h"
#include "common/status.h"
#include "store/journal_format.h"

struct dir_id;
struct reserve;
struct state_in;
struct state_out;
struct syncer;

/* What is known to be on the disk. The values are stored in journals. */
enum journal_sync_kind {
	JOURNAL_UNSYNCED = 0,
	/* up to the length that journal_set_synced() or the syncer stored */
	JOURNAL_SYNCED = 1,
	JOURNAL_SYNCED_AT_CLOSE = 2, /* closed files only */
};

struct journal_config {
	enum journal_sync_kind sync;
	struct syncer *syncer;	 /* borrowed, or NULL */
	struct reserve *reserve; /* borrowed, or NULL */
};

/* With --sync=TIME: when this many closed files wait to be synced, a round is
 * requested early. Otherwise rings of small files would fill the journal. */
#define JOURNAL_CLOSED_MAX 8192

/* The fields are for journal.c and its test. */
struct journal {
	int base_fd, fd;
	struct journal_slot *slots;
	uint32_t n_slots, n_fresh; /* slots from n_fresh on were never used */
	uint32_t free_list;	   /* linked by slot->next; 0: empty */
	struct list files;	   /* open files without a slot */
	uint64_t n_files;	   /* open files */
	bool is_failing;	   /* a warning was logged */
	uint64_t retry_ns;	   /* when to try again, if is_failing */
	uint64_t number; /* in the name of the last file; the first is random */
	char name[64];
	bool has_new_name; /* the name may not be synced yet */
	char boot[JOURNAL_BOOT];
	struct journal_config config;
	bool is_ending;	    /* journal_end() was called */
	struct list marked; /* files whose length is not synced */
	/* Slots of closed files that are not synced, linked by slot->next,
	 * oldest first; 0: none. */
	uint32_t leaving, last_leaving, n_leaving;
	/* Slots of closed files whose bytes may never reach the disk. */
	uint32_t n_doubtful;
	uint64_t
	    failed; /* the last failed round of the syncer that was handled */
	uint64_t hurried; /* the round that was requested early */
};

/* BASE_FD is borrowed. CONFIG NULL: nothing is synced. E_NOMEM. */
enum status journal_create(struct journal **out, int base_fd,
    const struct journal_config *config) MUST_CHECK;
/* With a syncer, or after journal_end(), it may wait for the disk. NULL is
 * fine. */
void journal_destroy(struct journal *j);
/* From now on, unless nothing is synced: entries of closed files stay until
 * journal_destroy(), which syncs the file system first. */
void journal_end(struct journal *j);
/* Another process may go on with the files: sync them with a syncer, and remove
 * the journal's file. As in journal_destroy() it stays if that fails, but then
 * only says what is synced: in this boot no file is cut, as the next process
 * writes it or nobody, and it may have more than was counted. J is not used any
 * more. */
void journal_leave(struct journal *j);
/* Has somebody removed the journal's file? */
bool journal_is_gone(const struct journal *j);

/* A directory that has files of the journal below it. The owner sets only PATH,
 * which is borrowed. The root has a slot while one of its files has one. */
struct journal_root {
	const struct relpath *path;
	uint32_t slot;	  /* 0: none */
	uint32_t n_files; /* its files that have a slot */
};

/*
 * The owner's part of an entry: all zeros before journal_add_file() and after
 * journal_remove_file(), which does nothing with zeros. Adding cannot fail: on
 * a full disk the file is remembered, a warning is logged once, and later calls
 * try again, at most once in JOURNAL_RETRY_NS. Until then the file is recorded
 * without a journal.
 */
struct journal_file {
	struct list node; /* journal->files, while it has no slot */
	struct journal_root *root;
	uint64_t ino, born; /* as in struct dir_id */
	uint64_t length;
	uint32_t slot;
	bool is_index;	  /* an index file */
	bool is_doubtful; /* some bytes may never reach the disk */
	/* With a syncer: mark_length bytes are synced after round mark_round.
	 * Of a file of the process before, that many are synced until it is
	 * marked. */
	struct list mark_node;
	uint64_t mark_length, mark_round;
};

#define JOURNAL_RETRY_NS (50 * NS_PER_MS)

/* ROOT is borrowed until the entry is removed. */
void journal_add_file(struct journal *j, struct journal_file *file,
    struct journal_root *root, const struct dir_id *id, bool is_index);
/* The first LENGTH bytes are complete; 0 after journal_add_file(). */
void journal_set_length(
    struct journal *j, struct journal_file *file, uint64_t length);
/* The first LENGTH bytes are synced. */
void journal_set_synced(
    struct journal *j, struct journal_file *file, uint64_t length);
/* Store the lengths that the syncer has synced by now. Returns the number of ns
 * until the next call; UINT64_MAX: nothing is pending. */
uint64_t journal_tick(struct journal *j);
/* Sync the journal itself. E_IO: see errno. */
enum status journal_sync(struct journal *j) MUST_CHECK;
/* The file is closed. With a syncer its entry stays until it is synced
 * completely; ROOT may be freed at once. */
void journal_remove_file(struct journal *j, struct journal_file *file);

/* A restart (common/state.h): which file it is, and what of it is synced. When
 * it is read, it is added: its first LENGTH bytes are complete. E_MALFORMED. */
void journal_put_file(struct state_out *o, const struct journal *j,
    const struct journal_file *file);
enum status journal_get_file(struct journal_file *file, struct state_in *in,
    struct journal *j, struct journal_root *root, bool is_index,
    uint64_t length) MUST_CHECK;

#endif
