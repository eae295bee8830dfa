/* SPDX-License-Identifier: MIT */
#include "store/tracefile.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/relpath.h"
#include "ctf/index.h"
#include "store/chunk.h"
#include "store/folder.h"
#include "store/dir.h"
#include "store/journal.h"
#include "store/output.h"
#include "store/packet.h"
#include "store/packet_log.h"
#include "store/session_dir.h"
#include "store/store.h"
#include "store/tracefile_internal.h"

/* The limits of one pwritev(2): IOV_MAX pieces, and as many bytes as a plain
 * copy would write. */
#define BATCH_PIECES 1024
#define BATCH_BYTES (4 * 1024 * 1024)
/* Padding up to this size is written; above it, the file is extended. */
#define PADDING_WRITTEN (64 * 1024)

static const uint8_t zeros[PADDING_WRITTEN];

bool
tracefile_lost_place(const struct tracefile *tf)
{
	return tf->n_restored != tf->chunk->n_restored;
}

static enum status
write_header(struct tracefile *tf)
{
	uint8_t header[INDEX_HEADER_LEN];
	struct iovec iov;
	uint64_t written;
	enum status st;

	index_header_encode(header, tracefile_minor(tf));
	do {
		iov = (struct iovec){ header, sizeof(header) };
		st = tracefile_write_all(tf->index.fd, &iov, 1, 0, &written);
	} while (st == E_NOSPC && reserve_release(tracefile_reserve(tf)));
	if (st != OK) {
		tracefile_cut(tf, &tf->index, "index header");
		return st;
	}
	tf->index.length = sizeof(header);
	chunk_count(tf->chunk, (int64_t)sizeof(header));
	journal_set_length(
	    tf->dir->output->journal, &tf->index.journal, tf->index.length);
	return OK;
}

/* Create the index file with its header, before the first packet. */
static enum status
make_index(struct tracefile *tf)
{
	char path[CHUNK_FILE_PATH_MAX];
	enum status st;

	if (tracefile_lost_place(tf))
		return E_NOENT;
	chunk_file_path(tf->family, tf->number, true, path);
	/* The replaced file may still exist if unlinking failed. */
	if (tf->replaces)
		(void)dir_unlink(chunk_fd(tf->chunk), path);
	st = tracefile_make(tf, &tf->index, path);
	if (st == OK)
		st = write_header(tf);
	/* Readers refuse an index file without a header. */
	if (st == E_NOSPC && tf->index.is_made)
		tracefile_unmake(tf, &tf->index, path);
	return st;
}

static enum status
write_missing_header(struct tracefile *tf)
{
	enum status st = tracefile_ensure_open(tf);

	return st == OK ? write_header(tf) : st;
}

/* Allocate memory for the records of N packets, before the packets are written.
 * E_NOMEM. */
static enum status
reserve_records(struct tracefile *tf, size_t n)
{
	buf_take_spare(&tf->waiting, &tf->store->spares);
	if (buf_reserve(&tf->waiting, n * INDEX_RECORD_MAX) != NULL)
		return OK;
	tf->waiting.bad = false;
	return E_NOMEM;
}

/* Encode the record of a packet that was written to the data file. */
static void
queue_record(struct tracefile *tf, const struct packet *p)
{
	uint8_t *out = buf_reserve(&tf->waiting, INDEX_RECORD_MAX);

	assert(out != NULL);
	if (buf_len(&tf->waiting) == 0)
		tf->waiting_first = p->net_seq;
	index_encode(out, &p->rec, tracefile_minor(tf));
	buf_added(&tf->waiting, index_record_len(tracefile_minor(tf)));
}

unsigned
tracefile_n_waiting(const struct tracefile *tf)
{
	const size_t n = buf_len(&tf->waiting);

	return (unsigned)(n / index_record_len(tracefile_minor(tf)));
}

