/* SPDX-License-Identifier: MIT */
#include "tools/capture/chunk.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/clock.h"

#define CHUNK_ALIGN 64

enum status
queue_init(struct queue *q)
{
	cds_wfcq_init(&q->head, &q->tail);
	q->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	q->is_open = q->event >= 0;
	return q->is_open ? OK : E_IO;
}

void
queue_free(struct queue *q)
{
	if (q->is_open)
		close(q->event);
	q->is_open = false;
}

void
queue_put(struct queue *q, struct chunk *c)
{
	const uint64_t one = 1;

	cds_wfcq_node_init(&c->node);
	/* The queue orders this as well, but neither compilers nor
	 * ThreadSanitizer can see that. */
	publish(&c->handed, 1);
	/* The consumer checks again before it waits: only the first chunk has
	 * to wake it. An eventfd that is full is readable already. */
	if (!cds_wfcq_enqueue(&q->head, &q->tail, &c->node))
		(void)!write(q->event, &one, sizeof(one));
}

struct chunk *
queue_take(struct queue *q)
{
	struct cds_wfcq_node *n = __cds_wfcq_dequeue_blocking(
	    &q->head, &q->tail);
	struct chunk *c;

	if (n == NULL)
		return NULL;
	c = caa_container_of(n, struct chunk, node);
	(void)published(&c->handed);
	return c;
}

void
queue_woken(struct queue *q)
{
	uint64_t n;

	(void)!read(q->event, &n, sizeof(n));
}

struct chunk *
queue_wait(struct queue *q, int timeout_ms)
{
	const uint64_t until = clock_now_ns() +
			       (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms) *
				   NS_PER_MS;
	struct pollfd p = { .fd = q->event, .events = POLLIN };
	struct chunk *c;

	for (;;) {
		queue_woken(q);
		c = queue_take(q);
		if (c != NULL)
			return c;
		if (poll(&p, 1, timeout_ms < 0 ? -1 : clock_ms_until(until)) ==
		    0)
			return queue_take(q);
	}
}

enum status
pool_init(struct pool *p, unsigned n)
{
	enum status st;

	assert(n > 0);
	*p = (struct pool){ .n = n };
	st = queue_init(&p->free);
	if (st != OK)
		return st;
	p->chunks = calloc(n, sizeof(*p->chunks));
	p->mem = aligned_alloc(CHUNK_ALIGN, (size_t)n * CHUNK_SIZE);
	if (p->chunks == NULL || p->mem == NULL) {
		pool_free(p);
		return E_NOMEM;
	}
	for (unsigned i = 0; i < n; i++) {
		p->chunks[i].home = &p->free;
		p->chunks[i].mem = p->mem + (size_t)i * CHUNK_SIZE;
		queue_put(&p->free, &p->chunks[i]);
	}
	return OK;
}

void
pool_free(struct pool *p)
{
	queue_free(&p->free);
	free(p->chunks);
	free(p->mem);
	*p = (struct pool){ 0 };
}

void
chunk_reset(struct chunk *c)
{
	c->used = c->n = c->packets = 0;
	c->kind = CHUNK_DATA;
	c->is_round_end = c->is_flush = false;
	c->round = c->begin_ns = c->end_ns = c->discarded = 0;
}

void
chunk_done(struct chunk *c)
{
	assert(c->home != NULL);
	queue_put(c->home, c);
}
