/* SPDX-License-Identifier: MIT */
/* The end of the file has the rules of TCP: packets come on data connections,
 * in order. udp.c has those of UDP. */
#include "relayd/record/intake.h"

#include <assert.h>
#include <inttypes.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/state.h"
#include "proto/data.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream.h"
#include "relayd/stats/stats.h"
#include "store/packet_log.h"
#include "store/store.h"

void
intake_init(struct stream *t)
{
	struct intake *in = &t->intake;

	in->transport = &tcp_transport;
	list_init(&in->gapped_node);
	reorder_init(&in->reorder, &shard_of(t)->store->packets,
	    t->session->has_index && !t->is_metadata);
}

void
intake_free(struct stream *t)
{
	struct intake *in = &t->intake;

	assert(in->waiting_bytes == 0);
	list_del(&in->gapped_node);
	if (in->transport->destroy != NULL)
		in->transport->destroy(t);
	reorder_free(&in->reorder);
	intake_count_records(t);
	assert(in->counted_records == 0);
}

void
intake_count_records(struct stream *t)
{
	const uint64_t now = t->intake.reorder.n_records,
		       before = t->intake.counted_records;

	if (now == before)
		return;
	t->session->waiting.n_records += now - before;
	t->intake.counted_records = (unsigned)now;
	/* Unsigned arithmetic: a negative difference is subtracted. */
	account_add(shard_of(t)->config.memory, (now - before) * RECORD_MEMORY);
}

/*
 * P waits (SIGN 1), or waits no more (-1), for its record or its turn. What
 * waits is limited in bytes (SESSION_WAITING_MAX, max_memory), and since a part
 * of a file counts as bytes, it is limited in work too: the daemon can write it
 * all when it is asked to stop. Returns what P counts as.
 */
static uint64_t
count_waiting(struct stream *t, const struct packet *p, int sign)
{
	const uint64_t file = place_weight(&t->place, packet_length(p));
	const uint64_t all = packet_memory(p) + file;

	assert(sign > 0 || t->intake.waiting_bytes >= all);
	t->intake.waiting_bytes += (uint64_t)sign * all;
	session_count_waiting(
	    t->session, sign * (int64_t)all, sign * (int64_t)file);
	return all;
}

uint64_t
intake_release(struct stream *t, struct packet *take_p)
{
	const uint64_t n = count_waiting(t, take_p, -1);

	packet_destroy(&shard_of(t)->store->packets, take_p);
	return n;
}

enum status
intake_begin(struct stream *t, const struct data_header *h)
{
	if (t->is_metadata)
		return E_PROTOCOL;
	return reorder_begin(&t->intake.reorder, h->net_seq);
}

enum status
intake_add_packet(struct stream *t, struct packet *take_p)
{
	const bool is_tcp = t->intake.transport->is_connected;
	struct stats *stats = shard_of(t)->stats;
	struct sums *sums = &t->session->report.sums;
	enum status st;

	assert(shard_is_mine(shard_of(t)));
	assert(writer_is_idle(&t->writer));
	assert(packet_is_whole(take_p));
	t->intake.reorder.now = clock_now_ns();
	st = reorder_data(&t->intake.reorder, take_p);
	if (st != OK)
		return st;
	stats_add(stats,
	    is_tcp ? STAT_received_tcp_bytes : STAT_received_udp_bytes,
	    packet_length(take_p));
	stats_add(stats,
	    is_tcp ? STAT_received_tcp_packets : STAT_received_udp_packets, 1);
	sums->received_bytes += packet_length(take_p);
	sums->received_packets++;
	(void)count_waiting(t, take_p, 1);
	session_linger(t->session);
	intake_count_records(t);
	stream_mark_dirty(t);
	return OK;
}

uint64_t
intake_give_up(struct stream *t, uint64_t since_ns, uint64_t bytes)
{
	uint64_t given_up = 0;
	struct packet *p;

	assert(shard_is_mine(shard_of(t)));
	assert(writer_is_idle(&t->writer));
	while (given_up < bytes &&
	       (p = reorder_pop_unrecorded(&t->intake.reorder, since_ns)) !=
		   NULL) {
		given_up += intake_release(t, p);
		shard_of(t)->figures.packets_dropped++;
		writer_lost(t, LOSS_memory, 1);
	}
	if (given_up == 0)
		return 0;
	writer_set_error(&t->writer);
	stream_mark_dirty(t);
	return given_up;
}

