/* SPDX-License-Identifier: MIT */
/* News on their way to the live workers: each arrives once, in order, and what
 * carries it was allocated with its object. */
#include <pthread.h>
#include <stdlib.h>

#include "relayd/live/live_objects.h"
#include "tests/lib/fault.h"
#include "tests/lib/unit.h"

#define WORKERS 2
#define PRODUCERS 2
#define SESSIONS 500

static struct live_inbox inboxes[WORKERS];

static struct live_session *
session(uint64_t id)
{
	struct live_session *s;

	ck_assert_int_eq(
	    live_session_create(&s, WORKERS, id, 1000000, false, "host", "s"),
	    OK);
	return s;
}

static void
tell(enum live_event what, void *object)
{
	bool is_first[WORKERS] = { 0 }; /* the workers look without end */

	for (unsigned i = 0; i < WORKERS; i++)
		is_first[i] |= live_inbox_post(&inboxes[i], what, object, i);
}

static void
assert_taken(unsigned worker, enum live_event what, void *object)
{
	enum live_event got;
	void *from;

	ck_assert(live_inbox_take(&inboxes[worker], &got, &from));
	ck_assert_int_eq(got, what);
	ck_assert_ptr_eq(from, object);
	live_put(from);
}

TEST(all_of_an_object_arrives_without_memory)
{
	struct live_session *s = session(1);
	struct live_stream *t;
	enum live_event what;
	void *object;

	ck_assert_int_eq(
	    live_stream_create(&t, s, 1, 1, "ust", "c", NULL, NULL), OK);
	for (unsigned i = 0; i < WORKERS; i++)
		live_inbox_init(&inboxes[i]);
	fault_arm(1);
	tell(LIVE_EVENT_SESSION, s);
	tell(LIVE_EVENT_STREAM, t);
	tell(LIVE_EVENT_STREAM_CLOSED, t);
	tell(LIVE_EVENT_SESSION_ENDED, s);
	ck_assert(!fault_disarm());
	for (unsigned i = 0; i < WORKERS; i++) {
		assert_taken(i, LIVE_EVENT_SESSION, s);
		assert_taken(i, LIVE_EVENT_STREAM, t);
		assert_taken(i, LIVE_EVENT_STREAM_CLOSED, t);
		assert_taken(i, LIVE_EVENT_SESSION_ENDED, s);
		ck_assert(!live_inbox_take(&inboxes[i], &what, &object));
	}
	live_put(t);
	live_put(s);
}

TEST(only_the_first_event_wakes_the_worker)
{
	struct live_session *s = session(1);

	live_inbox_init(&inboxes[0]);
	ck_assert(live_inbox_post(&inboxes[0], LIVE_EVENT_SESSION, s, 0));
	ck_assert(
	    !live_inbox_post(&inboxes[0], LIVE_EVENT_SESSION_ENDED, s, 0));
	assert_taken(0, LIVE_EVENT_SESSION, s);
	assert_taken(0, LIVE_EVENT_SESSION_ENDED, s);
	live_put(s);
}

/* The object is gone from here when the workers hear of it. */
static void *
produce(void *arg)
{
	const uint64_t first = (uint64_t)(uintptr_t)arg * SESSIONS;

	for (uint64_t i = 0; i < SESSIONS; i++) {
		struct live_session *s = session(first + i);

		tell(LIVE_EVENT_SESSION, s);
		tell(LIVE_EVENT_SESSION_ENDED, s);
		live_put(s);
	}
	return NULL;
}

static void *
consume(void *arg)
{
	struct live_inbox *b = arg;
	uint64_t next[PRODUCERS] = { 0 };
	unsigned left = 2 * PRODUCERS * SESSIONS;
	enum live_event what;
	struct live_session *s;
	void *object;

	while (left > 0) {
		if (!live_inbox_take(b, &what, &object))
			continue;
		s = object;
		ck_assert_uint_eq(
		    s->id % SESSIONS * 2 + (what == LIVE_EVENT_SESSION_ENDED),
		    next[s->id / SESSIONS]++);
		live_put(object);
		left--;
	}
	return NULL;
}

TEST(two_producers_two_workers)
{
	pthread_t producers[PRODUCERS], workers[WORKERS];

	for (unsigned i = 0; i < WORKERS; i++)
		live_inbox_init(&inboxes[i]);
	for (unsigned i = 0; i < WORKERS; i++)
		ck_assert_int_eq(
		    pthread_create(&workers[i], NULL, consume, &inboxes[i]), 0);
	for (uintptr_t i = 0; i < PRODUCERS; i++)
		ck_assert_int_eq(
		    pthread_create(&producers[i], NULL, produce, (void *)i), 0);
	for (unsigned i = 0; i < PRODUCERS; i++)
		pthread_join(producers[i], NULL);
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
}
