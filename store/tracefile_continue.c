/* SPDX-License-Identifier: MIT */
/* The files that an earlier session of the same sender has left are continued:
 * after its end, or that of its relay, which may have been killed. */
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "ctf/index.h"
#include "store/chunk.h"
#include "store/dir.h"
#include "store/index_file.h"
#include "store/journal.h"
#include "store/store.h"
#include "store/tracefile_internal.h"

uint64_t
tracefile_records(const struct tracefile *tf, struct index_record *last)
{
	const uint64_t len = index_record_len(tracefile_minor(tf));
	const uint64_t n = tf->index.length < INDEX_HEADER_LEN
			       ? 0
			       : (tf->index.length - INDEX_HEADER_LEN) / len;

	return n > 0 && index_file_read(
			    tf->index.fd, n - 1, tracefile_minor(tf), last)
		   ? n
		   : 0;
}

/* The bytes that F has on the disk. */
static enum status
measure(struct tracefile_file *f, uint64_t *size)
{
	struct stat sb;

	if (fstat(f->fd, &sb) != 0)
		return E_IO;
	*size = (uint64_t)sb.st_size;
	return S_ISREG(sb.st_mode) ? OK : E_EXISTS;
}

/* How much of the files is whole: the records of packets whose bytes are there,
 * DATA of them at most, and these packets. */
static enum status
find_ends(struct tracefile *tf, uint64_t data)
{
	const uint64_t len = index_record_len(tracefile_minor(tf));
	uint8_t header[INDEX_HEADER_LEN];
	struct index_record last;
	uint64_t size, n;
	unsigned minor;
	enum status st = measure(&tf->index, &size);

	/* The header is written with the first packet. */
	if (st != OK || size < INDEX_HEADER_LEN)
		return st;
	if (pread(tf->index.fd, header, sizeof(header), 0) !=
	    (ssize_t)sizeof(header))
		return E_IO;
	if (index_header_decode(header, &minor) != OK ||
	    minor != tracefile_minor(tf))
		return E_EXISTS;
	n = (size - INDEX_HEADER_LEN) / len;
	while (
	    n > 0 && !index_file_is_whole(tf->index.fd, n, minor, data, &last))
		n--;
	tf->index.length = INDEX_HEADER_LEN + n * len;
	if (n > 0)
		tf->data.length = index_end(&last);
	return OK;
}

/* The file has its length from now on, as if this session had written it. */
static enum status
cut(struct tracefile *tf, struct tracefile_file *f)
{
	if (!f->is_made)
		return OK;
	if (ftruncate(f->fd, (off_t)f->length) != 0)
		return E_IO;
	chunk_count(tf->chunk, (int64_t)f->length);
	journal_set_length(tf->dir->output->journal, &f->journal, f->length);
	return OK;
}

static enum status
take_files(struct tracefile *tf)
{
	const bool has_index = tf->index_format != TRACEFILE_NO_INDEX;
	char path[CHUNK_FILE_PATH_MAX];
	uint64_t size;
	enum status st;

	chunk_file_path(tf->family, tf->number, false, path);
	st = tracefile_find(tf, &tf->data, path);
	if (st == OK)
		st = measure(&tf->data, &size);
	if (st == OK && !has_index)
		tf->data.length = size;
	if (st == OK && has_index) {
		chunk_file_path(tf->family, tf->number, true, path);
		st = tracefile_find(tf, &tf->index, path);
		if (st == OK)
			st = find_ends(tf, size);
		else if (st == E_NOENT)
			st = OK;
	}
	if (st == OK)
		st = cut(tf, &tf->index);
	if (st == OK)
		st = cut(tf, &tf->data);
	if (st != OK && st != E_NOENT)
		log_peer(LOG_ERROR, TRACEFILE_FMT ": cannot be continued: %s",
		    TRACEFILE_ARGS(tf), status_text(st));
	return st;
}

enum status
tracefile_continue(struct tracefile **out, struct store *store,
    struct chunk *chunk, struct chunk_family *family,
    enum tracefile_index index)
{
	struct tracefile *tf = tracefile_alloc(store, chunk, family, 0, index);
	enum status st;

	*out = NULL;
	if (tf == NULL)
		return E_NOMEM;
	st = take_files(tf);
	if (st != OK) {
		/* The files stay. */
		tf->is_discarded = true;
		tracefile_close(tf);
		return st;
	}
	tracefile_count_file(family, 0);
	*out = tf;
	return OK;
}
