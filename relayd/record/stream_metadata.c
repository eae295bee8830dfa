/* SPDX-License-Identifier: MIT */
/* The writer of a metadata stream. Metadata needs no records. */
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/state.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream.h"
#include "relayd/stats/stats.h"
#include "store/metadata_log.h"
#include "store/tracefile.h"

/* Bytes of metadata that are written between two checks of the clock: 1 ms. */
#define METADATA_PART (UINT64_C(1) << 20)

/* Bytes of metadata of one stream that may wait in memory for space on the disk
 * after the reserve is used up: that of 10,000 event classes. */
#define METADATA_PENDING_MAX (UINT64_C(4) << 20)

/* Write the rest of it in parts. E_LATER: the time slice has expired. */
static enum status
write_metadata(
    struct stream *t, const struct relay_send_metadata *m, uint32_t *done)
{
	enum status st = OK;
	uint64_t n;

	while (st == OK && *done < m->size) {
		n = m->size - *done;
		if (n > METADATA_PART)
			n = METADATA_PART;
		st = tracefile_write_ahead(
		    t->writer.tf, m->data + *done, n, *done);
		if (st == OK)
			*done += (uint32_t)n;
		if (*done < m->size && shard_part_is_late(shard_of(t)))
			return E_LATER;
	}
	return st != OK
		   ? st
		   : tracefile_count_bytes(t->writer.tf, m->size, m->padding);
}

/* It is in the file: viewers may have it. */
static void
show(struct stream *t, const void *p, uint64_t n, uint32_t padding)
{
	t->writer.written_bytes += n + padding;
	if (t->metadata == NULL)
		return;
	metadata_log_append(t->metadata, p, n, padding);
	stream_wake(t);
}

/* One request whose metadata waits for space; its bytes follow. */
struct pending_head {
	uint32_t size, padding;
};

void
writer_drop_pending(struct stream *t)
{
	struct writer *w = &t->writer;

	if (w->pending == NULL)
		return;
	list_del(&w->pending_node);
	account_sub(shard_of(t)->config.memory, buf_len(w->pending));
	buf_free(w->pending);
	free(w->pending);
	w->pending = NULL;
}

/* There is no space for it, and SEND_METADATA has no reply that could say so.
 * The trace cannot be read without it, so it waits in memory. */
static enum status
keep(struct stream *t, const struct relay_send_metadata *m)
{
	const struct pending_head head = { (uint32_t)m->size,
		(uint32_t)m->padding };
	const size_t n = sizeof(head) + m->size;
	struct shard *sh = shard_of(t);
	struct writer *w = &t->writer;

	if (w->pending == NULL)
		w->pending = calloc(1, sizeof(*w->pending));
	if (w->pending == NULL)
		return E_NOMEM;
	if (buf_len(w->pending) + n > METADATA_PENDING_MAX ||
	    account_is_exhausted(sh->config.memory) ||
	    buf_reserve(w->pending, n) == NULL) {
		w->pending->bad = false;
		log_peer(LOG_ERROR,
		    STREAM_FMT " too much metadata waits for space on the disk",
		    STREAM_ARGS(t));
		return E_NOSPC;
	}
	buf_bytes(w->pending, &head, sizeof(head));
	buf_bytes(w->pending, m->data, m->size);
	account_add(sh->config.memory, n);
	if (list_empty(&w->pending_node)) {
		list_append(&sh->work.pending, &w->pending_node);
		log_peer(LOG_WARN,
		    STREAM_FMT " metadata waits for space on the disk",
		    STREAM_ARGS(t));
	}
	return OK;
}

/* Write the oldest request that waits. */
static enum status
write_oldest(struct stream *t)
{
	struct buf *b = t->writer.pending;
	const uint8_t *p = buf_data(b);
	struct pending_head head;
	enum status st = OK;

	memcpy(&head, p, sizeof(head));
	p += sizeof(head);
	if (t->writer.tf == NULL)
		st = writer_open_file(t);
	if (st == OK)
		st = tracefile_append_bytes(
		    t->writer.tf, p, head.size, head.padding);
	if (st != OK)
		return st;
	show(t, p, head.size, head.padding);
	buf_consume(b, sizeof(head) + head.size);
	account_sub(shard_of(t)->config.memory, sizeof(head) + head.size);
	return OK;
}

/* Write metadata for which there was no space. E_NOSPC: there still is none, it
 * waits. Another failure: it is lost, which is logged. */
