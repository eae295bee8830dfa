/* SPDX-License-Identifier: MIT */
/*
 * A trace chunk: a directory of a session that holds the files of one rotation,
 * or the session's directory itself (streaming 5.5). It moves while files in it
 * are written, so every file is opened below chunk_fd().
 *
 * Sessions (as current chunk or pending closure), streams and tracefiles hold
 * references. When the last reference goes, the command of CLOSE_TRACE_CHUNK
 * runs: archiving at once, deleting in slices by chunk_delete_step().
 *
 * One worker owns a chunk. This part knows nothing of sessions, sockets or wire
 * commands.
 */
#ifndef STORE_CHUNK_H
#define STORE_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/list.h"
#include "common/relpath.h"
#include "common/status.h"
#include "store/journal.h"

struct state_in;
struct state_out;
struct folder;
struct folder_place;
struct session_dir;
struct store;

enum chunk_place {
	CHUNK_AT_ROOT,	  /* in the session's directory itself */
	CHUNK_AT_OLD,	  /* .tmp_old_chunk */
	CHUNK_AT_NEW,	  /* .tmp_new_chunk */
	CHUNK_AT_NAME,	  /* <C>-<id>, or the override name */
	CHUNK_AT_ARCHIVE, /* archives/<C>-<E>-<id> */
};

/* babeltrace2 refuses files that it does not know, unless their name begins
 * with a dot. */
#define CHUNK_LOSSES ".loss.jsonl"

enum chunk_command { CHUNK_KEEP, CHUNK_ARCHIVE, CHUNK_DELETE };

/*
 * The top-level folders of a chunk: one request moves each of them. Stock
 * tracers use two, "kernel" and "ust"; tracepulse-send one for each directory
 * of traces that it was given.
 */
#define CHUNK_TOPS_MAX 64

/* The files of one stream in this chunk, for deletion. */
struct chunk_family {
	struct list node;
	struct relpath *path, *channel;
	bool is_numbered; /* channel_0, channel_1, ... */
	bool has_losses;  /* .loss.jsonl is in its folder */
	/* With --sync: the folders of data and index files are on the disk. */
	bool has_data_folder, has_index_folder;
	uint64_t n_files; /* files below this number were made; 0: none */
	uint64_t n_gone;  /* files below this number were deleted */
	struct journal_root journal_root; /* for chunks with is_base */
	struct folder *folder; /* for viewers; shared, NULL: none yet */
};

struct chunk {
	struct list node;	 /* its owner's list of chunks */
	struct list doomed_node; /* its owner's list of those to delete */
	unsigned refs;
	int fd; /* -1: that of the session's directory */
	uint64_t id;
	uint64_t serial; /* different for each chunk of this process */
	uint64_t creation_time, close_time; /* s since the epoch */
	struct relpath *override_name;	    /* NULL: none */
	enum chunk_place place;
	char tmp_name[40]; /* while AT_OLD or AT_NEW */
	enum chunk_command command;
	unsigned n_restored; /* how often it was made again */
	bool is_closed;	     /* close_time is set */
	bool is_base;  /* peer before 2.11: the output directory, never moved */
	bool is_extra; /* its descriptor is taken from FDS_EXTRA, too */
	bool is_kept; /* the owner's list has, or had, a reference of its own */
	bool is_added_to; /* the directory was there before */
	struct session_dir *dir;
	struct folder_place *folders; /* where viewers find them; or NULL */
	struct relpath **tops;	      /* none if is_base */
	unsigned n_tops;
	struct list families;
	uint64_t delete_next; /* file number, of the first family */
	uint64_t began_ns;    /* since the epoch, by our clock */
	uint64_t bytes;	      /* in its files */
	uint64_t names_bytes; /* memory of families whose streams have left */
	/* Called when the last reference goes; takes the chunk. */
	void (*released)(struct chunk *take_c, void *arg);
	void *released_arg;
};

/*
 * A chunk with one reference, at CHUNK_AT_ROOT: chunk_make() makes it on disk.
 * Takes a reference on DIR. OVERRIDE_NAME may be NULL and is copied. RELEASED
 * runs when the last reference goes and must end in chunk_finish(), now or
 * later.
 */
enum status chunk_create(struct chunk **out, struct session_dir *dir,
    uint64_t id, uint64_t creation_time, const struct relpath *override_name,
    void (*released)(struct chunk *take_c, void *arg), void *arg) MUST_CHECK;
/* How log lines begin; needs inttypes.h and store/session_dir.h. */
#define CHUNK_FMT "%s: trace chunk %" PRIu64
#define CHUNK_ARGS(c) session_dir_text((c)->dir), (c)->id

struct chunk *chunk_get(struct chunk *c);
void chunk_put(struct chunk *c); /* NULL is fine */

/* <C>-<id>, <C>-<E>-<id> once closed, or the override name. E_REFUSED: the
 * time cannot be written as a date. */
enum status chunk_name(const struct chunk *c, char out[256]) MUST_CHECK;

/* The name at PLACE, below the session's directory. E_REFUSED as above. */
enum status chunk_place_name(
    struct chunk *c, enum chunk_place place, char out[RELPATH_MAX]) MUST_CHECK;

