/* SPDX-License-Identifier: MIT */
/* A stream whose packets come as datagrams: pieces that arrive, packets that
 * are lost. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/log.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream_internal.h"
#include "relayd/record/udp_internal.h"
#include "store/chunk.h"
#include "store/packet.h"

/* The memory of pieces is counted for the session, too. */
static void
recount(struct stream *t, uint64_t before)
{
	t->session->udp->partial_bytes += t->udp->arrivals.partial_bytes;
	t->session->udp->partial_bytes -= before;
}

static void
destroy(struct stream *t)
{
	if (t->udp->gaps > 0)
		log_peer(LOG_WARN,
		    STREAM_FMT " gaps=%" PRIu64 " lost=%" PRIu64
			       " packets, the last ones %" PRIu64
			       " from number %" PRIu64 " on",
		    STREAM_ARGS(t), t->udp->gaps, t->udp->lost, t->udp->last.n,
		    t->udp->last.first);
	t->session->udp->partial_bytes -= t->udp->arrivals.partial_bytes;
	list_del(&t->udp->user_node);
	arrivals_free(&t->udp->arrivals);
	free(t->udp);
	t->udp = NULL;
}

/* Log one line per gap, at most UDP_GAP_LINES per second. */
static void
log_gap(struct stream *t, const struct reorder_loss *loss, const char *why)
{
	struct shard *sh = shard_of(t);

	if (log_ratelimit(&sh->last_gap_log, NS_PER_S)) {
		if (sh->gap_lines > UDP_GAP_LINES)
			log_warn("%" PRIu64 " more gaps, see " CHUNK_LOSSES,
			    sh->gap_lines - UDP_GAP_LINES);
		sh->gap_lines = 0;
	}
	if (++sh->gap_lines > UDP_GAP_LINES)
		return;
	log_warn(STREAM_FMT " gap: %" PRIu64 " packets from number %" PRIu64
			    " on are lost: %s (%u of them had an index)",
	    STREAM_ARGS(t), loss->n, loss->first, why, loss->records);
}

/* A packet with this number of the tracer will not come: go on as if it had. */
static void
pass_packet_seq(struct stream *t, uint64_t packet_seq)
{
	if (t->has_packet_seq && (int64_t)(packet_seq - t->packet_seq) <= 0)
		return;
	t->has_packet_seq = true;
	t->packet_seq = packet_seq;
	/* A rotation must not wait for this packet. */
	if (stream_roll_if_due(t, true, packet_seq + 1) != OK)
		log_peer(LOG_ERROR, STREAM_FMT " no file to go on in",
		    STREAM_ARGS(t));
}

static void
give_up(struct stream *t, uint64_t to, const char *why)
{
	const uint64_t before = t->udp->arrivals.partial_bytes;
	struct reorder_loss loss;

	/* First write packets before the gap: they may belong to another file
	 * or chunk. */
	stream_write_batch(t);
	arrivals_skip(&t->udp->arrivals, to, &loss);
	recount(t, before);
	stream_count_records(t);
	t->udp->due_ns = 0;
	t->udp->gaps++;
	t->udp->lost += loss.n;
	t->udp->last = loss;
	shard_of(t)->gaps++;
	shard_of(t)->packets_lost += loss.n;
	stream_lost(t, LOSS_udp, loss.n);
	log_gap(t, &loss, why);
	(void)stream_note_loss(t, &loss, why);
	if (loss.records > 0)
		pass_packet_seq(t, loss.last.packet_seq_num);
	stream_mark_dirty(t);
}

/* Memory in use by the session's packets that wait or are not yet whole. */
static uint64_t
in_use(const struct session *s)
{
	return s->held_bytes + s->udp->partial_bytes;
}

static bool
is_short(const struct session *s)
{
	return in_use(s) + UDP_PIECE_MEMORY > s->udp->window_bytes ||
	       (s->file_bytes >= UDP_FILES_LITTLE &&
		   s->shard->file_bytes > SHARD_FILES_HELD_MAX) ||
	       shard_is_over(s->shard, 2) ||
	       (shard_is_over(s->shard, 1) && in_use(s) >= session_little(s));
}

/* Give packets up until memory is free. False: no stream can give any up, or
 * the time is over: many may give up what frees nothing yet. */
static bool
make_room(struct session *s)
{
	struct stream *t;
	uint64_t to;

	while (is_short(s)) {
		t = udp_room_greediest(s, &to);
		if (t == NULL)
			return false;
		give_up(t, to, "memory");
		(void)stream_write_ready(t);
		(void)udp_room_note(t, &to);
		if (shard_is_late(s->shard))
			return !is_short(s);
	}
	return true;
}

static enum udp_count
count_of(enum arrived what)
{
	switch (what) {
	case ARRIVED:
	case ARRIVED_WHOLE:
		return UDP_taken;
	case ARRIVED_TWICE:
		return UDP_duplicate;
	case ARRIVED_LATE:
		return UDP_late;
	case ARRIVED_FALSE:
		return UDP_contradiction;
	case ARRIVED_NOMEM:
		return UDP_memory;
	}
	return UDP_memory;
}

/* Put a stream with a gap on the list that turn_tick() looks at. */
static void
watch_gap(struct stream *t)
{
	if (list_empty(&t->gapped_node) &&
	    arrivals_has_gap(&t->udp->arrivals)) {
		t->udp->due_ns = 0;
		list_append(&shard_of(t)->gapped, &t->gapped_node);
	}
}