static enum status
write_pending(struct stream *t)
{
	struct writer *w = &t->writer;
	enum status st = OK;
	bool is_removed;

	if (w->pending == NULL)
		return OK;
	while (st == OK && buf_len(w->pending) > 0)
		st = write_oldest(t);
	if (st == E_NOSPC)
		return st;
	writer_drop_pending(t);
	if (st == OK)
		return OK;
	/* The metadata of a removed folder is not missed. */
	is_removed = st == E_NOENT;
	log_peer(is_removed ? LOG_WARN : LOG_ERROR,
	    STREAM_FMT " metadata that waited for space is lost: %s",
	    STREAM_ARGS(t), status_text(st));
	if (!is_removed)
		writer_set_error(w);
	w->has_lost_metadata = !is_removed;
	return st;
}

void
writer_leave_metadata(struct stream *t)
{
	if (write_pending(t) == E_NOSPC)
		log_peer(LOG_ERROR,
		    STREAM_FMT
		    " metadata is lost: there is no space on the disk",
		    STREAM_ARGS(t));
	writer_drop_pending(t);
	t->writer.has_lost_metadata = false;
}

bool
stream_retry_metadata(struct stream *t)
{
	const enum status st = write_pending(t);
	struct list *node = &t->writer.pending_node;

	if (st == E_NOSPC) {
		list_del(node);
		list_append(&shard_of(t)->work.pending, node);
		return false;
	}
	if (st == OK)
		log_info(STREAM_FMT
		    " metadata that waited for space is written",
		    STREAM_ARGS(t));
	return true;
}

enum status
stream_metadata(
    struct stream *t, const struct relay_send_metadata *m, uint32_t *done)
{
	struct writer *w = &t->writer;
	enum status st = OK;

	if (!t->is_metadata)
		return E_PROTOCOL;
	if (!place_has_chunk(&t->place))
		return E_NOENT;
	if (write_pending(t) == E_NOSPC)
		return keep(t, m);
	/* Write nothing after a hole. */
	if (w->has_lost_metadata)
		return E_IO;
	/* An earlier attempt to create the file failed: space or descriptors
	 * were used up. */
	if (w->tf == NULL)
		st = writer_open_file(t);
	if (st == OK)
		st = write_metadata(t, m, done);
	if (st == E_LATER)
		return st;
	if (st == E_NOSPC && shard_of(t)->config.loses_when_full)
		return keep(t, m);
	stats_add(shard_of(t)->stats, STAT_metadata_bytes, m->size);
	t->session->report.sums.metadata_bytes += m->size;
	/* The file or its folder was removed: drop the metadata without an
	 * error. */
	if (st == E_NOENT)
		return OK;
	if (st == OK)
		show(t, m->data, m->size, m->padding);
	return st == OK ? OK : E_IO;
}

enum status
stream_reset_metadata(struct stream *t)
{
	struct writer *w = &t->writer;
	enum status st;

	if (!t->is_metadata || t->session->request.live_timer_us != 0)
		return E_PROTOCOL;
	if (!place_has_chunk(&t->place))
		return E_NOENT;
	if (w->tf != NULL)
		tracefile_discard(w->tf);
	w->tf = NULL;
	w->has_lost_metadata = false;
	writer_drop_pending(t);
	st = writer_open_file(t);
	/* If its folder was removed, what follows is dropped. */
	if (st == E_NOENT)
		return OK;
	return st == E_NOSPC && shard_of(t)->config.loses_when_full ? OK : st;
}

/* Are the N bytes at P whole requests? */
static bool
is_whole(const char *p, size_t n)
{
	struct pending_head head;

	while (n >= sizeof(head)) {
		memcpy(&head, p, sizeof(head));
		p += sizeof(head);
		n -= sizeof(head);
		if (head.size > n)
			return false;
		p += head.size;
		n -= head.size;
	}
	return n == 0;
}

/* The lengths in it are as this machine has them. */
enum status
writer_get_pending(struct stream *t, struct state_in *in)
{
	struct shard *sh = shard_of(t);
	struct writer *w = &t->writer;
	struct span bytes;

	if (!state_get_bool(in))
		return state_in_status(in);
	bytes = state_get_bytes(in);
	if (bytes.p == NULL || !t->is_metadata ||
	    bytes.n > METADATA_PENDING_MAX || !is_whole(bytes.p, bytes.n))
		return E_MALFORMED;
	w->pending = calloc(1, sizeof(*w->pending));
	if (w->pending == NULL)
		return E_NOMEM;
	buf_bytes(w->pending, bytes.p, bytes.n);
	account_add(sh->config.memory, buf_len(w->pending));
	list_append(&sh->work.pending, &w->pending_node);
	return w->pending->bad ? E_NOMEM : OK;
}