/* May the records be written now? *LOCKED: the caller must unlock. */
static bool
take_lock(struct tracefile *tf, bool force, bool *locked)
{
	*locked = flock(tf->index.fd, LOCK_EX | LOCK_NB) == 0;
	if (*locked || errno != EWOULDBLOCK)
		return true; /* the file system has no locks */
	if (tf->waiting_since == 0)
		tf->waiting_since = clock_now_ns();
	if (!force &&
	    clock_now_ns() - tf->waiting_since <
		tf->store->config.index_lock_timeout_ns &&
	    buf_len(&tf->waiting) < TRACEFILE_WAITING_MAX)
		return false;
	tf->store->locks_forced++;
	if (log_ratelimit(&tf->store->last_lock_log, NS_PER_S))
		log_warn(TRACEFILE_FMT
		    ": a reader holds the index file's lock; %u records "
		    "written without it",
		    TRACEFILE_ARGS(tf), tracefile_n_waiting(tf));
	return true;
}

/* Their packets are in the data file: on a full disk, use the reserve. */
static enum status
write_waiting(struct tracefile *tf)
{
	const size_t n = buf_len(&tf->waiting);
	struct iovec iov;
	uint64_t written;
	enum status st;

	do {
		iov = (struct iovec){ (void *)(uintptr_t)buf_data(&tf->waiting),
			n };
		st = tracefile_write_all(
		    tf->index.fd, &iov, 1, tf->index.length, &written);
	} while (st == E_NOSPC && reserve_release(tracefile_reserve(tf)));
	return st;
}

static enum status
append_waiting(struct tracefile *tf)
{
	const size_t n = buf_len(&tf->waiting);
	enum status st = OK;

	if (tf->index.length == 0)
		st = write_header(tf);
	if (st == OK)
		st = write_waiting(tf);
	if (st == OK)
		st = tracefile_sync_packet(tf, &tf->index);
	if (st != OK) {
		tracefile_cut(tf, &tf->index, "index records");
		return st;
	}
	tf->index.length += n;
	chunk_count(tf->chunk, (int64_t)n);
	tf->store->records_written += n / index_record_len(tracefile_minor(tf));
	journal_set_length(
	    tf->dir->output->journal, &tf->index.journal, tf->index.length);
	/* The store counts a failure: the records are in the file. */
	(void)!tracefile_synced(tf, &tf->index);
	return OK;
}

/* The waiting records cannot be written: their packets are lost. */
static void
lose_waiting(struct tracefile *tf, struct tracefile_lost *lost)
{
	const uint8_t *p = buf_data(&tf->waiting);
	const uint8_t *end = p + buf_len(&tf->waiting);
	struct reorder_loss *l = &lost->loss;

	*lost = (struct tracefile_lost){ .loss.first = tf->waiting_first };
	for (; p < end; p += index_record_len(tracefile_minor(tf))) {
		index_decode(p, &l->last, tracefile_minor(tf));
		lost->bytes += l->last.packet_size / 8;
		l->n++;
		l->records++;
	}
	tf->store->packets_written -= l->n;
	tf->store->bytes_written -= lost->bytes;
}

/* There is no space for the records that wait, not even in the reserve: cut off
 * their packets, if these are the last in the data file. */
static void
cut_unrecorded(struct tracefile *tf, const struct tracefile_lost *lost)
{
	struct index_record first;

	index_decode(buf_data(&tf->waiting), &first, tracefile_minor(tf));
	if (first.offset + lost->bytes != tf->data.length ||
	    ftruncate(tf->data.fd, (off_t)first.offset) != 0)
		return;
	chunk_count(tf->chunk, (int64_t)(first.offset - tf->data.length));
	tf->data.length = first.offset;
	journal_set_length(
	    tf->dir->output->journal, &tf->data.journal, first.offset);
}

/* The records are in the file: viewers may have them, unless the chunk is
 * cleared. */
static void
append_to_log(struct tracefile *tf)
{
	const uint8_t *p = buf_data(&tf->waiting);
	const uint8_t *end = p + buf_len(&tf->waiting);
	struct index_record rec;

	if (tf->log == NULL || tf->chunk->command == CHUNK_DELETE)
		return;
	/* The file is added with its first records, so that files are in the
	 * order of their records. */
	if (tf->log_file != NULL)
		packet_log_add_file(tf->log, tf->log_file);
	tf->log_file = NULL;
	for (; p < end; p += index_record_len(tracefile_minor(tf))) {
		index_decode(p, &rec, tracefile_minor(tf));
		packet_log_append(tf->log, &rec);
	}
}

enum status
tracefile_write_records(
    struct tracefile *tf, bool force, struct tracefile_lost *lost)
{
	struct tracefile_lost ignored;
	enum status st;
	bool locked = false;

