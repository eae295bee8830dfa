/* SPDX-License-Identifier: MIT */
/*
 * What one worker's files share: packet memory, the output directory, the
 * budget of descriptors, the policy of syncing and locking, and figures for the
 * status line. Single owner.
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
struct stored_door;
struct syncer;

enum store_sync {
	STORE_SYNC_NONE,
	STORE_SYNC_CLOSE,
	STORE_SYNC_PACKET,
	STORE_SYNC_TIME, /* by the syncer */
};

struct store_config {
	int base_fd; /* output directory; borrowed */
	/* Its path, borrowed. If another directory stands there when a session
	 * comes, that is used. NULL: base_fd is always used. */
	const char *output;
	unsigned max_files; /* descriptors of trace files kept open */
	/* After waiting so long for a reader's lock, records are written
	 * without it. */
	uint64_t index_lock_timeout_ns;
	enum store_sync sync;
	bool has_no_reserve;	  /* see reserve_disable() */
	struct syncer *syncer;	  /* borrowed; NULL but for STORE_SYNC_TIME */
	uint64_t max_cached;	  /* bytes of packet memory kept for reuse */
	struct published *memory; /* account of packet memory; borrowed */
	struct dir_registry *registry; /* of session directories; borrowed */
	/* Is told of directories that are made; borrowed. NULL: nobody is. */
	struct stored_door *stored;
};

/* How often a disk without room is logged. */
#define STORE_FULL_LOG_NS (10 * NS_PER_S)
/* The daemon is to end within a second, and reads sockets for 300 ms of it. On
 * a slow disk a sync takes 12 ms, and 500 files may be left to make. */
#define STORE_LAST_SYNCS_NS (400 * NS_PER_MS)

struct store {
	struct store_config config;
	struct packet_pool packets;
	struct output *output;	/* for the next session; see store_output() */
	struct list open_files; /* tracefiles with descriptors, oldest first */
	unsigned n_open;	/* their descriptors */
	unsigned n_lent;	/* that they may have beyond max_files */
	uint64_t chunk_serials; /* the last serial that was given */
	uint64_t names_bytes;	/* that of all chunks */
	struct list old_families; /* struct chunk_family, to be freed */
	bool is_ending;		  /* store_end() was called */
	uint64_t ending_since_ns;
	struct buf_spares spares; /* for records of one stream at a time */
	/* figures since the start */
	uint64_t packets_written, bytes_written, records_written;
	uint64_t write_errors, sync_errors, locks_forced;
	/* When an error was last logged: on a full disk every packet fails. */
	uint64_t last_error_log;
	uint64_t last_full_log; /* the same, for lack of room */
	uint64_t last_lock_log; /* readers take many locks */
};

enum status store_create(
    struct store **out, const struct store_config *config) MUST_CHECK;
void store_destroy(struct store *s); /* NULL is fine */

/* May a packet of BYTES be tried now? While the disk is full: only if there is
 * room for it (store/reserve.h). */
bool store_may_try(struct store *s, uint64_t bytes);

/* Did the last write that could lack room find none? */
bool store_is_full(const struct store *s);

/* The output directory for a new session, borrowed. It is opened or made again
 * if somebody removed or replaced it. */
struct output *store_output(struct store *s);

/* For the end of a turn: see journal_tick(), reserve_tick() and
 * tracefile_pool_tick(). */
uint64_t store_tick(struct store *s);

/* The daemon ends, and has little time: only that there is a new file is synced
 * by itself, in the journal, and after STORE_LAST_SYNCS_NS not even that: such
 * a file may be torn if the power goes before the end. Journals keep the
 * entries of closed files, and each syncs its whole file system before it
 * goes. */
void store_end(struct store *s);
/* Has it ended for so long that nothing more is synced by itself? */
bool store_is_late_to_sync(const struct store *s);

/* Is each packet synced? */
bool store_syncs_packets(const struct store *s);
/* Do the workers sync names? With STORE_SYNC_TIME the syncer does. */
bool store_syncs_names(const struct store *s);
/* A sync failed, errno says why: what is durable cannot be promised. Counted,
 * logged with PATH and NAME once a second. */
void store_sync_failed(struct store *s, const char *path, const char *name);

#endif
