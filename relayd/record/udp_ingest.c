/* SPDX-License-Identifier: MIT */
/* One datagram, which may come from anywhere. Datagrams are never answered. */
#include <assert.h>
#include <inttypes.h>

#include "common/log.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream.h"
#include "relayd/record/udp_internal.h"

#define LOG_NS (10 * NS_PER_S)

/* Judge a datagram without its place in the packet. The token is checked before
 * the checksum, so that a sender who does not know the token cannot make the
 * relay read all bytes. */
static enum udp_count
judge(const struct stream *t, const struct udp_header *h, const uint8_t *p,
    size_t n)
{
	const struct session_udp *u;

	if (t == NULL || t->udp == NULL)
		return UDP_stream;
	u = t->session->udp;
	if (!udp_token_equal(&h->token, &u->token))
		return UDP_token;
	if (!udp_crc_matches(p, n))
		return UDP_checksum;
	if (!udp_fragment_fits(h, u->config.fragment_size) ||
	    (uint64_t)h->size + h->padding > u->max_packet ||
	    (h->net_seq >= t->reorder.next &&
		h->net_seq - t->reorder.next >= UDP_FAR))
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
tell(struct shard *sh, const struct session *s, enum udp_count what,
    const struct udp_header *h)
{
	static const char *const texts[] = {
#define UDP_COUNT(name, text) text,
#include "relayd/record/udp_count.tbl.h"
#undef UDP_COUNT
	};
	uint64_t *last = s == NULL ? &sh->last_udp_log : &s->udp->last_log;

	/* Copies and late datagrams are normal on a network. */
	if (what == UDP_duplicate || what == UDP_late)
		return;
	if (log_ratelimit(last, LOG_NS))
		log_peer(LOG_WARN,
		    "%s datagram of stream %016" PRIx64 " packet %" PRIu64
		    " dropped: %s",
		    s == NULL ? "worker's" : s->tag, h->stream, h->net_seq,
		    texts[what]);
}

/* Is the handle another worker's? A worker that does not exist has no streams,
 * so datagrams for it are judged here. */
static bool
is_anothers(const struct shard *sh, uint64_t handle)
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
		tell(sh, NULL, UDP_malformed, &h);
		return true;
	}
	if (is_anothers(sh, h.stream))
		return false;
	t = idmap_find(&sh->streams, h.stream);
	what = judge(t, &h, p, n);
	if (what != UDP_stream && what != UDP_token)
		s = t->session;
	if (what == UDP_taken)
		what = udp_stream_piece(t, &h);
	count(sh, s, what);
	if (what != UDP_taken)
		tell(sh, s, what, &h);
	else if (h.is_resend)
		count(sh, s, UDP_resent);
	return true;
}