	if (tracefile_n_waiting(tf) == 0)
		return OK;
	if (lost == NULL)
		lost = &ignored;
	st = tracefile_ensure_open(tf);
	if (st == OK && !take_lock(tf, force, &locked))
		return E_BUSY;
	if (st == OK)
		st = append_waiting(tf);
	if (st == OK)
		append_to_log(tf);
	else
		lose_waiting(tf, lost);
	if (st == E_NOSPC)
		cut_unrecorded(tf, lost);
	if (locked)
		flock(tf->index.fd, LOCK_UN);
	buf_consume(&tf->waiting, buf_len(&tf->waiting));
	buf_give_spare(&tf->waiting, &tf->store->spares);
	tf->waiting_since = 0;
	return st;
}

/* Unlink the files that this one created. */
static void
unlink_made(struct tracefile *tf)
{
	char path[CHUNK_FILE_PATH_MAX];

	if (tracefile_lost_place(tf))
		return;
	chunk_count(tf->chunk, -(int64_t)(tf->data.length + tf->index.length));
	chunk_file_path(tf->family, tf->number, false, path);
	if (tf->data.is_made)
		(void)dir_unlink(chunk_fd(tf->chunk), path);
	chunk_file_path(tf->family, tf->number, true, path);
	if (tf->index.is_made)
		(void)dir_unlink(chunk_fd(tf->chunk), path);
}

struct tracefile *
tracefile_alloc(struct store *store, struct chunk *chunk,
    struct chunk_family *family, uint64_t number, enum tracefile_index index)
{
	struct tracefile *tf = calloc(1, sizeof(*tf));

	if (tf == NULL)
		return NULL;
	tf->store = store;
	tf->chunk = chunk_get(chunk);
	tf->dir = session_dir_get(chunk->dir);
	tf->n_restored = chunk->n_restored;
	tf->family = family;
	tf->number = number;
	tf->index_format = index;
	tf->data.fd = tf->index.fd = -1;
	list_init(&tf->open_node);
	return tf;
}

void
tracefile_count_file(struct chunk_family *family, uint64_t number)
{
	if (!family->is_numbered)
		number = 0;
	if (family->n_files <= number)
		family->n_files = number + 1;
}

enum status
tracefile_create(struct tracefile **out, struct store *store,
    struct chunk *chunk, struct chunk_family *family, uint64_t number,
    bool replaces, enum tracefile_index index)
{
	struct tracefile *tf = tracefile_alloc(
	    store, chunk, family, number, index);
	char path[CHUNK_FILE_PATH_MAX];
	enum status st;

	*out = NULL;
	if (tf == NULL)
		return E_NOMEM;
	/* A file that this family never created belongs to another program. */
	tf->replaces = replaces && number < family->n_files;
	if (tf->replaces)
		chunk_replace_file(chunk, family, number);
	chunk_file_path(tf->family, tf->number, false, path);
	st = tracefile_make(tf, &tf->data, path);
	if (st != OK) {
		/* It exists but is not durable: the next attempt needs the
		 * name. */
		tracefile_discard(tf);
		return st;
	}
	tracefile_count_file(family, number);
	*out = tf;
	return OK;
}

enum status
tracefile_set_log(struct tracefile *tf, struct packet_log *log)
{
	struct index_record last;
	struct folder *folder;
	enum status st;
	uint64_t n;

	assert(tf->log == NULL);
	st = chunk_folder(tf->chunk, tf->family, &folder);
	if (st != OK)
		return st;
	st = packet_log_file_create(
	    &tf->log_file, folder, tf->number, tf->chunk->serial);
	folder_put(folder);
	if (st != OK)
		return st;
	tf->log = packet_log_get(log);
	n = tracefile_records(tf, &last);
	if (n > 0) {
		packet_log_add_file(log, tf->log_file);
		tf->log_file = NULL;
		packet_log_continue(log, n, &last);
	}
	return OK;
}

/* Remove an index file whose header could not be written: readers refuse it. */
static void
settle_header(struct tracefile *tf)
{
	char path[CHUNK_FILE_PATH_MAX];

	if (tf->is_discarded || !tf->index.is_made || tf->index.length > 0 ||
	    write_missing_header(tf) == OK || tracefile_lost_place(tf))
		return;
	chunk_file_path(tf->family, tf->number, true, path);
	(void)dir_unlink(chunk_fd(tf->chunk), path);
}

