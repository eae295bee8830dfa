/* SPDX-License-Identifier: MIT */
/* Metadata, which needs no records. */
#include "relayd/record/shard.h"
#include "relayd/record/stream.h"
#include "relayd/record/stream_internal.h"
#include "relayd/stats/stats.h"
#include "store/metadata_log.h"
#include "store/tracefile.h"

/* Bytes of metadata that are written between two looks at the clock: 1 ms. */
#define METADATA_PART (UINT64_C(1) << 20)

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
		st = tracefile_write_ahead(t->tf, m->data + *done, n, *done);
		if (st == OK)
			*done += (uint32_t)n;
		if (*done < m->size && shard_part_is_late(shard_of(t)))
			return E_LATER;
	}
	return st != OK ? st
			: tracefile_count_bytes(t->tf, m->size, m->padding);
}

enum status
stream_metadata(
    struct stream *t, const struct relay_send_metadata *m, uint32_t *done)
{
	enum status st = OK;

	if (!t->is_metadata)
		return E_PROTOCOL;
	if (t->chunk == NULL)
		return E_NOENT;
	/* An earlier try to create the file failed: space or descriptors were
	 * used up. */
	if (t->tf == NULL)
		st = stream_open_file(t, false);
	if (st == OK)
		st = write_metadata(t, m, done);
	if (st == E_LATER)
		return st;
	stats_add(shard_of(t)->stats, STAT_metadata_bytes, m->size);
	t->session->sums.metadata_bytes += m->size;
	t->written_bytes += st == OK ? m->size + m->padding : 0;
	/* Somebody removed the file: drop the metadata without an error. */
	if (st == E_NOENT && t->tf != NULL)
		return OK;
	if (st == OK && t->metadata != NULL) {
		metadata_log_append(t->metadata, m->data, m->size, m->padding);
		stream_wake(t);
	}
	return st == OK ? OK : E_IO;
}
