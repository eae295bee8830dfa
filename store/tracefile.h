/* SPDX-License-Identifier: MIT */
/*
 * One tracefile: a data file, and an index file if the session has indexes
 * (streaming 5.4, 5.6). Packets are appended whole: first the bytes, by one
 * pwritev(2) for as many packets as are ready, then their records, under an
 * exclusive flock(2) on the index file that is never waited for. What is
 * written never moves. The part of a packet that could not be written whole is
 * cut off.
 *
 * Descriptors may be closed while the file is idle, and are opened again for
 * the next packet (--fd-pool-size). Single owner.
 */
#ifndef STORE_TRACEFILE_H
#define STORE_TRACEFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/list.h"
#include "common/status.h"
#include "store/journal.h"
#include "store/reorder.h"

struct state_in;
struct state_out;
struct chunk;
struct chunk_family;
struct log_file;
struct index_record;
struct packet;
struct packet_log;
struct session_dir;
struct store;

enum tracefile_index {
	TRACEFILE_NO_INDEX,
	TRACEFILE_INDEX_1_0,
	TRACEFILE_INDEX_1_1
};

struct tracefile_file {
	int fd; /* -1: closed, or not created yet */
	bool is_made;
	bool has_tail;	 /* tracefile_settle() has written more behind LENGTH */
	uint64_t length; /* bytes of whole packets or records, with padding */
	struct journal_file journal;
};

/* Others read data.length. The chunk counts both lengths. */
struct tracefile {
	struct store *store;
	struct chunk *chunk;
	/* The directory (a reference) and n_restored of the chunk when the file
	 * was created, see tracefile_lost_place(). */
	struct session_dir *dir;
	unsigned n_restored;
	enum tracefile_index index_format;
	struct chunk_family *family;
	uint64_t number;
	bool is_discarded;
	bool replaces; /* an older file in a ring */
	struct tracefile_file data, index;
	uint64_t ahead;		/* bytes after data.length, not counted yet */
	struct buf waiting;	/* encoded records that are not written */
	uint64_t waiting_first; /* net_seq of the first of their packets */
	uint64_t
	    waiting_since; /* since when they wait for a lock; 0: they do not */
	struct list open_node; /* store->open_files */
	/* Of tracefile_set_log(), or NULL. */
	struct packet_log *log;
	/* The entry for this file in the log; NULL: no log, or already added.
	 * */
	struct log_file *log_file;
};

/* Bytes of records that may wait for a reader's lock: 14,000 records. Above it,
 * they are written without the lock. */
#define TRACEFILE_WAITING_MAX (1024 * 1024)

/*
 * Create file NUMBER of the family (the number is ignored unless the family is
 * numbered). Never truncates: E_EXISTS. REPLACES: a file of that number is the
 * oldest of a ring and is unlinked first. The index file is created with the
 * first packet. Takes a reference on CHUNK; FAMILY belongs to it. E_NOENT: the
 * chunk's directory was removed. E_NOSPC, E_IO, E_NOMEM.
 */
enum status tracefile_create(struct tracefile **out, struct store *store,
    struct chunk *chunk, struct chunk_family *family, uint64_t number,
    bool replaces, enum tracefile_index index) MUST_CHECK;

/*
 * Continue the only file of the family, which an earlier session of the same
 * sender has left in this directory: it is cut to the packets that have
 * records. E_NOENT: there is none. E_EXISTS: it is not such a file, and was
 * left alone. Else as tracefile_create().
 */
enum status tracefile_continue(struct tracefile **out, struct store *store,
    struct chunk *chunk, struct chunk_family *family,
    enum tracefile_index index) MUST_CHECK;
/* The number of records in the index file; unless it is 0, *LAST is the last of
 * them. What cannot be read counts as none. */
uint64_t tracefile_records(
    const struct tracefile *tf, struct index_record *last) MUST_CHECK;

/* Records also go to LOG, once they are in the index file; it is empty, and
 * gets those that are there at once. Takes a reference. Call it before the
 * first packet. E_IO, E_NOMEM. */
enum status tracefile_set_log(
    struct tracefile *tf, struct packet_log *log) MUST_CHECK;

/*
 * Append the packets of the chain FIRST (linked by packet->next). *DONE is the
 * number of packets written completely. E_IO if not all were, E_NOSPC on a full
 * disk; E_NOMEM: no memory for the record of the next packet; E_NOENT: the file
 * or its folder was removed. Their records, with the offset filled in, wait for
 * tracefile_write_records().
 */
enum status tracefile_append(
    struct tracefile *tf, struct packet *first, unsigned *done) MUST_CHECK;

/* Append N bytes of metadata and PADDING zeros, all or nothing. On a full disk
 * the reserve is used (store/reserve.h). E_NOSPC, E_IO, E_NOENT. */
enum status tracefile_append_bytes(struct tracefile *tf, const void *p,
    uint64_t n, uint32_t padding) MUST_CHECK;
/* The same in parts: write N bytes, AT bytes after the end of the file, then
 * count all N of them and the zeros. What is not counted is not in the file. */
enum status tracefile_write_ahead(
    struct tracefile *tf, const void *p, uint64_t n, uint64_t at) MUST_CHECK;
enum status tracefile_count_bytes(
    struct tracefile *tf, uint64_t n, uint32_t padding) MUST_CHECK;

/* Drop what was written ahead, but is not counted. */
void tracefile_drop_ahead(struct tracefile *tf);

/* Packets lost because their records could not be written. */
struct tracefile_lost {
	struct reorder_loss loss;
	uint64_t bytes; /* size of these packets */
};

/*
 * Write the waiting records. E_BUSY: a reader holds the lock and its time has
 * not expired: try again later. E_IO, E_NOSPC, or E_NOENT if the file was
 * removed: they could not be written and are dropped; *LOST, unless it is NULL,
 * is set to the packets lost, which the store no longer counts as written.
 * FORCE: write without the lock if necessary.
 */
enum status tracefile_write_records(
    struct tracefile *tf, bool force, struct tracefile_lost *lost) MUST_CHECK;
/* The number of waiting records. */
unsigned tracefile_n_waiting(const struct tracefile *tf);
/* Writes waiting records by force. NULL is fine. */
void tracefile_close(struct tracefile *take_tf);

/* Unlink the files and close them (RESET_METADATA). */
void tracefile_discard(struct tracefile *take_tf);

/* For the end of a cycle: return lent descriptors (common/fds.h) when sessions
 * want them, some per cycle. Returns after how many ns to call it again. */
uint64_t tracefile_pool_tick(struct store *s);

/*
 * For a restart: write the whole packets of the chain FIRST (linked by
 * packet->next), which still wait, behind the end of the file, and their
 * records behind that of the index file. They are not counted: unless the file
 * is used again, nothing whole is lost; if it is, they are cut off first.
 * Metadata of which only a part was written ahead is cut off. The descriptors
 * are closed as those of an idle file.
 */
void tracefile_settle(struct tracefile *tf, struct packet *first);
/* A file that was settled. Its log is an object. Whether the file is there as
 * it was left shows when it is opened, as for an idle one. E_MALFORMED,
 * E_NOMEM, E_IO. */
void tracefile_put_state(struct state_out *o, const struct tracefile *tf);
enum status tracefile_get_state(struct tracefile **out, struct state_in *in,
    struct store *store, struct chunk *chunk,
    struct chunk_family *family) MUST_CHECK;
/* Close a file that was read, but whose stream cannot go on: what
 * tracefile_settle() wrote behind its end stays. NULL is fine. */
void tracefile_leave(struct tracefile *take_tf);

#endif
