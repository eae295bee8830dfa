/* SPDX-License-Identifier: MIT */
/*
 * The journal of open streams: which files are being written and how long
 * their whole part is, so that a start after kill -9 can cut what was torn.
 *
 * One file per worker, `.tracepulse-journal.<16 hex digits>` in the output
 * directory, mapped shared: a commit stores two numbers and makes no system
 * call, and what was stored survives the process. The file is made when the
 * first trace file is opened and removed as soon as the last one is closed:
 * where nothing is recorded, there is no journal. It is locked with flock(2)
 * while it exists. Trace files are named by inode below a root (the session's
 * directory), so that no entry changes when a trace chunk moves.
 *
 * After a power cut its pages may be older than the files. So it names the boot
 * that its lengths are good for, and says beside them how many bytes are on the
 * disk, which is true in every boot. With --sync=TIME the entry of a file that
 * was closed stays until all of it is there.
 *
 * Single owner. journal_recover() is called before there are any journals, or
 * while others are there: it leaves those alone.
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

struct reserve;
struct syncer;

/* What is on the disk for certain. The numbers stand in journals. */
enum journal_sync_kind {
	JOURNAL_UNSYNCED = 0,
	/* The length that journal_set_synced() or the syncer told. */
	JOURNAL_SYNCED = 1,
	JOURNAL_SYNCED_AT_CLOSE = 2, /* files that are closed */
};

struct journal_config {
	enum journal_sync_kind sync;
	struct syncer *syncer; /* NULL: none; borrowed */
	struct reserve *reserve;     /* has a reserve, or NULL; borrowed */
};

/* With --sync=TIME: when so many slots of closed files wait for the disk, a
 * round is asked for early, or rings of small files would fill the journal. */
#define JOURNAL_CLOSED_MAX 8192

/* The fields are for journal.c and its test. */
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

/* BASE_FD is borrowed. CONFIG NULL: nothing is synced. */
enum status journal_create(struct journal **out, int base_fd,
    const struct journal_config *config) MUST_CHECK;
/* With a syncer, or after journal_end(), it may wait for the disk. NULL is
 * fine. */
void journal_destroy(struct journal *j);
/* From now on, if anything is synced at all: entries of files that are closed
 * stay until journal_destroy(), which syncs the whole file system first. */
void journal_end(struct journal *j);
/* True: the journal had a file, and somebody removed it. */
bool journal_is_gone(const struct journal *j);

/* A directory with files of the journal below it. The owner sets only PATH,
 * which is borrowed. The root has a slot while one of its files has one. */
struct journal_root {
	const struct relpath *path;
	uint32_t slot;	  /* 0: none */
	uint32_t n_files; /* how many of its files have a slot */
};

/* Which file it is. */
struct journal_id {
	uint64_t ino;
	uint64_t born; /* as in struct dir_id */
	bool is_index; /* it is the index of the data file beside its folder */
};

/*
 * The owner's part of an entry: all zeros before journal_add_file() and after
 * journal_remove_file(), which does nothing with zeros. Adding cannot fail: if
 * there is no room for a file (the disk is full), the file is remembered, a
 * warning is logged once, and the next calls try again, but only once in
 * JOURNAL_RETRY_NS. Meanwhile the relay records such files without a journal.
 */
struct journal_file {
	struct list node; /* in the list of files without a slot */
	struct journal_root *root;
	struct journal_id id;
	uint64_t length;
	uint32_t slot;
	bool is_doubtful; /* bytes of it may never get to the disk */
	/* With a syncer: that length is on the disk after that round. */
	struct list mark_node;
	uint64_t mark_length, mark_round;
};

#define JOURNAL_RETRY_NS (50 * NS_PER_MS)

/* ROOT is borrowed until the entry is removed. */
void journal_add_file(struct journal *j, struct journal_file *file,
    struct journal_root *root, const struct journal_id *id);
/* Bytes up to LENGTH are whole; after journal_add_file() the length is 0. */
void journal_set_length(
    struct journal *j, struct journal_file *file, uint64_t length);
/* Bytes up to LENGTH are on the disk. */
void journal_set_synced(
    struct journal *j, struct journal_file *file, uint64_t length);
/* Store the lengths that the syncer has on the disk by now. Returns after how
 * many ns there is more to store; UINT64_MAX: all is stored. */
uint64_t journal_tick(struct journal *j);
/* Have the journal itself on the disk. E_IO: errno says why. */
enum status journal_sync(struct journal *j) MUST_CHECK;
/* The file is closed. With a syncer its entry stays until all of it is on the
 * disk; ROOT is free at once. */
void journal_remove_file(struct journal *j, struct journal_file *file);

/*
 * Cut the torn ends of files that a killed relay left below BASE_FD, as its
 * journals say, and remove these journals. Journals of running relays are left
 * alone. Logs one line per file cut. Returns the number of files cut.
 */
unsigned journal_recover(int base_fd);
/* The same, but it returns early when *STOP is not 0; what is left is for the
 * next start. */
unsigned journal_recover_until(int base_fd, const struct published *stop);

#endif
