/* SPDX-License-Identifier: MIT */
/*
 * What a file may keep. In the boot of the journal: its length, which is exact.
 * In another one, where the journal's relay synced: what was on the disk then.
 * In another one without that, nothing is known of the data. It is cut to its
 * length only if the index has records and none behind that, so what was
 * recorded after the journal's page was written stays; and never if it may be
 * that it was closed and synced. In each case the index is cut to whole records
 * of bytes that are there.
 */
#include "store/journal_cut.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "store/dir.h"
#include "ctf/index.h"
#include "store/journal.h"

struct found {
	int fd; /* -1: there is none */
	uint64_t size;
	const struct journal_slot *slot; /* NULL: the journal has none */
	char name[NAME_MAX + sizeof("index/.idx")]; /* for logs */
};

/* Was the file at FD noted as SLOT? */
static bool
is_noted(const struct recovery *rec, int fd, const struct journal_slot *slot,
    uint64_t *size)
{
	struct dir_id id;
	struct stat sb;

	if (fstat(fd, &sb) != 0 || !S_ISREG(sb.st_mode) ||
	    dir_identify(&id, fd) != OK)
		return false;
	*size = (uint64_t)sb.st_size;
	if (slot == NULL)
		return true;
	if (id.ino != slot->file.ino)
		return false;
	return slot->file.born == 0 || id.born == 0
		   ? id.born <= rec->started
		   : id.born == slot->file.born;
}

static void
close_found(struct found *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

static void
cut(struct recovery *rec, struct found *f, uint64_t to)
{
	if (f->fd < 0 || f->size <= to)
		return;
	if (ftruncate(f->fd, (off_t)to) != 0) {
		log_errno(LOG_ERROR, "recovery: file=%s/%s cannot be cut",
		    rec->path, f->name);
		return;
	}
	log_warn("recovery: file=%s/%s cut from %" PRIu64 " to %" PRIu64
		 " bytes, the end of its last whole part",
	    rec->path, f->name, f->size, to);
	f->size = to;
	rec->n_cut++;
}

/* The bytes that the journal vouches for; UINT64_MAX: it does not know. */
static uint64_t
known(const struct recovery *rec, const struct journal_slot *slot)
{
	if (slot != NULL && rec->copy->is_of_this_boot)
		return slot->file.length;
	if (slot != NULL && rec->copy->sync == JOURNAL_SYNCED)
		return slot->file.synced;
	return UINT64_MAX;
}

/* A record of bytes that are in a data file of SIZE bytes? */
static bool
is_good(const struct index_record *rec, uint64_t size)
{
	return rec->packet_size > 0 && rec->content_size <= rec->packet_size &&
	       rec->offset <= size &&
	       rec->packet_size / 8 <= size - rec->offset;
}

static bool
read_record(int fd, uint64_t n, unsigned minor, struct index_record *rec)
{
	uint8_t bytes[INDEX_RECORD_MAX];
	const uint32_t len = index_record_len(minor);

	if (pread(fd, bytes, len, (off_t)(INDEX_HEADER_LEN + n * len)) !=
	    (ssize_t)len)
		return false;
	index_decode(bytes, rec, minor);
	return true;
}

/* Is the last of N records one of bytes that are in a data file of SIZE bytes,
 * behind those of the record before? Of a torn one any part may be zeros. */
static bool
is_last_good(int fd, uint64_t n, unsigned minor, uint64_t size,
    struct index_record *last)
{
	struct index_record before;

	return read_record(fd, n - 1, minor, last) && is_good(last, size) &&
	       (n == 1 || (read_record(fd, n - 2, minor, &before) &&
			      before.offset < last->offset));
}

/* Give the index file a header if it has none: a reader refuses it. Nothing
 * that stands behind a bad one can be read. */
static bool
mend_header(struct recovery *rec, struct found *index, unsigned *minor)
{
	uint8_t header[INDEX_HEADER_LEN];

	if (index->size >= sizeof(header) &&
	    pread(index->fd, header, sizeof(header), 0) ==
		(ssize_t)sizeof(header) &&
	    index_header_decode(header, minor) == OK)
		return true;
	cut(rec, index, 0);
	*minor = 1;
	index_header_encode(header, *minor);
	if (index->size > 0 || pwrite(index->fd, header, sizeof(header), 0) !=
				   (ssize_t)sizeof(header)) {
		log_errno(LOG_ERROR, "recovery: file=%s/%s has no header",
		    rec->path, index->name);
		return false;
	}
	index->size = sizeof(header);
	return true;
}

/* Cut the index file to whole records of a data file of SIZE bytes. *END: where
 * the bytes end that have records. */
static void
mend_index(
    struct recovery *rec, struct found *index, uint64_t size, uint64_t *end)
{
	struct index_record last;
	unsigned minor;
	uint64_t n;

	*end = 0;
	if (!mend_header(rec, index, &minor))
		return;
	n = (index->size - INDEX_HEADER_LEN) / index_record_len(minor);
	while (n > 0 && !is_last_good(index->fd, n, minor, size, &last) &&
	       !rec->copy->is_of_this_boot) {
		if (recovery_is_stopped(rec))
			return;
		n--;
	}
	cut(rec, index, INDEX_HEADER_LEN + n * index_record_len(minor));
	if (n > 0)
		*end = last.offset + last.packet_size / 8;
}

static bool
open_found(struct recovery *rec, struct found *f, int dir_fd)
{
	if (dir_open_file(&f->fd, dir_fd, f->name, O_RDWR | O_NONBLOCK) != OK)
		return false;
	if (is_noted(rec, f->fd, f->slot, &f->size))
		return true;
	close_found(f);
	return false;
}

/* The index file of the data file NAME. */
static void
open_index(struct recovery *rec, struct found *f, int dir_fd, const char *name)
{
	struct stat sb;

	(void)snprintf(f->name, sizeof(f->name), "index/%s.idx", name);
	if (open_found(rec, f, dir_fd) && fstat(f->fd, &sb) == 0)
		f->slot = idmap_remove(&rec->by_ino, sb.st_ino);
	if (f->fd >= 0 && !is_noted(rec, f->fd, f->slot, &f->size))
		f->slot = NULL;
}

void
journal_cut(struct recovery *rec, int dir_fd, const char *name,
    const struct journal_slot *slot)
{
	struct found data = { .fd = -1, .slot = slot };
	struct found index = { .fd = -1 };
	uint64_t end;

	(void)snprintf(data.name, sizeof(data.name), "%s", name);
	if (!open_found(rec, &data, dir_fd))
		return;
	cut(rec, &data, known(rec, slot));
	open_index(rec, &index, dir_fd, name);
	if (index.fd >= 0) {
		cut(rec, &index, known(rec, index.slot));
		mend_index(rec, &index, data.size, &end);
		if (rec->copy->sync == JOURNAL_UNSYNCED && end > 0 &&
		    end <= slot->file.length)
			cut(rec, &data, slot->file.length);
	}
	close_found(&data);
	close_found(&index);
}
