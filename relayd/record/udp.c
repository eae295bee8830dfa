/* SPDX-License-Identifier: MIT */
#include "relayd/record/udp.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "common/buf.h"
#include "common/log.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream.h"
#include "store/chunk.h"
#include "store/packet.h"

/*
 * The stream of a session that uses the most memory, of those that can give a
 * packet up. Streams are sorted by the power of two of what they use, so that
 * finding it does not visit all of them. A stream that uses less by now stays
 * where it was until it is found there: each move up pays for one such move.
 */

/* Of N > 0. */
static unsigned
power_of(uint64_t n)
{
	return 63 - (unsigned)__builtin_clzll(n);
}

/* Memory of its packets that wait or are not whole yet. */
static uint64_t
used_by(const struct stream *t)
{
	return t->intake.waiting_bytes + t->intake.udp->arrivals.partial_bytes;
}

/* The stream may use more memory now, or be able to give up a packet. True: it
 * can give up all below *TO (arrivals_victim()). */
static bool
note_user(struct stream *t, uint64_t *to)
{
	struct session_udp *u = t->session->udp;
	struct stream_udp *su = t->intake.udp;
	const uint64_t used = used_by(t);
	unsigned power;

	if (used == 0 || !arrivals_victim(&su->arrivals, to)) {
		list_del(&su->user_node);
		return false;
	}
	power = power_of(used);
	if (!list_empty(&su->user_node) && su->power == power)
		return true;
	list_del(&su->user_node);
	list_append(&u->users[power], &su->user_node);
	u->powers |= UINT64_C(1) << power;
	su->power = power;
	return true;
}

/*
 * The stream that uses the most memory, of those that were noted and can give a
 * packet up; no other uses twice as much. NULL: none can. On average this takes
 * as long with many streams as with few.
 */
static struct stream *
largest_user(struct session *s, uint64_t *to)
{
	struct session_udp *u = s->udp;
	struct stream_udp *su;
	unsigned power;

	while (u->powers != 0) {
		power = power_of(u->powers);
		if (list_empty(&u->users[power])) {
			u->powers &= ~(UINT64_C(1) << power);
			continue;
		}
		su = list_first(&u->users[power], struct stream_udp, user_node);
		if (note_user(su->stream, to) && su->power >= power)
			return su->stream;
	}
	return NULL;
}

/* The transport: pieces arrive, and packets are lost. */

/* Count the memory of pieces for the session, too. */
static void
recount(struct stream *t, uint64_t before)
{
	t->session->udp->partial_bytes += t->intake.udp->arrivals.partial_bytes;
	t->session->udp->partial_bytes -= before;
}

static void
destroy(struct stream *t)
{
	if (t->intake.udp->gaps > 0)
		log_peer(LOG_WARN,
		    STREAM_FMT " gaps=%" PRIu64 " lost=%" PRIu64
			       " packets, in the last gap %" PRIu64
			       " from number %" PRIu64 " on",
		    STREAM_ARGS(t), t->intake.udp->gaps, t->intake.udp->lost,
		    t->intake.udp->last.n, t->intake.udp->last.first);
	t->session->udp->partial_bytes -= t->intake.udp->arrivals.partial_bytes;
	list_del(&t->intake.udp->user_node);
	arrivals_free(&t->intake.udp->arrivals);
	free(t->intake.udp);
	t->intake.udp = NULL;
}

static void
give_up(struct stream *t, uint64_t to, const char *why)
{
	const uint64_t before = t->intake.udp->arrivals.partial_bytes;
	struct reorder_loss loss;

	/* First write the packets before the gap: they may belong to another
	 * file or chunk. */
	writer_write_batch(t);
	arrivals_skip(&t->intake.udp->arrivals, to, &loss);
	recount(t, before);
	intake_count_records(t);
	t->intake.udp->due_ns = 0;
	t->intake.udp->gaps++;
	t->intake.udp->lost += loss.n;
	t->intake.udp->last = loss;
	shard_of(t)->figures.gaps++;
	shard_of(t)->figures.packets_lost += loss.n;
	writer_lost(t, LOSS_udp, loss.n);
	log_peer(LOG_WARN,
	    STREAM_FMT " gap: %" PRIu64 " packets from number %" PRIu64
		       " on are lost: %s (%u of them had an index); "
		       "see " CHUNK_LOSSES,
	    STREAM_ARGS(t), loss.n, loss.first, why, loss.records);
	(void)writer_note_loss(t, &loss, why);
	if (loss.records > 0)
		writer_pass_packet(t, loss.last.packet_seq_num);
	stream_mark_dirty(t);
}

