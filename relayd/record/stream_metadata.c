/* SPDX-License-Identifier: MIT */
/* Metadata, which needs no records. */
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream.h"
#include "relayd/record/stream_internal.h"
#include "relayd/stats/stats.h"
#include "store/metadata_log.h"
#include "store/tracefile.h"

/* Bytes of metadata that are written between two looks at the clock: 1 ms. */
#define METADATA_PART (UINT64_C(1) << 20)

/* Bytes of metadata of one stream that may wait for room on the disk, in
 * memory, when the reserve is used up: that of 10,000 event classes. */
#define METADATA_DEBT_MAX (UINT64_C(4) << 20)

/* Write what is left of it in parts. E_LATER: the time is over. */
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

/* For viewers, once it is in the file. */
static void
show(struct stream *t, const void *p, uint64_t n, uint32_t padding)
{
	t->writer.written_bytes += n + padding;
	if (t->metadata == NULL)
		return;
	metadata_log_append(t->metadata, p, n, padding);
	stream_wake(t);
}

/* One request whose metadata waits for room; its bytes follow. */
struct owed {
	uint32_t size, padding;
};

void
stream_drop_debt(struct stream *t)
{
	if (t->writer.debt == NULL)
		return;
	list_del(&t->writer.owing_node);
	published_sub(shard_of(t)->config.memory, buf_len(t->writer.debt));
	buf_free(t->writer.debt);
	free(t->writer.debt);
	t->writer.debt = NULL;
}

/* There is no room for it, and nobody can be told: SEND_METADATA has no reply.
 * Without it the trace cannot be read, so it waits in memory. */
static enum status
owe(struct stream *t, const struct relay_send_metadata *m)
{
	const struct owed head = { (uint32_t)m->size, (uint32_t)m->padding };
	struct shard *sh = shard_of(t);
	const size_t n = sizeof(head) + m->size;

	if (t->writer.debt == NULL)
		t->writer.debt = calloc(1, sizeof(*t->writer.debt));
	if (t->writer.debt == NULL)
		return E_NOMEM;
	if (buf_len(t->writer.debt) + n > METADATA_DEBT_MAX ||
	    shard_is_over(sh, 2) || buf_reserve(t->writer.debt, n) == NULL) {
		t->writer.debt->bad = false;
		log_peer(LOG_ERROR,
		    STREAM_FMT " too much metadata waits for room on the disk",
		    STREAM_ARGS(t));
		return E_NOSPC;
	}
	buf_bytes(t->writer.debt, &head, sizeof(head));
	buf_bytes(t->writer.debt, m->data, m->size);
	published_add(sh->config.memory, n);
	if (list_empty(&t->writer.owing_node)) {
		list_append(&sh->owing, &t->writer.owing_node);
		log_peer(LOG_WARN,
		    STREAM_FMT " metadata waits for room on the disk",
		    STREAM_ARGS(t));
	}
	return OK;
}

/* Write the oldest that is owed. */
static enum status
pay_one(struct stream *t)
{
	const uint8_t *p = buf_data(t->writer.debt);
	enum status st = OK;
	struct owed head;

	memcpy(&head, p, sizeof(head));
	p += sizeof(head);
	if (t->writer.tf == NULL)
		st = stream_open_file(t, false);
	if (st == OK)
		st = tracefile_append_bytes(
		    t->writer.tf, p, head.size, head.padding);
	if (st == OK)
		show(t, p, head.size, head.padding);
	if (st == OK) {
		buf_consume(t->writer.debt, sizeof(head) + head.size);
		published_sub(
		    shard_of(t)->config.memory, sizeof(head) + head.size);
	}
	return st;
}

/* What is owed cannot be written, because of ST, and room does not help. */
static void
lose_debt(struct stream *t, enum status st)
{
	/* Who removed the file knows that it has no metadata. */
	const bool is_removed = st == E_NOENT && t->writer.tf != NULL;

	stream_drop_debt(t);
	log_peer(is_removed ? LOG_WARN : LOG_ERROR,
	    STREAM_FMT " metadata that waited for room is lost: %s",
	    STREAM_ARGS(t), status_text(st));
	t->writer.has_write_error = t->writer.has_write_error || !is_removed;
	t->writer.has_lost_metadata = !is_removed;
}

enum status
stream_pay(struct stream *t)
{
	enum status st = OK;

	if (t->writer.debt == NULL)
		return OK;
	while (st == OK && buf_len(t->writer.debt) > 0)
		st = pay_one(t);
	if (st == OK)
		stream_drop_debt(t);
	else if (st != E_NOSPC)
		lose_debt(t, st);
	return st;
}

bool
stream_retry_metadata(struct stream *t)
{
	const enum status st = stream_pay(t);

	if (st == OK)
		log_info(STREAM_FMT " metadata that waited for room is written",
		    STREAM_ARGS(t));
	return st != E_NOSPC;
}

enum status
stream_metadata(
    struct stream *t, const struct relay_send_metadata *m, uint32_t *done)
{
	enum status st = OK;

	if (!t->is_metadata)
		return E_PROTOCOL;
	if (t->place.chunk == NULL)
		return E_NOENT;
	if (stream_pay(t) == E_NOSPC)
		return owe(t, m);
	/* Nothing is written behind a hole. */
	if (t->writer.has_lost_metadata)
		return E_IO;
	/* An earlier try to create the file failed: space or descriptors were
	 * used up. */
	if (t->writer.tf == NULL)
		st = stream_open_file(t, false);
	if (st == OK)
		st = write_metadata(t, m, done);
	if (st == E_LATER)
		return st;
	if (st == E_NOSPC && stream_loses_when_full(t))
		return owe(t, m);
	stats_add(shard_of(t)->stats, STAT_metadata_bytes, m->size);
	t->session->sums.metadata_bytes += m->size;
	/* Somebody removed the file: drop the metadata without an error. */
	if (st == E_NOENT && t->writer.tf != NULL)
		return OK;
	if (st == OK)
		show(t, m->data, m->size, m->padding);
	return st == OK ? OK : E_IO;
}

enum status
stream_reset_metadata(struct stream *t)
{
	enum status st;

	if (!t->is_metadata || t->session->wish.live_timer_us != 0)
		return E_PROTOCOL;
	if (t->place.chunk == NULL)
		return E_NOENT;
	if (t->writer.tf != NULL)
		tracefile_discard(t->writer.tf);
	t->writer.tf = NULL;
	t->writer.has_lost_metadata = false;
	stream_drop_debt(t);
	st = stream_open_file(t, false);
	return st == E_NOSPC && stream_loses_when_full(t) ? OK : st;
}