/* To open the file again removes its tail. */
void
tracefile_drop_ahead(struct tracefile *tf)
{
	const bool has_tail = tf->data.has_tail || tf->index.has_tail;

	if ((tf->ahead == 0 && !has_tail) || tf->is_discarded ||
	    tracefile_ensure_open(tf) != OK || tf->ahead == 0)
		return;
	if (ftruncate(tf->data.fd, (off_t)tf->data.length) != 0)
		log_peer_errno(LOG_ERROR,
		    TRACEFILE_FMT ": cannot truncate the file",
		    TRACEFILE_ARGS(tf));
	tf->ahead = 0;
}

void
tracefile_close(struct tracefile *take_tf)
{
	struct tracefile *tf = take_tf;

	if (tf == NULL)
		return;
	if (!tf->is_discarded && tracefile_n_waiting(tf) > 0 &&
	    tracefile_write_records(tf, true, NULL) != OK)
		log_peer(LOG_ERROR,
		    TRACEFILE_FMT ": index records lost at close",
		    TRACEFILE_ARGS(tf));
	settle_header(tf);
	tracefile_drop_ahead(tf);
	tracefile_close_fds(tf);
	if (tf->store->is_ending)
		journal_end(tf->dir->output->journal);
	journal_remove_file(tf->dir->output->journal, &tf->data.journal);
	journal_remove_file(tf->dir->output->journal, &tf->index.journal);
	buf_free(&tf->waiting);
	packet_log_file_destroy(tf->log_file);
	packet_log_put(tf->log);
	session_dir_put(tf->dir);
	chunk_put(tf->chunk);
	free(tf);
}

void
tracefile_discard(struct tracefile *take_tf)
{
	unlink_made(take_tf);
	take_tf->is_discarded = true;
	tracefile_close(take_tf);
}

struct packet_batch {
	struct iovec iov[BATCH_PIECES];
	int n_iov;
	uint64_t bytes;	 /* the size of iov */
	uint64_t extend; /* zeros after them, by ftruncate(2) */
	unsigned n_packets;
	struct packet *end;	       /* first packet after the batch */
	const struct slab_block *rest; /* rest of its only packet */
};

static void
add_iov(struct packet_batch *b, const void *p, size_t n)
{
	b->iov[b->n_iov].iov_base = (void *)(uintptr_t)p;
	b->iov[b->n_iov++].iov_len = n;
	b->bytes += n;
}

/* Add as many blocks as fit into one call. Returns the first one left. */
static const struct slab_block *
add_blocks(struct packet_batch *b, const struct slab_block *s)
{
	for (; s != NULL && b->n_iov < BATCH_PIECES; s = s->next)
		add_iov(b, s->mem, s->used);
	return s;
}

/* Collect packets from P on, at least one, at most MOST, and as many as fit
 * into one call. A packet of more pieces, about 1 GiB, takes several calls: see
 * write_blocks(). */
static void
collect(struct packet_batch *b, struct packet *p, unsigned most)
{
	const struct slab_block *s;
	int need;

	b->n_iov = 0;
	b->bytes = b->extend = b->n_packets = 0;
	b->rest = NULL;
	for (; p != NULL && b->extend == 0 && b->rest == NULL; p = p->next) {
		need = 1;
		for (s = p->blocks; s != NULL; s = s->next)
			need++;
		if (b->n_packets > 0 &&
		    (b->n_packets == most || b->n_iov + need > BATCH_PIECES ||
			b->bytes + packet_length(p) > BATCH_BYTES))
			break;
		b->rest = add_blocks(b, p->blocks);
		if (p->padding > PADDING_WRITTEN || b->n_iov == BATCH_PIECES)
			b->extend = p->padding;
		else if (p->padding > 0)
			add_iov(b, zeros, p->padding);
		b->n_packets++;
	}
	b->end = p;
}

/* Collect as many packets as there is memory for their records. */
static enum status
collect_with_records(
    struct tracefile *tf, struct packet_batch *b, struct packet *p)
{
	unsigned most = UINT_MAX;

