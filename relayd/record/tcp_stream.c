/* SPDX-License-Identifier: MIT */
/* A stream whose packets come on data connections, whole and nearly in order.
 */
#include <inttypes.h>

#include "common/clock.h"
#include "common/log.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream_internal.h"

/* This transport has no memory of its own. */
static void
destroy(struct stream *t)
{
}

static enum status
record(struct stream *t, uint64_t seq, const struct index_record *rec)
{
	return reorder_record(&t->reorder, seq, rec);
}

/* A packet whose bytes are not all here belongs to its connection. */
static bool
has_pieces(const struct stream *t)
{
	return false;
}

static uint32_t
pending(struct stream *t, uint64_t last_seq)
{
	uint64_t seq = NO_SEQ;

	if (t->reorder.needs_record && t->has_record)
		seq = t->record_seq;
	else if (!t->reorder.needs_record && t->has_data)
		seq = t->data_seq;
	if ((int64_t)(seq - last_seq) >= 0)
		return 0;
	return session_may_receive(t->session) ? 1 : RELAY_PENDING_UNKNOWN;
}

/* Nothing to do: bytes come without a request, or their connection ends. */
static void
closing(struct stream *t)
{
}

static bool
may_go_on(const struct stream *t)
{
	if (!t->has_last || !session_may_receive(t->session))
		return false;
	return !t->has_data || (int64_t)(t->data_seq - t->last_seq) < 0;
}

/* May the missing number still come on another data connection? */
static bool
gap_may_close(const struct stream *t)
{
	const struct list *inputs = &t->session->inputs;

	return !list_empty(inputs) && inputs->next->next != inputs;
}

static void
give_up_gap(struct stream *t)
{
	unsigned records;
	uint64_t n, from = t->reorder.next;

	n = reorder_skip(&t->reorder, &records);
	stream_count_records(t);
	shard_of(t)->gaps++;
	shard_of(t)->packets_lost += n;
	stream_lost(t, LOSS_gap, n);
	t->gap_since_ns = 0;
	list_del(&t->gapped_node);
	log_peer(LOG_WARN,
	    STREAM_FMT " gap: %" PRIu64 " packets from number %" PRIu64
		       " on never came (%u of them had an index)",
	    STREAM_ARGS(t), n, from, records);
}

static bool
pass_gap(struct stream *t)
{
	if (!reorder_has_gap(&t->reorder))
		return false;
	if (gap_may_close(t)) {
		if (list_empty(&t->gapped_node)) {
			t->gap_since_ns = clock_now_ns();
			list_append(&shard_of(t)->gapped, &t->gapped_node);
		}
		return false;
	}
	give_up_gap(t);
	return true;
}

static uint64_t
check_gap(struct stream *t, uint64_t now_ns)
{
	if (!reorder_has_gap(&t->reorder)) {
		list_del(&t->gapped_node);
		t->gap_since_ns = 0;
	} else if (now_ns - t->gap_since_ns >= GAP_NS || !gap_may_close(t)) {
		give_up_gap(t);
		stream_mark_dirty(t);
	} else {
		return now_ns + GAP_NS / 10;
	}
	return UINT64_MAX;
}

const struct transport_ops tcp_transport = {
	.is_connected = true,
	.destroy = destroy,
	.record = record,
	.has_pieces = has_pieces,
	.pending = pending,
	.closing = closing,
	.may_go_on = may_go_on,
	.finish = stream_write_rest,
	.pass_gap = pass_gap,
	.check_gap = check_gap,
};
