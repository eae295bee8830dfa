/* SPDX-License-Identifier: MIT */
#include "tools/client/flow.h"

#include <assert.h>
#include <stdlib.h>

#include "common/clock.h"

#define DEPTH_NS (10 * NS_PER_MS)
#define DEPTH_LEAST 1024
#define GRAIN_MOST (64 * 1024)

/* This is far beyond any network; sums of it stay within 64 bits. */
#define RATE_MOST (INT64_MAX / 4)

void
pace_init(struct pace *p, uint64_t rate, uint64_t now_ns)
{
	*p = (struct pace){ .rate = rate < RATE_MOST ? rate : RATE_MOST,
		.at_ns = now_ns };
}

static double
tokens_earned(const struct pace *p, uint64_t ns)
{
	return (double)p->rate * (double)ns / (double)NS_PER_S;
}

static int64_t
depth(const struct pace *p)
{
	const int64_t n = (int64_t)tokens_earned(p, DEPTH_NS);

	return n < DEPTH_LEAST ? DEPTH_LEAST : n;
}

/* The grain. For a slow rate it is what one second brings: a peer waits that
 * long. */
static int64_t
grain(const struct pace *p)
{
	const int64_t n = depth(p);

	if ((uint64_t)n > p->rate)
		return (int64_t)p->rate;
	return n < GRAIN_MOST ? n : GRAIN_MOST;
}

/* Add the tokens that the time brought. A part of a token is counted next
 * time. */
static void
fill(struct pace *p, uint64_t now_ns)
{
	const int64_t most = depth(p);
	const double more = tokens_earned(p, now_ns - p->at_ns);

	if (more < 1)
		return;
	if (more >= (double)(most - p->tokens)) {
		p->tokens = most;
		p->at_ns = now_ns;
		return;
	}
	p->tokens += (int64_t)more;
	p->at_ns += (uint64_t)((double)(int64_t)more * (double)NS_PER_S /
			       (double)p->rate);
}

size_t
pace_allowance(struct pace *p, uint64_t now_ns)
{
	if (p->rate == 0)
		return SIZE_MAX;
	fill(p, now_ns);
	return p->tokens >= grain(p) ? (size_t)p->tokens : 0;
}

void
pace_spend(struct pace *p, size_t bytes)
{
	if (p->rate != 0)
		p->tokens -= (int64_t)bytes;
}

uint64_t
pace_ready_ns(const struct pace *p, uint64_t now_ns)
{
	if (p->rate == 0 || p->tokens >= grain(p))
		return now_ns;
	return p->at_ns +
	       (uint64_t)((double)(grain(p) - p->tokens) * (double)NS_PER_S /
			  (double)p->rate) +
	       1;
}

#define THRESHOLD (WINDOW_MOST / 2)
/* When the growth is slow, a whole confirmed window adds this many bytes. */
#define STEP (32 * 1024)

void
window_init(struct window *w)
{
	*w = (struct window){ .size = WINDOW_FIRST, .threshold = THRESHOLD };
}

size_t
window_allowance(const struct window *w)
{
	const uint64_t under_way = w->sent - w->confirmed;

	return under_way >= w->size ? 0 : (size_t)(w->size - under_way);
}

void
window_ask(struct window *w)
{
	w->asked = w->sent;
}

void
window_answer(struct window *w, bool has_loss, uint64_t missing)
{
	const uint64_t before = w->confirmed;
	uint64_t confirmed;

	assert(w->confirmed <= w->asked && w->asked <= w->sent);
	if (missing > w->size / 2)
		missing = w->size / 2;
	if (w->asked > before + missing)
		w->confirmed = w->asked - missing;
	confirmed = w->confirmed - before;
	if (!has_loss) {
		w->size += w->size < w->threshold ? confirmed
						  : confirmed * STEP / w->size;
		w->size = w->size > WINDOW_MOST ? WINDOW_MOST : w->size;
	} else if (w->asked > w->cut) {
		/* Losses among bytes sent before the last cut have already
		 * halved the window. */
		w->size /= 2;
		w->size = w->size < WINDOW_LEAST ? WINDOW_LEAST : w->size;
		w->threshold = w->size;
		w->cut = w->sent;
	}
}

bool
window_is_due(const struct window *w)
{
	return w->sent - w->asked >= w->size / 4;
}

#define CAP_FIRST 16

static struct held_packet *
at(const struct held *h, uint64_t n)
{
	return &h->ring[n & (h->cap - 1)];
}

void
held_release(struct held *h, uint64_t next)
{
	for (; h->first < h->end && h->first < next; h->first++) {
		const struct client_packet *p = &at(h, h->first)->packet;

		h->bytes -= p->size;
		client_packet_done(p);
	}
}

void
held_free(struct held *h)
{
	held_release(h, UINT64_MAX);
	free(h->ring);
	*h = (struct held){ 0 };
}

static enum status
grow_ring(struct held *h)
{
	struct held wide = *h;

	wide.cap = h->cap == 0 ? CAP_FIRST : 2 * h->cap;
	wide.ring = calloc(wide.cap, sizeof(*wide.ring));
	if (wide.ring == NULL)
		return E_NOMEM;
	for (uint64_t n = h->first; n < h->end; n++)
		*at(&wide, n) = *at(h, n);
	free(h->ring);
	*h = wide;
	return OK;
}

enum status
held_put(struct held *h, const struct client_packet *packet, uint64_t now_ns)
{
	assert(h->first <= h->end && h->end - h->first <= h->cap);
	assert((h->cap & (h->cap - 1)) == 0 || h->cap == 0);
	if (h->end - h->first == h->cap && grow_ring(h) != OK)
		return E_NOMEM;
	*at(h, h->end++) = (struct held_packet){ *packet, now_ns };
	h->bytes += packet->size;
	return OK;
}

struct held_packet *
held_find(struct held *h, uint64_t net_seq)
{
	return net_seq >= h->first && net_seq < h->end ? at(h, net_seq) : NULL;
}
