/* SPDX-License-Identifier: MIT */
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
#include "relayd/record/udp_internal.h"

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

/* Has the session packets, records or data connections already? Then packet
 * numbers over UDP would not begin at 0, or packets would come over TCP. */
static bool
has_begun(const struct session *s)
{
	const struct stream *t;

	if (s->had_input)
		return true;
	list_each (t, &s->streams, struct stream, session_node)
		if (t->reorder.has_next || !reorder_is_empty(&t->reorder))
			return true;
	return false;
}

static uint64_t
window_bytes(const struct session *s)
{
	const uint64_t share = s->shard->config.max_memory / 4;

	return share < UDP_WINDOW_BYTES ? share : UDP_WINDOW_BYTES;
}

static uint32_t
wish(uint32_t wanted, uint32_t usual, uint32_t max)
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
random_token(struct udp_token *token)
{
	ssize_t n;

	do
		n = getrandom(token->b, sizeof(token->b), 0);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(token->b) ? OK : E_IO;
}

static enum relay_code
judge_open(const struct session *s, const struct udp_open *q)
{
	if (s->shard->config.udp_port == 0)
		return RELAY_INVALID_PROTOCOL;
	if (q->version != UDP_VERSION || !s->has_index || s->udp != NULL ||
	    s->is_ended || has_begun(s) ||
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
	u->config.fragment_size = wish(
	    q->fragment_size, UDP_FRAGMENT_DEFAULT, UDP_FRAGMENT_MAX);
	/* With a sender that resends, only time and memory limit a gap (udp
	 * 4). */
	u->config.window =
	    resends ? 0 : wish(q->window, UDP_WINDOW_DEFAULT, UDP_WINDOW_MAX);
	u->config.timeout_ns = gap_timeout(q->gap_timeout_us);
	udp_room_init(u);
	u->window_bytes = bytes;
	u->max_packet = udp_packet_max(bytes);
	if (u->max_packet > s->shard->config.max_packet_size)
		u->max_packet = s->shard->config.max_packet_size;
	return u;
}

/* Change all streams of the session to UDP; if one fails, all stay with TCP. */
static enum status
begin(struct session *s, const struct udp_open *q)
{
	enum status st = OK;
	struct list *n, *tmp;

	s->udp = make(s, q);
	if (s->udp == NULL)
		return E_NOMEM;
	list_for_each (n, tmp, &s->streams)
		if (st == OK)
			st = udp_stream_create(
			    list_entry(n, struct stream, session_node));
	if (st == OK)
		return OK;
	list_for_each (n, tmp, &s->streams)
		udp_stream_undo(list_entry(n, struct stream, session_node));
	free(s->udp);
	s->udp = NULL;
	return st;
}

void
udp_open(struct session *s, const struct udp_open *q, struct udp_open_reply *a)
{
	const struct session_udp *u;

	assert(shard_is_mine(s->shard));
	*a = (struct udp_open_reply){ .code = judge_open(s, q) };
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
			: wish(q->window, UDP_WINDOW_DEFAULT, UDP_WINDOW_MAX);
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
	const struct arrivals *a = &t->udp->arrivals;
	const uint32_t n = arrivals_holes(
	    a, holes, max < UDP_RANGES_MAX ? max : UDP_RANGES_MAX, looks);

	udp_status_put(
	    out, &(struct udp_status){ t->handle, t->reorder.next,
		     a->end > t->reorder.next ? a->end : t->reorder.next,
		     t->udp->lost, n });
	for (uint32_t i = 0; i < n; i++)
		udp_range_put(out, &(struct udp_range){ holes[i].net_seq,
				       holes[i].first, holes[i].count });
	return n;
}

static bool
is_asked(const struct stream *t, uint64_t handle)
{
	return t->udp != NULL &&
	       (handle == UDP_STATUS_ALL || handle == t->handle);
}

void
udp_status(const struct session *s, uint64_t handle, struct buf *out)
{
	uint32_t streams = 0, room = UDP_STATUS_RANGES_MAX;
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
			room -= put_stream(t, out, room, &looks);
}

void
udp_session_destroy(const char *tag, struct session_udp *u)
{
	char text[1024];

	if (u == NULL)
		return;
	log_info("%s UDP figures:%s", tag,
	    udp_counts_text(&u->counts, text, sizeof(text)));
	free(u);
}
