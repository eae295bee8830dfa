/* SPDX-License-Identifier: MIT */
/*
 * What all files of one worker share: packet memory, the output directory, the
 * budget of descriptors, the policies for syncing and locking, and counters for
 * the status line. Single owner.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/compiler.h"
#include "common/list.h"
#include "common/status.h"
#include "store/packet.h"

struct output;
struct dir_registry;
struct stored_notifier;
struct syncer;

enum store_sync {
	STORE_SYNC_NONE,
	STORE_SYNC_CLOSE,
	STORE_SYNC_PACKET,
	STORE_SYNC_TIME, /* by the syncer */
};

struct store_config {
	int base_fd; /* output directory; borrowed */
	/* Its path, borrowed. If another directory is at this path when a
	 * session is created, that one is used. NULL: base_fd is always used.
	 * */
	const char *output;
	unsigned max_files; /* open descriptors of trace files */
	/* After this time records are written without waiting for a reader's
	 * lock any longer. */
	uint64_t index_lock_timeout_ns;
	enum store_sync sync;
	bool has_no_reserve;   /* see reserve_disable() */
	struct syncer *syncer; /* borrowed; NULL except for STORE_SYNC_TIME */
	uint64_t max_cached;   /* bytes of packet memory kept for reuse */
	struct published *memory;      /* account of packet memory; borrowed */
	struct dir_registry *registry; /* of session directories; borrowed */
	/* Is notified of directories that are created; borrowed, or NULL. */
	struct stored_notifier *stored;
};

/* The daemon should end within a second, and reads sockets for 300 ms of it. On
 * a slow disk a sync takes 12 ms, and 500 files may have to be created. */
#define STORE_LAST_SYNCS_NS (400 * NS_PER_MS)

struct store {
	struct store_config config;
	struct packet_pool packets;
	struct output *output;	/* for new sessions; see store_output() */
	struct list open_files; /* tracefiles with descriptors, least recently
				   used first */
	unsigned n_open;	/* the number of these descriptors */
	unsigned n_lent; /* descriptors borrowed in addition to max_files */
	uint64_t chunk_serials;	  /* the last serial number of a chunk */
	uint64_t names_bytes;	  /* memory for names of all chunks */
	struct list old_families; /* struct chunk_family, to free */
	bool is_ending;		  /* store_end() was called */
	uint64_t ending_since_ns;
	struct buf_spares spares; /* for index records */
	/* counters since the start */
	uint64_t packets_written, bytes_written, records_written;
	uint64_t write_errors, sync_errors, locks_forced;
	/* When an error was last logged: on a full disk every packet fails. */
	uint64_t last_error_log;
	uint64_t last_full_log; /* the same for a full disk */
	uint64_t last_lock_log; /* the same for locks of readers */
};

enum status store_create(
    struct store **out, const struct store_config *config) MUST_CHECK;
void store_destroy(struct store *s); /* NULL is fine */

/* The output directory for a new session, borrowed. It is opened or created
 * again if somebody removed or replaced it. */
struct output *store_output(struct store *s);

/* Call it at the end of a cycle. Returns the number of ns until the next call.
 * */
uint64_t store_tick(struct store *s);

/* The daemon is ending and has little time. From now on only journal entries of
 * new files are synced, and after STORE_LAST_SYNCS_NS nothing is: a power cut
 * before the end can then leave such a file incomplete. Journals keep the
 * entries of closed files, and sync their file system once before they are
 * removed. */
void store_end(struct store *s);
/* Another process goes on with all files: remove the journal. With --sync=TIME
 * what it said is on the disk first. The store is not used any more. */
void store_leave(struct store *s);
/* Has the time for syncs at the end expired? */
bool store_is_late_to_sync(const struct store *s);

/* Is each packet synced on its own? */
bool store_syncs_packets(const struct store *s);
/* Do workers sync names? With STORE_SYNC_TIME the syncer does. */
bool store_syncs_names(const struct store *s);
/* A sync failed, with errno set. It is counted, and logged with PATH and NAME
 * at most once a second. */
void store_sync_failed(struct store *s, const char *path, const char *name);

#endif