/* Memory of the session's packets that wait or are not whole yet. */
static uint64_t
in_use(const struct session *s)
{
	return s->waiting.bytes + s->udp->partial_bytes;
}

static bool
is_short(const struct session *s)
{
	return in_use(s) + UDP_PIECE_MEMORY > s->udp->window_bytes ||
	       (s->waiting.file_bytes >= UDP_FILES_FAIR &&
		   s->shard->file_bytes > SHARD_FILES_WAITING_MAX) ||
	       !account_may_take(
		   s->shard->config.memory, in_use(s), UDP_PIECE_MEMORY);
}

/* Give packets up until memory is free. False: no stream can give any up, or
 * the time slice has expired: what many give up may free no memory yet. */
static bool
give_packets_up(struct session *s)
{
	struct stream *t;
	uint64_t to;

	while (is_short(s)) {
		t = largest_user(s, &to);
		if (t == NULL)
			return false;
		give_up(t, to, "memory");
		(void)writer_write_ready(t);
		(void)note_user(t, &to);
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

/* Have cycle_tick() check a stream with a gap. */
static void
watch_gap(struct stream *t)
{
	if (list_empty(&t->intake.gapped_node) &&
	    arrivals_has_gap(&t->intake.udp->arrivals)) {
		t->intake.udp->due_ns = 0;
		list_append(&shard_of(t)->work.gapped, &t->intake.gapped_node);
	}
}

/* Take a piece with the right token that fits its packet. */
static enum udp_count
take_piece(struct stream *t, const struct udp_header *h)
{
	struct arrivals *a = &t->intake.udp->arrivals;
	const struct arrival f = { h->net_seq, h->size, h->padding, h->offset,
		h->payload, h->payload_len };
	struct packet *whole;
	enum arrived what;
	uint64_t before, to;

	if (is_short(t->session) && !give_packets_up(t->session))
		return UDP_memory;
	before = a->partial_bytes;
	what = arrivals_add(a, &f, clock_now_ns(), &whole);
	recount(t, before);
	if (whole != NULL && intake_add_packet(t, whole) != OK)
		what = ARRIVED_NOMEM;
	(void)note_user(t, &to);
	watch_gap(t);
	return count_of(what);
}

/* A record for packet SEQ was taken. */
static void
record_came(struct stream *t, uint64_t seq)
{
	const struct arrivals *a = &t->intake.udp->arrivals;
	uint64_t to = t->intake.reorder.next + UDP_RECORDS_MAX / 8, whole;

	arrivals_note_sent(&t->intake.udp->arrivals, seq);
	if (t->intake.reorder.n_records > UDP_RECORDS_MAX &&
	    arrivals_has_gap(a)) {
		if (reorder_lowest(a->reorder, &whole) && whole < to)
			to = whole;
		give_up(t, to, "too many indexes wait");
	}
	watch_gap(t);
}

static enum status
add_record(struct stream *t, uint64_t seq, const struct index_record *rec)
{
	enum status st;

	t->intake.reorder.now = clock_now_ns();
	st = reorder_record(&t->intake.reorder, seq, rec);
	if (st == E_NOENT)
		writer_pass_packet(t, rec->packet_seq_num);
	else if (st == OK)
		record_came(t, seq);
	return st;
}

static uint32_t
pending(struct stream *t, uint64_t last_seq)
{
	if ((int64_t)(t->intake.reorder.next - last_seq) > 0)
		return !writer_has_all_records(&t->writer);
	if (last_seq - t->intake.reorder.next < UDP_FAR)
		arrivals_ask(
		    &t->intake.udp->arrivals, last_seq, clock_now_ns());
	watch_gap(t);
	return 1;
}

static bool
may_go_on(const struct stream *t)
{
	return t->intake.has_last &&
	       t->intake.reorder.next <= t->intake.last_seq &&
	       t->intake.last_seq - t->intake.reorder.next < UDP_FAR;
}

static void
closing(struct stream *t)
{
	struct arrivals *a = &t->intake.udp->arrivals;

	/* The end of the control connection does not name the last packet: it
	 * is the highest known one. */
	if (!t->is_closing && !t->intake.has_last &&
	    a->end > t->intake.reorder.next) {
		t->intake.has_last = true;
		t->intake.last_seq = a->end - 1;
	}
	if (!may_go_on(t))
		return;
	arrivals_last(a, t->intake.last_seq, clock_now_ns());
	watch_gap(t);
}

static bool
finish(struct stream *t)
{
	const struct arrivals *a = &t->intake.udp->arrivals;
	uint64_t to;

	for (;;) {
		if (!writer_write_ready(t))
			return false;
		if (!reorder_lowest(a->reorder, &to))
			break;
		if (to > t->intake.reorder.next)
			give_up(t, to, "the stream ended");
		else if (t->intake.reorder.needs_record)
			break; /* not reached: no record is needed now */
	}
	if (a->end > t->intake.reorder.next)
		give_up(t, a->end, "the stream ended");
	return intake_write_rest(t);
}

static bool
pass_gap(struct stream *t)
{
	const struct arrivals *a = &t->intake.udp->arrivals;
	uint64_t to;

	if (arrivals_window_is_full(a) && reorder_lowest(a->reorder, &to)) {
		give_up(t, to, "the window is full");
		return true;
	}
	(void)note_user(t, &to);
	watch_gap(t);
	return false;
}

static uint64_t
check_gap(struct stream *t, uint64_t now_ns)
{
	struct arrivals *a = &t->intake.udp->arrivals;
	uint64_t to;

	/* Later arrivals can only delay the end of a gap before the same
	 * packet. */
	if (now_ns < t->intake.udp->due_ns &&
	    t->intake.udp->due_next == t->intake.reorder.next &&
	    arrivals_has_gap(a))
		return t->intake.udp->due_ns;
	for (;;) {
		t->intake.udp->due_ns = arrivals_due(a, now_ns, &to);
		if (to == t->intake.reorder.next)
			break;
		give_up(t, to, "timeout");
		if (shard_step_is_late(shard_of(t)))
			return now_ns;
	}
	t->intake.udp->due_next = t->intake.reorder.next;
	if (t->intake.udp->due_ns == UINT64_MAX)
		list_del(&t->intake.gapped_node);
	return t->intake.udp->due_ns;
}

static bool
has_pieces(const struct stream *t)
{
	return t->intake.udp->arrivals.n_partial > 0;
}

static const struct transport_ops udp_transport = {
	.is_connected = false,
	.destroy = destroy,
	.add_record = add_record,
	.has_pieces = has_pieces,
	.pending = pending,
	.closing = closing,
	.may_go_on = may_go_on,
	.finish = finish,
	.pass_gap = pass_gap,
	.check_gap = check_gap,
	.put_state = udp_stream_put_state,
	.get_state = udp_stream_get_state,
};

enum status
udp_stream_create(struct stream *t)
{
	if (t->is_metadata || t->session->udp == NULL)
		return OK;
	t->intake.udp = calloc(1, sizeof(*t->intake.udp));
	if (t->intake.udp == NULL)
		return E_NOMEM;
	t->intake.udp->stream = t;
	list_init(&t->intake.udp->user_node);
	t->intake.transport = &udp_transport;
	arrivals_init(&t->intake.udp->arrivals, &t->intake.reorder,
	    &t->session->udp->config);
	return OK;
}

const char *
udp_counts_text(const struct udp_counts *c, char *out, size_t size)
{
	static const char *const names[] = {
#define UDP_COUNT(name, text) #name,
#include "relayd/record/udp_count.tbl.h"
#undef UDP_COUNT
	};
	size_t at = 0;

	out[0] = '\0';
	for (size_t i = 0; i < UDP_COUNTS; i++)
		if (c->n[i] != 0 && at < size)
			at += (size_t)snprintf(out + at, size - at,
			    " udp_%s=%" PRIu64, names[i], c->n[i]);
	return out;
}

/* Does the session have packets, records or data connections already? Then
 * packet numbers over UDP would not begin at 0, or packets would come over TCP.
 */
static bool
has_begun(const struct session *s)
{
	const struct stream *t;

	if (s->inputs.had_any)
		return true;
	list_each (t, &s->streams, struct stream, session_node)
		if (t->intake.reorder.has_next ||
		    !reorder_is_empty(&t->intake.reorder))
			return true;
	return false;
}

static uint64_t
window_bytes(const struct session *s)
{
	const uint64_t share = s->shard->config.memory->soft / 4;

	return share < UDP_WINDOW_BYTES ? share : UDP_WINDOW_BYTES;
}

static uint32_t
choose(uint32_t wanted, uint32_t usual, uint32_t max)
{
	if (wanted == 0)
		return usual;
	return wanted < max ? wanted : max;
}

static uint64_t
gap_timeout(uint64_t us)
{
	const uint64_t ns = us > UDP_GAP_MAX_NS / 1000 ? UDP_GAP_MAX_NS
						       : us * 1000;

	if (us == 0)
		return UDP_GAP_DEFAULT_NS;
	return ns < UDP_GAP_MIN_NS ? UDP_GAP_MIN_NS : ns;
}

static enum status
random_token(struct secret *token)
{
	ssize_t n;

	do
		n = getrandom(token->b, sizeof(token->b), 0);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(token->b) ? OK : E_IO;
}

static enum relay_code
check_open(const struct session *s, const struct udp_open *q)
{
	if (s->shard->config.udp_port == 0)
		return RELAY_INVALID_PROTOCOL;
	if (q->version != UDP_VERSION || !s->has_index || s->udp != NULL ||
	    s->is_ended || has_begun(s) || s->request.may_resume ||
	    (q->fragment_size != 0 && q->fragment_size < UDP_FRAGMENT_MIN) ||
	    window_bytes(s) < UDP_WINDOW_BYTES_MIN)
		return RELAY_INVALID;
	return RELAY_OK;
}

static struct session_udp *
make(const struct session *s, const struct udp_open *q)
{
	const bool resends = (q->flags & UDP_OPEN_RESENDS) != 0;
	const uint64_t bytes = window_bytes(s);
	struct session_udp *u = calloc(1, sizeof(*u));

	if (u == NULL)
		return NULL;
	if (random_token(&u->token) != OK) {
		free(u);
		return NULL;
	}
	u->config.fragment_size = choose(
	    q->fragment_size, UDP_FRAGMENT_DEFAULT, UDP_FRAGMENT_MAX);
	/* If the sender resends, only time and memory limit a gap (udp 4). */
	u->config.window =
	    resends ? 0 : choose(q->window, UDP_WINDOW_DEFAULT, UDP_WINDOW_MAX);
	u->config.timeout_ns = gap_timeout(q->gap_timeout_us);
	for (unsigned i = 0; i < UDP_POWERS; i++)
		list_init(&u->users[i]);
	u->window_bytes = bytes;
	u->max_packet = udp_packet_max(bytes);
	if (u->max_packet > s->shard->config.max_packet_size)
		u->max_packet = s->shard->config.max_packet_size;
	return u;
}

/* Change all streams of the session to UDP. */
static enum status
begin(struct session *s, const struct udp_open *q)
{
	enum status st = OK;
	struct stream *t;

	s->udp = make(s, q);
	if (s->udp == NULL)
		return E_NOMEM;
	list_each (t, &s->streams, struct stream, session_node)
		if (st == OK)
			st = udp_stream_create(t);
	return st;
}

void
udp_open(struct session *s, const struct udp_open *q, struct udp_open_reply *a)
{
	const struct session_udp *u;

	assert(shard_is_mine(s->shard));
	*a = (struct udp_open_reply){ .code = check_open(s, q) };
	if (a->code == RELAY_OK && begin(s, q) != OK)
		a->code = RELAY_NO_MEMORY;
	if (a->code != RELAY_OK) {
		log_peer(
		    LOG_WARN, "%s UDP refused (%" PRIu32 ")", s->tag, a->code);
		return;
	}
	u = s->udp;
	a->port = s->shard->config.udp_port == s->shard->config.data_port
		      ? 0
		      : s->shard->config.udp_port;
	a->fragment_size = u->config.fragment_size;
	a->window = u->config.window != 0
			? u->config.window
			: choose(q->window, UDP_WINDOW_DEFAULT, UDP_WINDOW_MAX);
	a->window_bytes = u->window_bytes;
	a->flags = q->flags & UDP_OPEN_RESENDS;
	a->token = u->token;
	log_info("%s takes UDP: fragment=%" PRIu32 " window=%" PRIu32
		 " gap=%" PRIu64 "ms resend=%d",
	    s->tag, a->fragment_size, a->window,
	    u->config.timeout_ns / NS_PER_MS, u->config.window == 0);
}

static uint32_t
put_stream(
    const struct stream *t, struct buf *out, uint32_t max, uint32_t *looks)
{
	struct arrivals_hole holes[UDP_RANGES_MAX];
	const struct arrivals *a = &t->intake.udp->arrivals;
	const uint32_t n = arrivals_holes(
	    a, holes, max < UDP_RANGES_MAX ? max : UDP_RANGES_MAX, looks);

	udp_status_put(
	    out, &(struct udp_status){ t->handle, t->intake.reorder.next,
		     a->end > t->intake.reorder.next ? a->end
						     : t->intake.reorder.next,
		     t->intake.udp->lost, n });
	for (uint32_t i = 0; i < n; i++)
		udp_range_put(out, &(struct udp_range){ holes[i].net_seq,
				       holes[i].first, holes[i].count });
	return n;
}

static bool
is_asked(const struct stream *t, uint64_t handle)
{
	return t->intake.udp != NULL &&
	       (handle == UDP_STATUS_ALL || handle == t->handle);
}

void
udp_status(const struct session *s, uint64_t handle, struct buf *out)
{
	uint32_t streams = 0, left = UDP_STATUS_RANGES_MAX;
	uint32_t looks = UDP_STATUS_LOOKS;
	const struct stream *t;

	if (s->udp == NULL) {
		udp_status_head(out, RELAY_INVALID, 0);
		return;
	}
	list_each (t, &s->streams, struct stream, session_node)
		streams += is_asked(t, handle);
	udp_status_head(out, RELAY_OK, streams);
	list_each (t, &s->streams, struct stream, session_node)
		if (is_asked(t, handle))
			left -= put_stream(t, out, left, &looks);
}

void
udp_session_destroy(const char *tag, struct session_udp *u)
{
	char text[1024];

	if (u == NULL)
		return;
	log_info("%s UDP counters:%s", tag,
	    udp_counts_text(&u->counts, text, sizeof(text)));
	free(u);
}

/* One datagram, from any sender. Datagrams are never answered. */

/* Check a datagram, except for its place in the packet. The token comes before
 * the checksum, so that a sender that does not know the token cannot make the
 * relay read all bytes. */
static enum udp_count
check(const struct stream *t, const struct udp_header *h, const uint8_t *p,
    size_t n)
{
	const struct session_udp *u;

	if (t == NULL || t->intake.udp == NULL)
		return UDP_stream;
	u = t->session->udp;
	if (!secret_equal(&h->token, &u->token))
		return UDP_token;
	if (!udp_crc_matches(p, n))
		return UDP_checksum;
	if (!udp_fragment_fits(h, u->config.fragment_size) ||
	    (uint64_t)h->size + h->padding > u->max_packet ||
	    (h->net_seq >= t->intake.reorder.next &&
		h->net_seq - t->intake.reorder.next >= UDP_FAR))
		return UDP_figures;
	return UDP_taken;
}

/* Count for the shard, and for the session if the datagram had its token. */
static void
count(struct shard *sh, struct session *s, enum udp_count what)
{
	sh->udp.n[what]++;
	if (s != NULL)
		s->udp->counts.n[what]++;
}

static void
log_dropped(struct shard *sh, const struct session *s, enum udp_count what,
    const struct udp_header *h)
{
	static const char *const texts[] = {
#define UDP_COUNT(name, text) text,
#include "relayd/record/udp_count.tbl.h"
#undef UDP_COUNT
	};
	uint64_t *last = s == NULL ? &sh->logs.last_udp : &s->udp->last_log;

	/* Copies and late datagrams are normal on a network. */
	if (what == UDP_duplicate || what == UDP_late)
		return;
	if (log_ratelimit(last, LOG_AGAIN_NS))
		log_peer(LOG_WARN,
		    "%s datagram of stream %016" PRIx64 " packet %" PRIu64
		    " dropped: %s",
		    s == NULL ? "worker's" : s->tag, h->stream, h->net_seq,
		    texts[what]);
}

/* Does the handle belong to another worker? A worker that does not exist has no
 * streams, so datagrams for it are checked here. */
static bool
belongs_to_another(const struct shard *sh, uint64_t handle)
{
	const unsigned n = sh->config.n_workers, worker = ids_worker(handle);

	return worker != sh->config.worker && (n == 0 || worker < n);
}

bool
udp_input(struct shard *sh, const uint8_t *p, size_t n)
{
	struct udp_header h = { 0 };
	struct session *s = NULL;
	enum udp_count what;
	struct stream *t;

	assert(shard_is_mine(sh));
	if (udp_header_decode(p, n, &h) != OK) {
		count(sh, NULL, UDP_malformed);
		log_dropped(sh, NULL, UDP_malformed, &h);
		return true;
	}
	if (belongs_to_another(sh, h.stream))
		return false;
	t = idmap_find(&sh->streams, h.stream);
	what = check(t, &h, p, n);
	if (what != UDP_stream && what != UDP_token)
		s = t->session;
	if (what == UDP_taken)
		what = take_piece(t, &h);
	count(sh, s, what);
	if (what != UDP_taken)
		log_dropped(sh, s, what, &h);
	else if (h.is_resend)
		count(sh, s, UDP_resent);
	return true;
}
