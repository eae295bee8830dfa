/* SPDX-License-Identifier: MIT */
#include "tools/capture/batch.h"

#include <pthread.h>
#include <string.h>

#include "common/compiler.h"
#include "tests/lib/unit.h"

#define POOL_BATCHES 5
#define ROUNDS 20000

struct giver {
	struct pool pool;
	struct queue *to;
};

TEST(an_empty_queue_gives_nothing)
{
	struct queue q;
	struct batch c = { 0 };

	ck_assert(queue_init(&q) == OK);
	ck_assert_ptr_null(queue_take(&q));
	ck_assert_ptr_null(queue_wait(&q, 0));
	ck_assert_ptr_null(queue_wait(&q, 5));
	queue_put(&q, &c);
	ck_assert_ptr_eq(queue_wait(&q, -1), &c);
	ck_assert_ptr_null(queue_wait(&q, 0));
	queue_free(&q);
}

TEST(a_pool_has_so_many)
{
	struct batch *taken[POOL_BATCHES];
	struct pool p;

	ck_assert(pool_init(&p, POOL_BATCHES) == OK);
	for (unsigned i = 0; i < POOL_BATCHES; i++) {
		taken[i] = queue_take(&p.free);
		ck_assert_ptr_nonnull(taken[i]);
		ck_assert_uint_eq((uintptr_t)taken[i]->mem % 64, 0);
		memset(taken[i]->mem, (int)i, BATCH_SIZE);
	}
	ck_assert_ptr_null(queue_take(&p.free));
	for (unsigned i = 0; i < POOL_BATCHES; i++) {
		ck_assert_uint_eq(taken[i]->mem[BATCH_SIZE - 1], i);
		batch_done(taken[i]);
	}
	ck_assert_ptr_eq(queue_take(&p.free), taken[0]);
	pool_free(&p);
}

TEST(a_batch_may_be_larger_until_it_is_back)
{
	struct published n = { 0 };
	struct batch *b;
	struct pool p;
	uint8_t *usual;

	ck_assert(pool_init(&p, 1) == OK);
	b = queue_take(&p.free);
	usual = b->mem;
	ck_assert(batch_enlarge(b, 2 * BATCH_SIZE, &n));
	ck_assert_uint_eq(b->size, 2 * BATCH_SIZE);
	memset(b->mem, 1, b->size);
	ck_assert_uint_eq(published(&n), 1);
	batch_done(b);
	ck_assert_uint_eq(published(&n), 0);
	ck_assert_ptr_eq(queue_take(&p.free), b);
	ck_assert_ptr_eq(b->mem, usual);
	ck_assert_uint_eq(b->size, BATCH_SIZE);
	pool_free(&p);
}

static void *
give(void *giver)
{
	struct giver *g = giver;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct batch *b = queue_wait(&g->pool.free, -1);

		batch_reset(b);
		b->n = i;
		b->mem[i % BATCH_SIZE] = (uint8_t)i;
		queue_put(g->to, b);
	}
	return NULL;
}

/* Two give, this thread takes: all arrives, in the order of each. */
TEST(threads_hand_batches_around)
{
	struct giver givers[2] = { 0 };
	pthread_t threads[2];
	uint32_t next[2] = { 0, 0 };
	struct queue q;

	ck_assert(queue_init(&q) == OK);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert(pool_init(&givers[i].pool, POOL_BATCHES) == OK);
		givers[i].to = &q;
		ck_assert(
		    pthread_create(&threads[i], NULL, give, &givers[i]) == 0);
	}
	for (unsigned i = 0; i < 2 * ROUNDS; i++) {
		struct batch *b = queue_wait(&q, -1);
		const unsigned of = b->home == &givers[1].pool.free;

		ck_assert_uint_eq(b->n, next[of]++);
		ck_assert_uint_eq(b->mem[b->n % BATCH_SIZE], (uint8_t)b->n);
		batch_done(b);
	}
	for (unsigned i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		pool_free(&givers[i].pool);
	}
	queue_free(&q);
}