/* May the session have one more record that waits for its bytes? */
static bool
may_wait(const struct session *s)
{
	if (s->waiting.n_records > SESSION_RECORDS_MAX)
		return false;
	return account_may_keep(
	    s->shard->config.memory, s->waiting.n_records * RECORD_MEMORY);
}

enum status
intake_add_record(struct stream *t, const struct relay_index *i)
{
	const struct index_record rec = {
		.packet_size = i->packet_size,
		.content_size = i->content_size,
		.timestamp_begin = i->timestamp_begin,
		.timestamp_end = i->timestamp_end,
		.events_discarded = i->events_discarded,
		.ctf_stream = i->ctf_stream,
		.ctf_instance = i->ctf_instance,
		.packet_seq_num = i->packet_seq_num,
	};
	const unsigned before = t->intake.reorder.n_records;
	enum status st = t->intake.transport->add_record(t, i->net_seq, &rec);

	/* The packet was given up, or was written without a record: ignore
	 * it. */
	if (st == E_NOENT)
		return OK;
	intake_count_records(t);
	if (st != OK)
		return st;
	t->session->report.sums.index_records++;
	if (t->intake.reorder.n_records > before && !may_wait(t->session))
		return E_LIMIT;
	if (t->intake.reorder.n_records > before &&
	    !session_may_receive(t->session)) {
		log_peer(LOG_WARN,
		    STREAM_FMT " index of packet %" PRIu64
			       " refused: the data connection has ended",
		    STREAM_ARGS(t), i->net_seq);
		return E_NOENT;
	}
	stream_mark_dirty(t);
	/* A write error is one for the peer, which decides whether to continue.
	 * The record is kept. */
	return writer_take_error(&t->writer) ? E_IO : OK;
}

bool
intake_is_empty(const struct stream *t)
{
	const struct transport_ops *ops = t->intake.transport;

	return reorder_is_empty(&t->intake.reorder) &&
	       (ops->has_pieces == NULL || !ops->has_pieces(t));
}

uint64_t
intake_check_gap(struct stream *t, uint64_t now_ns)
{
	return t->intake.transport->check_gap(t, now_ns);
}

/* No more records will come. */
static void
records_end(struct stream *t)
{
	if (t->intake.transport->closing != NULL)
		t->intake.transport->closing(t);
	reorder_without_records(&t->intake.reorder);
}

void
intake_close(struct stream *t, uint64_t last_seq)
{
	struct intake *in = &t->intake;

	in->has_last = last_seq != NO_SEQ;
	in->last_seq = last_seq;
	records_end(t);
}

void
intake_end_of_control(struct stream *t)
{
	struct intake *in = &t->intake;

	in->has_last = reorder_last_record(&in->reorder, &in->last_seq);
	records_end(t);
}

bool
intake_finish(struct stream *t)
{
	struct intake *in = &t->intake;
	const unsigned *n = &in->reorder.n_records;

	reorder_without_records(&in->reorder);
	if (!in->transport->finish(t))
		return false;
	if (*n == 0)
		return true;
	writer_lost(t, LOSS_unfinished, *n);
	log_peer(LOG_INFO,
	    STREAM_FMT " closed; the bytes of %u packets never arrived",
	    STREAM_ARGS(t), *n);
	return true;
}

bool
intake_write_rest(struct stream *t)
{
	unsigned dropped;

	do {
		if (!writer_write_ready(t))
			return false;
	} while (reorder_skip(&t->intake.reorder, &dropped) > 0);
	return true;
}

static enum status
tcp_add_record(struct stream *t, uint64_t seq, const struct index_record *rec)
{
	return reorder_record(&t->intake.reorder, seq, rec);
}

static uint32_t
tcp_pending(struct stream *t, uint64_t last_seq)
{
	uint64_t seq = NO_SEQ;

	if (t->intake.reorder.needs_record)
		(void)writer_last_record(&t->writer, &seq);
	else
		(void)writer_last_data(&t->writer, &seq);
	if ((int64_t)(seq - last_seq) >= 0)
		return 0;
	return session_may_receive(t->session) ? 1 : RELAY_PENDING_UNKNOWN;
}

static bool
tcp_may_go_on(const struct stream *t)
{
	uint64_t seq;

	if (!t->intake.has_last || !session_may_receive(t->session))
		return false;
	return !writer_last_data(&t->writer, &seq) ||
	       (int64_t)(seq - t->intake.last_seq) < 0;
}

/* May the missing packet still come on another data connection? */
static bool
gap_may_close(const struct stream *t)
{
	const struct list *inputs = &t->session->inputs.list;

	return !list_empty(inputs) && inputs->next->next != inputs;
}