/* Make the chunk's directory at PLACE (CHUNK_AT_ROOT: it is there). E_IO: also
 * if no files can be made in it; logged. */
enum status chunk_make(struct chunk *c, enum chunk_place place) MUST_CHECK;
/* Move everything that the chunk created to PLACE, or nothing on failure. Does
 * nothing if the chunk is there already. Folders that were removed are skipped,
 * which is not a failure. */
enum status chunk_move(struct chunk *c, enum chunk_place place) MUST_CHECK;

/* Create the folder of archives early, while a failure can still be reported to
 * the peer. Logged. */
enum status chunk_prepare_archive(struct chunk *c) MUST_CHECK;

/* The directory, borrowed; the descriptor is good until the chunk moves. */
int chunk_fd(const struct chunk *c);

/* N bytes more (less: N < 0) are in its files. */
void chunk_count(struct chunk *c, int64_t n);

/* Was the directory removed? Then no file can be created in it (E_NOENT). */
bool chunk_is_gone(const struct chunk *c);
/* Make the removed directory again, and the session's directory if that was
 * removed, too. The chunk's files so far are lost, but are written to until
 * they are closed. E_IO, E_NOMEM; E_NOENT: it is the output directory. */
enum status chunk_restore(struct chunk *c) MUST_CHECK;

/*
 * A stream will write files CHANNEL[_N] in the folder PATH: make that folder,
 * and remember the names for deletion. The family lives as long as the chunk.
 * E_LIMIT: the folder would be one top-level folder too many; E_EXISTS: the
 * channel has the name of the log of losses; both are logged.
 */
enum status chunk_add_stream(struct chunk *c, const struct relpath *path,
    const struct relpath *channel, bool is_numbered,
    struct chunk_family **out) MUST_CHECK;

/* Make the folder PATH. E_EXISTS: there is one already. E_IO. */
enum status chunk_new_folder(
    struct chunk *c, const struct relpath *path) MUST_CHECK;

/* Append one line, with its newline, to .loss.jsonl in the family's folder: the
 * log of what was lost. E_NOSPC, E_IO. */
enum status chunk_note_loss(struct chunk *c, struct chunk_family *f,
    const char *line, size_t n) MUST_CHECK;

/* A reference to the family's folder, for viewers; the streams of a trace share
 * it. E_IO, E_NOMEM. */
enum status chunk_folder(
    struct chunk *c, struct chunk_family *f, struct folder **out) MUST_CHECK;
void chunk_folder_done(struct chunk_family *f);
/* F's stream is over, or writes elsewhere: drop its folder, so that a chunk of
 * many short streams keeps little memory for them, and count what is kept. */
void chunk_stream_left(struct chunk *c, struct chunk_family *f);

/* The path of file NUMBER of F, or of its index file, below the chunk. */
#define CHUNK_FILE_PATH_MAX (2 * 4096 + 64)
void chunk_file_path(const struct chunk_family *f, uint64_t number,
    bool is_index, char out[CHUNK_FILE_PATH_MAX]);
/* Delete file NUMBER of the family F and its index file, which is closed. */
void chunk_delete_file(
    struct chunk *c, struct chunk_family *f, uint64_t number);
/* The same in a ring, where a new file gets the number. */
void chunk_replace_file(
    struct chunk *c, struct chunk_family *f, uint64_t number);

/* No reference is left: run the command, except deletion. A chunk that cannot
 * be archived stays in the session's directory, under a name without a dot. The
 * store's notifier is called for one that is archived, and for a snapshot.
 * Returns true if chunk_delete_step() has work. */
bool chunk_settle(struct chunk *c);
/* For a restart: the same while it has references. It is not reported yet, and
 * one that will be deleted stays where it is. */
void chunk_settle_early(struct chunk *c);
/* Call the store's notifier for a settled chunk; chunk_settle() does it. */
void chunk_note(struct chunk *c);
/* Delete at most *BUDGET files with their index files, and folders, and
 * subtract them from *BUDGET. Returns true when all are gone. */
bool chunk_delete_step(struct chunk *c, unsigned *budget);
/* Free a chunk without references, except its families. */
void chunk_finish(struct chunk *take_c);
void chunk_free_family(struct chunk_family *take_f);
/* Free some families of chunks that are finished: half a millisecond of work.
 * Returns true if there are more. */
#define CHUNK_FREE_SLICE 1000
bool chunk_free_some(struct store *s);

/*
 * A chunk, also one that is being deleted, with its families. It is written
 * once, by its owner. *OUT has no reference, and is in no list: the owner takes
 * references, or has it deleted, and sets is_kept. E_MALFORMED, E_NOMEM, E_IO.
 */
void chunk_put_state(struct state_out *o, const struct chunk *c);
enum status chunk_get_state(struct chunk **out, struct state_in *in,
    struct store *store, void (*released)(struct chunk *take_c, void *arg),
    void *arg) MUST_CHECK;
/* Names a family of the chunk C, which was written or read. */
void chunk_put_family(struct state_out *o, const struct chunk_family *f);
enum status chunk_get_family(struct chunk_family **out, struct state_in *in,
    const struct chunk *c) MUST_CHECK;

#endif
