/* SPDX-License-Identifier: MIT */
/* Shared by tracefile.c, which writes, tracefile_pool.c, which has the
 * descriptors, and tracefile_state.c. */
#ifndef STORE_TRACEFILE_INTERNAL_H
#define STORE_TRACEFILE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "store/output.h"
#include "store/session_dir.h"
#include "store/tracefile.h"

/* The minor version of the format of its index file. */
static inline unsigned
tracefile_minor(const struct tracefile *tf)
{
	return tf->index_format == TRACEFILE_INDEX_1_0 ? 0 : 1;
}

/* The beginning of log lines; needs store/chunk.h. */
#define TRACEFILE_FMT "%s/%s/%s"
#define TRACEFILE_ARGS(tf)                                         \
	session_dir_text((tf)->chunk->dir), (tf)->family->path->s, \
	    (tf)->family->channel->s

/* The space on its disk. */
static inline struct reserve *
tracefile_reserve(const struct tracefile *tf)
{
	return &tf->dir->output->reserve;
}

/* Nothing of it is on the disk yet. NULL: no memory. */
struct tracefile *tracefile_alloc(struct store *store, struct chunk *chunk,
    struct chunk_family *family, uint64_t number, enum tracefile_index index);
/* File NUMBER of the family was made. */
void tracefile_count_file(struct chunk_family *family, uint64_t number);

/* Was the chunk removed and created again? Then other files may be at these
 * paths. */
bool tracefile_lost_place(const struct tracefile *tf);

/* Open both descriptors if they are closed. The file is then the newest of the
 * pool. E_NOENT: it was removed. E_IO. */
enum status tracefile_ensure_open(struct tracefile *tf) MUST_CHECK;
/* Create a file at PATH, counted and in the journal. */
enum status tracefile_make(struct tracefile *tf, struct tracefile_file *f,
    const char *path) MUST_CHECK;
/* Open a file that is at PATH already, in the same way. E_NOENT, E_IO. */
enum status tracefile_find(struct tracefile *tf, struct tracefile_file *f,
    const char *path) MUST_CHECK;
/* Remove it again: there is no space for its first bytes. */
void tracefile_unmake(
    struct tracefile *tf, struct tracefile_file *f, const char *path);
/* With --sync=packet, otherwise do nothing: have what was written to F on the
 * disk. E_IO: errno says why. */
enum status tracefile_sync_packet(
    const struct tracefile *tf, const struct tracefile_file *f) MUST_CHECK;
/* The same after F's length was set: have the journal say that this length is
 * on the disk. E_IO: logged and counted. */
enum status tracefile_synced(
    struct tracefile *tf, struct tracefile_file *f) MUST_CHECK;
/* Remove the file from the pool and close its descriptors. Sync them first if
 * --sync says so and the files are kept. */
void tracefile_close_fds(struct tracefile *tf);
/* Write all of IOV at OFFSET; *WRITTEN is the number of bytes written. Changes
 * IOV. E_NOSPC, E_IO. */
enum status tracefile_write_all(int fd, struct iovec *iov, int n_iov,
    uint64_t offset, uint64_t *written) MUST_CHECK;
/* Cut F back to its length after a failed write of WHAT, with errno set. */
void tracefile_cut(const struct tracefile *tf, const struct tracefile_file *f,
    const char *what);

#endif
