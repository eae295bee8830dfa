/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/relpath.h"
#include "store/chunk.h"
#include "store/dir.h"
#include "ctf/index.h"
#include "store/journal.h"
#include "store/output.h"
#include "store/session_dir.h"
#include "store/packet.h"
#include "store/packet_log.h"
#include "store/store.h"
#include "store/tracefile_internal.h"

static unsigned
minor_of(const struct tracefile *tf)
{
	return tf->index_format == TRACEFILE_INDEX_1_0 ? 0 : 1;
}

static enum status
write_header(struct tracefile *tf)
{
	uint8_t header[INDEX_HEADER_LEN];
	struct iovec iov;
	uint64_t written;
	enum status st;

	index_header_encode(header, minor_of(tf));
	do {
		iov = (struct iovec){ header, sizeof(header) };
		st = tracefile_write_all(tf->index.fd, &iov, 1, 0, &written);
	} while (st == E_NOSPC && room_yield(tracefile_room(tf)));
	if (st != OK) {
		tracefile_cut(tf, &tf->index, "index header");
		return st;
	}
	tf->index.length = sizeof(header);
	tracefile_count(tf, (int64_t)sizeof(header));
	journal_set_length(
	    tf->dir->output->journal, &tf->index.journal, tf->index.length);
	return OK;
}

enum status
tracefile_index_make(struct tracefile *tf)
{
	char path[TRACEFILE_PATH_MAX];
	enum status st;

	if (tracefile_lost_place(tf))
		return E_NOENT;
	tracefile_index_path(tf, path);
	/* The replaced one may still be there, if it could not be removed. */
	if (tf->replaces)
		(void)dir_unlink(chunk_fd(tf->chunk), path);
	st = tracefile_make(tf, &tf->index, path);
	if (st == OK)
		st = write_header(tf);
	/* Readers refuse a file without a header. */
	if (st == E_NOSPC && tf->index.is_made)
		tracefile_unmake(tf, &tf->index, path);
	return st;
}

enum status
tracefile_index_mend(struct tracefile *tf)
{
	enum status st = tracefile_ensure_open(tf);

	return st == OK ? write_header(tf) : st;
}

static bool
reserve_records(struct tracefile *tf, size_t n)
{
	buf_take_spare(&tf->waiting, &tf->store->spares);
	if (buf_reserve(&tf->waiting, n * INDEX_RECORD_MAX) != NULL)
		return true;
	tf->waiting.bad = false;
	return false;
}

enum status
tracefile_index_room(struct tracefile *tf, unsigned n)
{
	return reserve_records(tf, n) ? OK : E_NOMEM;
}

void
tracefile_index_queue(struct tracefile *tf, const struct packet *p)
{
	uint8_t *out = buf_reserve(&tf->waiting, INDEX_RECORD_MAX);

	assert(out != NULL);
	if (buf_len(&tf->waiting) == 0)
		tf->waiting_first = p->net_seq;
	index_encode(out, &p->rec, minor_of(tf));
	buf_added(&tf->waiting, index_record_len(minor_of(tf)));
}

unsigned
tracefile_n_waiting(const struct tracefile *tf)
{
	const size_t n = buf_len(&tf->waiting);

	return (unsigned)(n / index_record_len(minor_of(tf)));
}

void
tracefile_begin_wait(struct tracefile *tf)
{
	if (tf->waiting_since == 0)
		tf->waiting_since = clock_now_ns();
}

/* May the records be written now? *LOCKED: the caller unlocks afterwards. */
static bool
take_lock(struct tracefile *tf, bool force, bool *locked)
{
	*locked = flock(tf->index.fd, LOCK_EX | LOCK_NB) == 0;
	if (*locked || errno != EWOULDBLOCK)
		return true; /* there are no locks: no reader has one */
	tracefile_begin_wait(tf);
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

/* Their packets are in the data file: where room lacks, the reserve is used. */
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
	} while (st == E_NOSPC && room_yield(tracefile_room(tf)));
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
	tracefile_count(tf, (int64_t)n);
	tf->store->records_written += n / index_record_len(minor_of(tf));
	journal_set_length(
	    tf->dir->output->journal, &tf->index.journal, tf->index.length);
	/* A failure is told by the store's count: the records are there. */
	(void)!tracefile_synced(tf, &tf->index);
	return OK;
}

/* The records that wait cannot be written: their packets are lost. */
static void
lose_waiting(struct tracefile *tf, struct tracefile_lost *lost)
{
	const uint8_t *p = buf_data(&tf->waiting);
	const uint8_t *end = p + buf_len(&tf->waiting);
	struct reorder_loss *l = &lost->loss;

	*lost = (struct tracefile_lost){ .loss.first = tf->waiting_first };
	for (; p < end; p += index_record_len(minor_of(tf))) {
		index_decode(p, &l->last, minor_of(tf));
		lost->bytes += l->last.packet_size / 8;
		l->n++;
		l->records++;
	}
	tf->store->packets_written -= l->n;
	tf->store->bytes_written -= lost->bytes;
}

/* There is no room for the records that wait, not even in the reserve: their
 * packets give their room back, if they are the last of the data file. */
static void
cut_unrecorded(struct tracefile *tf, const struct tracefile_lost *lost)
{
	struct index_record first;

	index_decode(buf_data(&tf->waiting), &first, minor_of(tf));
	if (first.offset + lost->bytes != tf->data.length ||
	    ftruncate(tf->data.fd, (off_t)first.offset) != 0)
		return;
	tracefile_count(tf, (int64_t)(first.offset - tf->data.length));
	tf->data.length = first.offset;
	journal_set_length(
	    tf->dir->output->journal, &tf->data.journal, first.offset);
}

/* Viewers no longer see a chunk that is cleared. */
static bool
has_viewers(const struct tracefile *tf)
{
	return tf->log != NULL && tf->chunk->command != CHUNK_DELETE;
}

/* The records are in the file: viewers may have them. */
static void
tell_log(struct tracefile *tf)
{
	const uint8_t *p = buf_data(&tf->waiting);
	const uint8_t *end = p + buf_len(&tf->waiting);
	struct index_record rec;

	if (!has_viewers(tf))
		return;
	/* The file enters the log with its first records, so that files come in
	 * the order of their records. */
	if (tf->log_file != NULL)
		packet_log_add_file(tf->log, tf->log_file);
	tf->log_file = NULL;
	for (; p < end; p += index_record_len(minor_of(tf))) {
		index_decode(p, &rec, minor_of(tf));
		packet_log_append(tf->log, &rec);
	}
}

enum status
tracefile_write_records(
    struct tracefile *tf, bool force, struct tracefile_lost *lost)
{
	struct tracefile_lost unasked;
	enum status st;
	bool locked = false;

	if (tracefile_n_waiting(tf) == 0)
		return OK;
	if (lost == NULL)
		lost = &unasked;
	st = tracefile_ensure_open(tf);
	if (st == OK && !take_lock(tf, force, &locked))
		return E_BUSY;
	if (st == OK)
		st = append_waiting(tf);
	if (st == OK)
		tell_log(tf);
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