	do {
		collect(b, p, most);
		if (tf->index_format == TRACEFILE_NO_INDEX ||
		    reserve_records(tf, b->n_packets) == OK)
			return OK;
		most = b->n_packets / 2;
	} while (most > 0);
	tf->store->write_errors++;
	if (log_ratelimit(&tf->store->last_error_log, NS_PER_S))
		log_error(TRACEFILE_FMT ": no memory for an index record",
		    TRACEFILE_ARGS(tf));
	return E_NOMEM;
}

/* Of the packets from P to END, those in the first WRITTEN bytes are in the
 * file. */
static void
add_written(struct tracefile *tf, struct packet *p, const struct packet *end,
    uint64_t written, unsigned *done)
{
	const uint64_t before = tf->data.length;

	for (; p != end && packet_length(p) <= written; p = p->next) {
		written -= packet_length(p);
		p->rec.offset = tf->data.length;
		tf->data.length += packet_length(p);
		tf->store->packets_written++;
		tf->store->bytes_written += packet_length(p);
		if (p->has_record)
			queue_record(tf, p);
		++*done;
	}
	chunk_count(tf->chunk, (int64_t)(tf->data.length - before));
	journal_set_length(
	    tf->dir->output->journal, &tf->data.journal, tf->data.length);
}

/* Write B at START of the file, without its zeros. */
static enum status
write_blocks(struct tracefile *tf, struct packet_batch *b, uint64_t start,
    uint64_t *written)
{
	uint64_t n;
	enum status st;

	*written = 0;
	for (;;) {
		st = tracefile_write_all(
		    tf->data.fd, b->iov, b->n_iov, start + *written, &n);
		*written += n;
		if (st != OK || b->rest == NULL)
			return st;
		b->n_iov = 0;
		b->rest = add_blocks(b, b->rest);
	}
}

static enum status
write_batch(struct tracefile *tf, struct packet_batch *b, struct packet *p,
    unsigned *done)
{
	uint64_t written, start = tf->data.length;
	enum status st, synced;

	st = write_blocks(tf, b, start, &written);
	if (st == OK && b->extend > 0) {
		if (ftruncate(tf->data.fd,
			(off_t)(start + b->bytes + b->extend)) == 0)
			written += b->extend;
		else
			st = E_IO;
	}
	/* Drop what could not be synced, like what could not be written. */
	synced = tracefile_sync_packet(tf, &tf->data);
	if (synced != OK) {
		st = synced;
		written = 0;
	}
	add_written(tf, p, b->end, written, done);
	if (st != OK)
		tracefile_cut(tf, &tf->data, "packet");
	else
		tracefile_reserve(tf)->is_full = false;
	return tracefile_synced(tf, &tf->data) == OK ? st : E_IO;
}

enum status
tracefile_append(struct tracefile *tf, struct packet *first, unsigned *done)
{
	struct packet_batch b;
	enum status st;

	*done = 0;
	st = tracefile_ensure_open(tf);
	if (st == OK && tf->index_format != TRACEFILE_NO_INDEX &&
	    !tf->index.is_made)
		st = make_index(tf);
	while (st == OK && first != NULL) {
		st = collect_with_records(tf, &b, first);
		if (st == OK)
			st = write_batch(tf, &b, first, done);
		first = b.end;
	}
	return st;
}

enum status
tracefile_write_ahead(
    struct tracefile *tf, const void *p, uint64_t n, uint64_t at)
{
	enum status st = tracefile_ensure_open(tf);
	uint64_t written;

	if (st != OK)
		return st;
	do {
		struct iovec iov = { (void *)(uintptr_t)p, (size_t)n };

		st = tracefile_write_all(
		    tf->data.fd, &iov, n > 0, tf->data.length + at, &written);
	} while (st == E_NOSPC && reserve_release(tracefile_reserve(tf)));
	if (st != OK)
		tracefile_cut(tf, &tf->data, "metadata");
	tf->ahead = st == OK ? at + n : 0;
	return st;
}

