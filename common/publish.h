/* SPDX-License-Identifier: MIT */
/*
 * A number that threads share: one of the three ways between threads, and the
 * only place where data that threads share is _Atomic. publish() makes all that
 * the writer stored before visible to whoever reads the new value with
 * published().
 */
#ifndef COMMON_PUBLISH_H
#define COMMON_PUBLISH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct published {
	_Atomic uint64_t n;
};

/* One writer. */
static inline void
publish(struct published *p, uint64_t n)
{
	atomic_store_explicit(&p->n, n, memory_order_release);
}

static inline uint64_t
published(const struct published *p)
{
	return atomic_load_explicit(
	    &((struct published *)(uintptr_t)p)->n, memory_order_acquire);
}

/* Any number of writers. For counts only: no other store or load is ordered by
 * it. */
static inline uint64_t
published_add(struct published *p, uint64_t n)
{
	return atomic_fetch_add_explicit(&p->n, n, memory_order_relaxed) + n;
}

static inline uint64_t
published_sub(struct published *p, uint64_t n)
{
	return atomic_fetch_sub_explicit(&p->n, n, memory_order_relaxed) - n;
}

/* Relaxed, for values that a sequence number beside them guards. */
static inline void
published_set_word(struct published *p, uint64_t n)
{
	atomic_store_explicit(&p->n, n, memory_order_relaxed);
}

static inline uint64_t
published_word(const struct published *p)
{
	return atomic_load_explicit(
	    &((struct published *)(uintptr_t)p)->n, memory_order_relaxed);
}

/* Count N more. One writer: for its thread this is a plain addition. */
static inline void
published_count(struct published *p, uint64_t n)
{
	published_set_word(p, published_word(p) + n);
}

/* Stores and loads before the fence stay before those after it. */
static inline void
published_fence(void)
{
	atomic_thread_fence(memory_order_seq_cst);
}

/* A set of bits. Any number of threads add bits; a thread that takes them takes
 * all at once, or the whole of a count. */
static inline void
published_add_bits(struct published *p, uint64_t bits)
{
	atomic_fetch_or_explicit(&p->n, bits, memory_order_seq_cst);
}

static inline uint64_t
published_take_bits(struct published *p)
{
	return atomic_exchange_explicit(&p->n, 0, memory_order_seq_cst);
}

/*
 * The threads that wait for an event, one bit for each. A reader that wants to
 * wait adds its bit, then looks again. The writer publishes, then takes the
 * bits and wakes the threads that they name.
 */
struct waiters {
	struct published bits;
};

static inline void
waiters_add(struct waiters *w, uint64_t bit)
{
	published_add_bits(&w->bits, bit);
	published_fence();
}

static inline uint64_t
waiters_take(struct waiters *w)
{
	published_fence();
	return published(&w->bits) == 0 ? 0 : published_take_bits(&w->bits);
}

/* Drop a reference from a count: the thread that takes the count to zero sees
 * what all others did. */
static inline uint64_t
published_release(struct published *p)
{
	return atomic_fetch_sub_explicit(&p->n, 1, memory_order_acq_rel) - 1;
}

/* Sets the number from 0 to 1. False: it was not 0. Everything that the thread
 * that published the 0 did before is visible. */
static inline bool
published_take(struct published *p)
{
	uint64_t none = 0;

	return atomic_compare_exchange_strong_explicit(
	    &p->n, &none, 1, memory_order_acquire, memory_order_relaxed);
}

/*
 * A pointer to something that is constant from here on; the reader sees all of
 * it. One writer. (Not rcu_assign_pointer(): ThreadSanitizer does not see the
 * order that it gives.) RCU says how long the pointer may be read.
 */
struct published_pointer {
	void *_Atomic p;
};

static inline void
publish_pointer(struct published_pointer *to, void *p)
{
	atomic_store_explicit(&to->p, p, memory_order_release);
}

static inline void *
published_pointer(const struct published_pointer *from)
{
	return atomic_load_explicit(
	    &((struct published_pointer *)(uintptr_t)from)->p,
	    memory_order_acquire);
}

/* A stack that any thread pushes to, and one thread at a time takes whole.
 * *NEXT is the link in ITEM. */
static inline void
published_push(struct published_pointer *stack, void *item, void **next)
{
	*next = atomic_load_explicit(&stack->p, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(
	    &stack->p, next, item, memory_order_release, memory_order_relaxed))
		;
}

static inline void *
published_take_all(struct published_pointer *stack)
{
	return atomic_exchange_explicit(&stack->p, NULL, memory_order_acquire);
}

#endif