enum udp_count
udp_stream_piece(struct stream *t, const struct udp_header *h)
{
	struct arrivals *a = &t->udp->arrivals;
	const struct arrival f = { h->net_seq, h->size, h->padding, h->offset,
		h->payload, h->payload_len };
	struct packet *whole;
	enum arrived what;
	uint64_t before, to;

	if (is_short(t->session) && !make_room(t->session))
		return UDP_memory;
	before = a->partial_bytes;
	what = arrivals_add(a, &f, clock_now_ns(), &whole);
	recount(t, before);
	if (whole != NULL && stream_data(t, whole) != OK)
		what = ARRIVED_NOMEM;
	(void)udp_room_note(t, &to);
	watch_gap(t);
	return count_of(what);
}

/* A record for packet SEQ was taken. */
static void
heard_of(struct stream *t, uint64_t seq)
{
	const struct arrivals *a = &t->udp->arrivals;
	uint64_t to = t->reorder.next + UDP_RECORDS_MAX / 8, whole;

	arrivals_heard(&t->udp->arrivals, seq);
	if (t->reorder.n_records > UDP_RECORDS_MAX && arrivals_has_gap(a)) {
		if (arrivals_lowest_whole(a, &whole) && whole < to)
			to = whole;
		give_up(t, to, "too many indexes wait");
	}
	watch_gap(t);
}

static enum status
record(struct stream *t, uint64_t seq, const struct index_record *rec)
{
	enum status st;

	t->reorder.now = clock_now_ns();
	st = reorder_record(&t->reorder, seq, rec);
	if (st == E_NOENT)
		pass_packet_seq(t, rec->packet_seq_num);
	else if (st == OK)
		heard_of(t, seq);
	return st;
}

static uint32_t
pending(struct stream *t, uint64_t last_seq)
{
	if ((int64_t)(t->reorder.next - last_seq) > 0)
		return t->has_record != t->has_data ||
		       (t->has_data && t->record_seq != t->data_seq);
	if (last_seq - t->reorder.next < UDP_FAR)
		arrivals_ask(&t->udp->arrivals, last_seq, clock_now_ns());
	watch_gap(t);
	return 1;
}

static bool
may_go_on(const struct stream *t)
{
	return t->has_last && t->reorder.next <= t->last_seq &&
	       t->last_seq - t->reorder.next < UDP_FAR;
}

static void
closing(struct stream *t)
{
	struct arrivals *a = &t->udp->arrivals;

	/* When the control connection ends, no last packet is named: it is the
	 * highest known one. */
	if (!t->is_closing && !t->has_last && a->end > t->reorder.next) {
		t->has_last = true;
		t->last_seq = a->end - 1;
	}
	if (!may_go_on(t))
		return;
	arrivals_last(a, t->last_seq, clock_now_ns());
	watch_gap(t);
}

static bool
finish(struct stream *t)
{
	const struct arrivals *a = &t->udp->arrivals;
	uint64_t to;

	for (;;) {
		if (!stream_write_ready(t))
			return false;
		if (!arrivals_lowest_whole(a, &to))
			break;
		if (to > t->reorder.next)
			give_up(t, to, "the stream ended");
		else if (t->reorder.needs_record)
			break; /* not reached: no records are needed now */
	}
	if (a->end > t->reorder.next)
		give_up(t, a->end, "the stream ended");
	return stream_write_rest(t);
}

static bool
pass_gap(struct stream *t)
{
	const struct arrivals *a = &t->udp->arrivals;
	uint64_t to;

	if (arrivals_window_is_full(a) && arrivals_lowest_whole(a, &to)) {
		give_up(t, to, "the window is full");
		return true;
	}
	(void)udp_room_note(t, &to);
	watch_gap(t);
	return false;
}

static uint64_t
check_gap(struct stream *t, uint64_t now_ns)
{
	struct arrivals *a = &t->udp->arrivals;
	uint64_t to;

	/* For the same packet, later arrivals can only make the gap end
	 * later. */
	if (now_ns < t->udp->due_ns && t->udp->due_next == t->reorder.next &&
	    arrivals_has_gap(a))
		return t->udp->due_ns;
	for (;;) {
		t->udp->due_ns = arrivals_due(a, now_ns, &to);
		if (to == t->reorder.next)
			break;
		give_up(t, to, "timeout");
		if (shard_step_is_late(shard_of(t)))
			return now_ns;
	}
	t->udp->due_next = t->reorder.next;
	if (t->udp->due_ns == UINT64_MAX)
		list_del(&t->gapped_node);
	return t->udp->due_ns;
}

static bool
has_pieces(const struct stream *t)
{
	return t->udp->arrivals.n_partial > 0;
}

static const struct transport_ops udp_transport = {
	.is_connected = false,
	.destroy = destroy,
	.record = record,
	.has_pieces = has_pieces,
	.pending = pending,
	.closing = closing,
	.may_go_on = may_go_on,
	.finish = finish,
	.pass_gap = pass_gap,
	.check_gap = check_gap,
};

enum status
udp_stream_create(struct stream *t)
{
	if (t->is_metadata)
		return OK;
	t->udp = calloc(1, sizeof(*t->udp));
	if (t->udp == NULL)
		return E_NOMEM;
	t->udp->stream = t;
	list_init(&t->udp->user_node);
	t->transport = &udp_transport;
	arrivals_init(&t->udp->arrivals, &t->reorder, &t->session->udp->config);
	return OK;
}

void
udp_stream_undo(struct stream *t)
{
	if (t->udp == NULL)
		return;
	destroy(t);
	t->transport = &tcp_transport;
	reorder_forget_start(&t->reorder);
}
