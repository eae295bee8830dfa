/* SPDX-License-Identifier: MIT */
#include "tools/capture/batch.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/clock.h"

#define BATCH_ALIGN 64

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
queue_put(struct queue *q, struct batch *b)
{
	const uint64_t one = 1;

	cds_wfcq_node_init(&b->node);
	/* The queue orders this as well, but neither compilers nor
	 * ThreadSanitizer can see that. */
	publish(&b->handed, 1);
	/* The consumer checks again before it waits: only the first batch has
	 * to wake it. An eventfd that is full is readable already. */
	if (!cds_wfcq_enqueue(&q->head, &q->tail, &b->node))
		(void)!write(q->event, &one, sizeof(one));
}

struct batch *
queue_take(struct queue *q)
{
	struct cds_wfcq_node *n = __cds_wfcq_dequeue_blocking(
	    &q->head, &q->tail);
	struct batch *b;

	if (n == NULL)
		return NULL;
	b = caa_container_of(n, struct batch, node);
	(void)published(&b->handed);
	return b;
}

void
queue_woken(struct queue *q)
{
	uint64_t n;

	(void)!read(q->event, &n, sizeof(n));
}

struct batch *
queue_wait(struct queue *q, int timeout_ms)
{
	const uint64_t until = clock_now_ns() +
			       (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms) *
				   NS_PER_MS;
	struct pollfd p = { .fd = q->event, .events = POLLIN };
	struct batch *b;

	for (;;) {
		queue_woken(q);
		b = queue_take(q);
		if (b != NULL)
			return b;
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
	p->batches = calloc(n, sizeof(*p->batches));
	p->mem = aligned_alloc(BATCH_ALIGN, (size_t)n * BATCH_SIZE);
	if (p->batches == NULL || p->mem == NULL) {
		pool_free(p);
		return E_NOMEM;
	}
	for (unsigned i = 0; i < n; i++) {
		p->batches[i].home = &p->free;
		p->batches[i].mem = p->mem + (size_t)i * BATCH_SIZE;
		p->batches[i].size = BATCH_SIZE;
		queue_put(&p->free, &p->batches[i]);
	}
	return OK;
}

void
pool_free(struct pool *p)
{
	queue_free(&p->free);
	free(p->batches);
	free(p->mem);
	*p = (struct pool){ 0 };
}

void
batch_reset(struct batch *b)
{
	b->used = b->n = b->packets = 0;
	b->kind = BATCH_DATA;
	b->is_round_end = b->is_flush = false;
	b->round = b->begin_ns = b->end_ns = b->discarded = 0;
}

bool
batch_enlarge(struct batch *b, size_t size, struct published *n_large)
{
	uint8_t *mem = malloc(size);

	assert(b->usual == NULL && size <= UINT32_MAX);
	if (mem == NULL)
		return false;
	b->usual = b->mem;
	b->mem = mem;
	b->size = (uint32_t)size;
	b->n_large = n_large;
	published_add(n_large, 1);
	return true;
}

void
batch_done(struct batch *b)
{
	assert(b->home != NULL);
	if (b->usual != NULL) {
		free(b->mem);
		b->mem = b->usual;
		b->usual = NULL;
		b->size = BATCH_SIZE;
		published_sub(b->n_large, 1);
	}
	queue_put(b->home, b);
}