enum status
tracefile_count_bytes(struct tracefile *tf, uint64_t n, uint32_t padding)
{
	const uint64_t end = tf->data.length + n + padding;
	enum status st;

	assert(n <= tf->ahead);
	st = tracefile_ensure_open(tf);
	if (st != OK)
		return st;
	if (padding > 0 && ftruncate(tf->data.fd, (off_t)end) != 0)
		st = E_IO;
	if (st == OK)
		st = tracefile_sync_packet(tf, &tf->data);
	tf->ahead = 0;
	if (st != OK) {
		tracefile_cut(tf, &tf->data, "metadata");
		return st;
	}
	chunk_count(tf->chunk, (int64_t)(end - tf->data.length));
	tf->data.length = end;
	journal_set_length(tf->dir->output->journal, &tf->data.journal, end);
	return tracefile_synced(tf, &tf->data);
}

enum status
tracefile_append_bytes(
    struct tracefile *tf, const void *p, uint64_t n, uint32_t padding)
{
	enum status st = tracefile_write_ahead(tf, p, n, 0);

	return st != OK ? st : tracefile_count_bytes(tf, n, padding);
}

/* Write P at AT of the data file. */
static enum status
write_uncounted(struct tracefile *tf, struct packet *p, uint64_t at)
{
	struct packet_batch b;
	uint64_t written;
	enum status st;

	collect(&b, p, 1);
	st = write_blocks(tf, &b, at, &written);
	if (st == OK && b.extend > 0 &&
	    ftruncate(tf->data.fd, (off_t)(at + packet_length(p))) != 0)
		st = E_IO;
	return st;
}

/* The data first, so that no record is ahead of its packet. */
static enum status
write_tail(struct tracefile *tf, struct packet *first, struct buf *records)
{
	uint64_t at = tf->data.length;
	enum status st = OK;
	uint8_t *out;

	for (struct packet *p = first; p != NULL && st == OK; p = p->next) {
		st = write_uncounted(tf, p, at);
		p->rec.offset = at;
		at += packet_length(p);
		if (!p->has_record || tf->index_format == TRACEFILE_NO_INDEX)
			continue;
		out = buf_reserve(records, INDEX_RECORD_MAX);
		if (out == NULL)
			return E_NOMEM;
		index_encode(out, &p->rec, tracefile_minor(tf));
		buf_added(records, index_record_len(tracefile_minor(tf)));
	}
	return st == OK ? tracefile_sync_packet(tf, &tf->data) : st;
}

static enum status
write_tail_records(struct tracefile *tf, const struct buf *records)
{
	struct iovec iov = { (void *)(uintptr_t)buf_data(records),
		buf_len(records) };
	uint64_t written;
	enum status st;
	bool locked;

	if (iov.iov_len == 0)
		return OK;
	(void)take_lock(tf, true, &locked);
	st = tracefile_write_all(
	    tf->index.fd, &iov, 1, tf->index.length, &written);
	if (st == OK)
		st = tracefile_sync_packet(tf, &tf->index);
	if (locked)
		flock(tf->index.fd, LOCK_UN);
	tf->waiting_since = 0;
	return st;
}

/* It stays in memory for the next process. */
static void
cut_tail(struct tracefile *tf)
{
	if (tf->index.is_made &&
	    ftruncate(tf->index.fd, (off_t)tf->index.length) != 0)
		log_peer_errno(LOG_ERROR,
		    TRACEFILE_FMT ": cannot truncate the index file",
		    TRACEFILE_ARGS(tf));
	tracefile_cut(tf, &tf->data, "waiting packets");
}

static void
append_tail(struct tracefile *tf, struct packet *first)
{
	struct buf records = { 0 };
	enum status st = tracefile_ensure_open(tf);

	if (st == OK && tf->index_format != TRACEFILE_NO_INDEX &&
	    !tf->index.is_made)
		st = make_index(tf);
	if (st != OK)
		return;
	tf->data.has_tail = true;
	tf->index.has_tail = tf->index.is_made;
	st = write_tail(tf, first, &records);
	if (st == OK)
		st = write_tail_records(tf, &records);
	if (st != OK)
		cut_tail(tf);
	buf_free(&records);
}

void
tracefile_settle(struct tracefile *tf, struct packet *first)
{
	assert(tracefile_n_waiting(tf) == 0);
	tracefile_drop_ahead(tf);
	if (first != NULL && !tf->is_discarded &&
	    tf->chunk->command != CHUNK_DELETE)
		append_tail(tf, first);
	tracefile_close_fds(tf);
}
