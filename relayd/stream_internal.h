/* SPDX-License-Identifier: MIT */
/*
 * What the files of a stream share: stream*.c, and udp_stream.c. Nobody else
 * includes it.
 */
#ifndef RELAYD_STREAM_INTERNAL_H
#define RELAYD_STREAM_INTERNAL_H

#include "common/compiler.h"
#include "common/status.h"
#include "relayd/session.h"
#include "relayd/stream.h"

/* stream.c */
void stream_free(struct stream *t);
void stream_leave_chunk(struct stream *t);
enum status stream_open_file(struct stream *t, bool replaces) MUST_CHECK;
enum status stream_enter_chunk(struct stream *t, struct chunk *c) MUST_CHECK;
void stream_mark_dirty(struct stream *t);
/* N more, or less, bytes of memory wait for their record or turn. */
void stream_hold(struct stream *t, int64_t n);
/* The number of records that wait for their bytes has changed. */
void stream_count_records(struct stream *t);

/* stream_commit.c */
void stream_seal_file(struct stream *t);
void stream_leave_sealed(struct stream *t);
/* What may leave the heap now goes to the file, with its records; gaps that
 * need not be waited for are given up. */
void stream_write_ready(struct stream *t);
/* Only what has left the heap: for a transport that gives packets up. */
void stream_write_batch(struct stream *t);
enum status stream_roll_if_due(
    struct stream *t, bool has_seq, uint64_t next_packet_seq) MUST_CHECK;

/* stream_live.c */
enum status stream_make_logs(struct stream *t) MUST_CHECK;
enum status stream_log_file(struct stream *t) MUST_CHECK;
void stream_end_logs(struct stream *t);
void stream_wake(struct stream *t);

static inline struct shard *
shard_of(const struct stream *t)
{
	return t->session->shard;
}

#endif