static void
give_up_gap(struct stream *t)
{
	const uint64_t from = t->intake.reorder.next;
	unsigned records;
	uint64_t n = reorder_skip(&t->intake.reorder, &records);

	intake_count_records(t);
	shard_of(t)->figures.gaps++;
	shard_of(t)->figures.packets_lost += n;
	writer_lost(t, LOSS_gap, n);
	t->intake.gap_since_ns = 0;
	list_del(&t->intake.gapped_node);
	log_peer(LOG_WARN,
	    STREAM_FMT " gap: %" PRIu64 " packets from number %" PRIu64
		       " on never arrived (%u of them had an index)",
	    STREAM_ARGS(t), n, from, records);
}

static bool
tcp_pass_gap(struct stream *t)
{
	if (!reorder_has_gap(&t->intake.reorder))
		return false;
	if (!gap_may_close(t)) {
		give_up_gap(t);
		return true;
	}
	if (list_empty(&t->intake.gapped_node)) {
		t->intake.gap_since_ns = clock_now_ns();
		list_append(&shard_of(t)->work.gapped, &t->intake.gapped_node);
	}
	return false;
}

static uint64_t
tcp_check_gap(struct stream *t, uint64_t now_ns)
{
	if (!reorder_has_gap(&t->intake.reorder)) {
		list_del(&t->intake.gapped_node);
		t->intake.gap_since_ns = 0;
	} else if (now_ns - t->intake.gap_since_ns >= GAP_NS ||
		   !gap_may_close(t)) {
		give_up_gap(t);
		stream_mark_dirty(t);
	} else {
		return now_ns + GAP_NS / 10;
	}
	return UINT64_MAX;
}

const struct transport_ops tcp_transport = {
	.is_connected = true,
	.add_record = tcp_add_record,
	.pending = tcp_pending,
	.may_go_on = tcp_may_go_on,
	.finish = intake_write_rest,
	.pass_gap = tcp_pass_gap,
	.check_gap = tcp_check_gap,
};

static const struct state_member intake_members[] = {
	STATE_DROP(struct intake, gapped_node), /* by gap_since_ns */
	STATE_CODE(struct intake, reorder),
	STATE_CODE(struct intake, transport), /* stream.c */
	STATE_CODE(struct intake, udp),
	STATE_DROP(struct intake, counted_records), /* counted again */
	STATE_KEEP(struct intake, has_last),
	STATE_KEEP(struct intake, last_seq),
	STATE_DROP(struct intake, waiting_bytes), /* counted again */
	STATE_KEEP(struct intake, gap_since_ns),
};
static STATE_TABLE(intake_state, struct intake, intake_members);

void
intake_put_state(struct state_out *o, const struct stream *t)
{
	const struct intake *in = &t->intake;

	state_put(o, &intake_state, in);
	reorder_put_state(o, &in->reorder);
	if (in->transport->put_state != NULL)
		in->transport->put_state(o, t);
}

/* All whole packets wait (SIGN 1), or are about to be freed (-1). */
static void
count_all(struct stream *t, int sign)
{
	const struct reorder *r = &t->intake.reorder;

	for (size_t i = 0; i < reorder_whole(r); i++)
		(void)count_waiting(t, reorder_whole_at(r, i), sign);
}

void
intake_begin_again(struct stream *t)
{
	struct intake *in = &t->intake;

	count_all(t, -1);
	reorder_free(&in->reorder);
	list_del(&in->gapped_node);
	in->gap_since_ns = 0;
	intake_init(t);
	intake_count_records(t);
}

enum status
intake_get_state(struct stream *t, struct state_in *in)
{
	struct intake *to = &t->intake;
	enum status st = state_get(in, &intake_state, to);

	if (st == OK)
		st = reorder_get_state(&to->reorder, in);
	if (st != OK)
		return st;
	count_all(t, 1);
	intake_count_records(t);
	if (to->transport->get_state != NULL)
		st = to->transport->get_state(t, in);
	if (st != OK) {
		count_all(t, -1);
		return st;
	}
	/* UDP watches its gap at the next commit. */
	if (intake_is_connected(to) && to->gap_since_ns != 0 &&
	    reorder_has_gap(&to->reorder))
		list_append(&shard_of(t)->work.gapped, &to->gapped_node);
	else
		to->gap_since_ns = 0;
	if (!intake_is_empty(t) || t->is_closing)
		stream_mark_dirty(t);
	return OK;
}
