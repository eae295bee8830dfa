/* SPDX-License-Identifier: MIT */
/*
 * Tracefiles that the viewers of one live worker read; each is open once for
 * all of them. A file stays readable for them when it is renamed or removed by
 * a rotation, a roll or a clear (live 2.9). When descriptors are used up, the
 * least recently used file is closed, and opened again when a viewer needs it,
 * if it still exists. Files without promised bytes are closed first; of the
 * others, promised packets up to OPEN_KEPT_MAX are kept in memory, as the file
 * may be deleted before they are fetched. This belongs to one live worker.
 */
#ifndef RELAYD_LIVE_OPEN_FILES_H
#define RELAYD_LIVE_OPEN_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/account.h"
#include "common/compiler.h"
#include "common/list.h"
#include "common/status.h"
#include "store/dir.h"

/* A packet of up to this size, LTTng's default for large ones, is kept when its
 * file is closed; and the part of --max-memory that all kept packets of all
 * live workers may use. */
#define OPEN_KEPT_MAX (1024 * 1024)
#define OPEN_KEPT_PART 16

struct folder;
struct index_record;
struct packet_log;
struct state_in;
struct state_out;

/* Bytes that a viewer was promised: it has the index of a packet, and has not
 * fetched all of it. All zeros: nothing. */
struct open_part {
	struct list node; /* file->parts */
	struct open_files *files;
	uint64_t offset, length;
	uint8_t *bytes; /* kept; NULL: they are in the file */
};

struct open_file {
	struct list node;
	struct list parts; /* struct open_part: what is promised of it */
	unsigned refs;
	unsigned uses; /* of them, by replies that are sent: it stays open */
	const struct packet_log *log; /* key: log, first, number, folder */
	uint64_t first;		      /* position of the file's first record */
	uint64_t number;
	int data_fd, index_fd;	/* -1: closed, or not needed yet */
	bool is_known;		/* IDENTITY is set */
	struct dir_id identity; /* of the data file */
	uint64_t data_size;	/* bytes, when it was last looked at */
	struct folder *folder;
	unsigned minor;
};

struct open_files {
	struct list all;     /* the one that was used last is the last */
	uint64_t last_log;   /* when a shortage was logged */
	struct account kept; /* bytes of parts */
};

void open_files_init(struct open_files *files);

/* The file of LOG that holds POS; one reference. LIKELY (may be NULL) is tried
 * first. E_NOENT: the file is gone. E_NOMEM, here and below: memory or
 * descriptors are used up, or the file's folder is being moved; a later try may
 * succeed. */
enum status open_files_get(struct open_files *files, struct open_file **out,
    const struct packet_log *log, uint64_t pos,
    struct open_file *likely) MUST_CHECK;
void open_file_put(struct open_file *f); /* NULL is fine */

/* Open the data file if it is closed. E_NOENT: it is gone. */
enum status open_file_again(
    struct open_files *files, struct open_file *f) MUST_CHECK;

/* LENGTH bytes at OFFSET of F are promised, until open_part_done(). P is all
 * zeros, and its owner has a reference to F meanwhile. */
void open_file_promise(struct open_files *files, struct open_file *f,
    uint64_t offset, uint64_t length, struct open_part *p);
void open_part_done(struct open_part *p); /* all zeros is fine */
/* LENGTH bytes at OFFSET, if they are kept; else NULL. */
const uint8_t *open_part_bytes(
    const struct open_part *p, uint64_t offset, uint64_t length);

/* A reference for a reply, which sends bytes of the data file, open now. */
struct open_file *open_file_use(struct open_file *f);
void open_file_done(struct open_file *f); /* NULL is fine */

/* Does the data file, open now, have LENGTH bytes at OFFSET? */
bool open_file_has(struct open_file *f, uint64_t offset, uint64_t length);

/* The record at POS, from the index file. */
enum status open_file_record(struct open_files *files, struct open_file *f,
    uint64_t pos, struct index_record *rec) MUST_CHECK;

/* Open a metadata file, outside of the list: one reference as
 * open_file_use()'s, with a descriptor of its own. */
enum status open_file_metadata(struct open_files *files, struct open_file **out,
    struct folder *folder) MUST_CHECK;

/*
 * For a restart: F with its descriptors; NULL is fine. LOG: the log that it is
 * a file of, if the reader has found it; NULL: for a reply, which only needs
 * the bytes. *OUT is a new reference, or NULL. E_NOMEM: also when the
 * descriptors are used up. E_MALFORMED: also if it is another log's, or another
 * live worker's.
 */
void open_file_put_state(struct state_out *o, struct open_file *f);
enum status open_file_get_state(struct open_files *files,
    struct open_file **out, struct state_in *in,
    const struct packet_log *log) MUST_CHECK;
/* The same for bytes that are promised. F, which may be NULL, is their file. */
void open_part_put_state(struct state_out *o, const struct open_part *p);
enum status open_part_get_state(struct open_files *files, struct open_file *f,
    struct state_in *in, struct open_part *p) MUST_CHECK;

#endif
