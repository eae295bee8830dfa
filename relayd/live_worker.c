/* SPDX-License-Identifier: MIT */
#include "relayd/live_worker.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <urcu.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/state.h"
#include "common/thread.h"
#include "relayd/live/live_objects.h"
#include "relayd/net/loop.h"
#include "relayd/net/questions.h"
#include "relayd/net/threads.h"
#include "relayd/process/options.h"
#include "relayd/net/viewer_conn.h"
#include "relayd/live/viewers.h"
#include "relayd/stats/stats.h"

/* Events that one cycle takes; the rest waits for the next cycle, so that peers
 * that publish without pause do not keep viewers waiting. */
#define CYCLE_EVENTS 256

struct live_worker {
	pthread_t thread;
	struct loop loop;
	struct live_inbox inbox;
	bool has_thread;
	bool is_freezing;     /* the thread ends, but nothing is closed */
	struct message *stop; /* only it ends the thread for good */
	/* A wake-up could not be sent: serve all held requests. */
	struct published has_lost_wake;
	struct viewers viewers;
	struct questions questions;
	struct viewer_conns set;
};

struct live_pool {
	struct live_notifier notifier;
	struct published viewer_ids;
	struct account conns;
	uint64_t last_full_log;
	struct live_worker workers[LIVE_WORKERS_MAX];
	unsigned n_workers; /* started */
	unsigned next;	    /* the worker of the next viewer */
};

/* PUT_IDS only: the workers write their viewers, and the rest is made again. */
static const struct state_member members[] = {
	STATE_STRUCT(struct live_pool, notifier, live_notifier_state),
	STATE_PUBLISHED(struct live_pool, viewer_ids),
	STATE_DROP(struct live_pool, conns), /* counted again */
	STATE_DROP(struct live_pool, last_full_log),
	STATE_CODE(struct live_pool, workers),
	STATE_DROP(struct live_pool, n_workers),
	STATE_KEEP(struct live_pool, next),
};
static STATE_TABLE(live_pool_state, struct live_pool, members);

static const struct state_member worker_members[] = {
	STATE_DROP(struct live_worker, thread),
	STATE_DROP(struct live_worker, loop),
	STATE_DROP(struct live_worker, inbox), /* empty: live_pool_drain() */
	STATE_DROP(struct live_worker, has_thread),
	STATE_DROP(struct live_worker, is_freezing),
	STATE_DROP(struct live_worker, stop),
	/* All held requests are served again. */
	STATE_DROP(struct live_worker, has_lost_wake),
	STATE_CODE(struct live_worker, viewers),
	STATE_DROP(struct live_worker, questions), /* of the old HTTP thread */
	STATE_CODE(struct live_worker, set),
};
static STATE_TABLE(live_worker_state, struct live_worker, worker_members);

/* Serve held requests once for all events of a cycle: a peer that publishes
 * many streams costs the viewers of other peers nothing. */
static void
on_wake(void *arg)
{
	struct live_worker *w = arg;
	enum live_event what;
	void *object;
	unsigned n = 0;

	if (w->loop.is_stopping)
		return;
	while (n < CYCLE_EVENTS && live_inbox_take(&w->inbox, &what, &object)) {
		viewers_take_event(&w->viewers, what, object);
		n++;
	}
	if (n == CYCLE_EVENTS)
		loop_wake(&w->loop);
	else if (n > 0 && list_empty(&w->set.conns))
		loop_rest(&w->loop);
	if (n > 0)
		viewer_conns_serve_events(&w->set);
	if (published_take_bits(&w->has_lost_wake) != 0)
		viewer_conns_wake(&w->set, NULL);
}

static void
on_message(struct message *m, void *arg)
{
	struct live_worker *w = arg;

	switch (m->kind) {
	case MESSAGE_STOP:
		w->loop.is_stopping = true;
		break;
	case MESSAGE_FREEZE:
		w->is_freezing = true;
		break;
	case MESSAGE_VIEWER:
		loop_cancel_rest(&w->loop);
		if (w->loop.is_stopping)
			viewer_conn_destroy(m->object);
		else
			viewer_conn_attach(m->object, &w->set);
		break;
	case MESSAGE_WAKE:
		if (!w->loop.is_stopping)
			viewer_conns_wake(&w->set, m->object);
		break;
	case MESSAGE_INFO:
		questions_add(&w->questions, m);
		break;
	case MESSAGE_STORED:
	case MESSAGE_STORED_INFO:
	case MESSAGE_EVENT:
	case MESSAGE_SETTINGS:
	case MESSAGE_DRAIN:
	case MESSAGE_ADOPT:
	case MESSAGE_DATAGRAM:
	case MESSAGE_SESSION_GONE:
		break;
	}
}

static void
close_all(struct live_worker *w)
{
	viewer_conns_destroy(&w->set);
	viewers_destroy(&w->viewers);
}

static void *
run(void *arg)
{
	struct live_worker *w = arg;
	uint64_t now, began, next;

	rcu_register_thread();
	viewers_begin(&w->viewers);
	viewer_conns_begin(&w->set);
	while (!w->loop.is_stopping && !w->is_freezing) {
		loop_run_cycle(&w->loop);
		now = clock_now_ns();
		next = viewers_end_lingering(&w->viewers, now);
		next = clock_earlier(next, viewer_conns_tick(&w->set, now));
		if (questions_answer(
			&w->questions, viewers_answer, &w->viewers))
			next = now;
		loop_set_timer(&w->loop, next, now);
		began = published(&w->loop.busy_since);
		if (began != 0)
			histogram_add(
			    &w->viewers.stats->cycles, clock_now_ns() - began);
		publish(&w->loop.busy_since, 0);
	}
	if (!w->is_freezing)
		close_all(w);
	viewers_end(&w->viewers);
	rcu_unregister_thread();
	return NULL;
}

static enum status
create(struct live_pool *p, struct live_worker *w,
    const struct live_config *config)
{
	const uint64_t memory = config->max_memory / config->n_workers;
	const uint64_t positions = memory / VIEWER_POSITIONS_PART;
	enum status st;

	live_inbox_init(&w->inbox);
	viewers_init(&w->viewers, p->n_workers, config->holds_replies,
	    config->max_viewers, &p->viewer_ids);
	w->viewers.linger_ns = config->linger_ns;
	w->viewers.max_lingering_sessions = config->max_ended;
	w->viewers.max_lingering_streams = config->max_memory /
					   VIEWER_LINGER_PART /
					   VIEWER_ENDED_MEMORY;
	w->viewers.max_ended = config->max_ended;
	w->viewers.max_ended_sessions = config->max_conns / config->n_workers;
	account_init(&w->viewers.memory, positions / 2, positions,
	    positions / ACCOUNT_FAIR_PART);
	w->viewers.files.kept.hard = memory / OPEN_KEPT_PART;
	viewer_conns_init(&w->set, &w->loop, &w->viewers, config->stall_ns);
	if (w->set.unsent.hard > memory / VIEWER_UNSENT_PART)
		w->set.unsent.hard = memory / VIEWER_UNSENT_PART;
	st = loop_init(&w->loop, on_message, w);
	w->loop.on_wake = on_wake;
	if (st == OK)
		st = message_create(&w->stop, MESSAGE_STOP);
	if (st != OK) {
		free(w->stop);
		loop_destroy(&w->loop);
		return st;
	}
	viewers_begin(&w->viewers);
	p->n_workers++;
	return OK;
}

static void
notify(struct live_notifier *d, enum live_event what, void *object)
{
	struct live_pool *p = container_of(d, struct live_pool, notifier);

	for (unsigned i = 0; i < p->n_workers; i++) {
		viewers_note_sent(&p->workers[i].viewers, what);
		if (live_inbox_post(&p->workers[i].inbox, what, object, i))
			loop_wake(&p->workers[i].loop);
	}
}

static void
wake_one(struct live_worker *w, const void *source)
{
	struct message *m;

	if (message_create(&m, MESSAGE_WAKE) != OK) {
		published_add_bits(&w->has_lost_wake, 1);
		loop_wake(&w->loop);
		return;
	}
	m->object = (void *)(uintptr_t)source;
	loop_post(&w->loop, m);
}

static void
wake(struct live_notifier *d, uint64_t bits, const void *source)
{
	struct live_pool *p = container_of(d, struct live_pool, notifier);

	for (unsigned i = 0; i < p->n_workers; i++)
		if ((bits & UINT64_C(1) << i) != 0)
			wake_one(&p->workers[i], source);
}

enum status
live_pool_create(struct live_pool **out, const struct live_config *config)
{
	struct live_pool *p = calloc(1, sizeof(*p));
	enum status st = OK;

	*out = NULL;
	if (p == NULL)
		return E_NOMEM;
	p->notifier.notify = notify;
	p->notifier.wake = wake;
	p->notifier.n_workers = config->n_workers;
	p->conns.hard = config->max_conns;
	for (unsigned i = 0; i < config->n_workers && st == OK; i++)
		st = create(p, &p->workers[i], config);
	if (st != OK) {
		live_pool_stop(p);
		return st;
	}
	*out = p;
	return OK;
}

/* End W's thread, if it runs: M makes it end. W is this thread's then. */
static void
end_thread(struct live_worker *w)
{
	if (!w->has_thread)
		return;
	pthread_join(w->thread, NULL);
	w->has_thread = false;
	viewers_begin(&w->viewers);
}

enum status
live_pool_run(struct live_pool *p)
{
	struct live_worker *w;

	for (unsigned i = 0; i < p->n_workers; i++) {
		w = &p->workers[i];
		w->is_freezing = false;
		publish(&w->loop.leaves_input, 0);
		viewers_end(&w->viewers);
		w->has_thread = thread_start(&w->thread, run, w) == 0;
		if (w->has_thread)
			continue;
		viewers_begin(&w->viewers);
		return E_NOMEM;
	}
	return OK;
}

enum status
live_pool_freeze(struct live_pool *p)
{
	struct message *freeze[LIVE_WORKERS_MAX] = { NULL };
	enum status st = OK;

	for (unsigned i = 0; i < p->n_workers && st == OK; i++)
		st = message_create(&freeze[i], MESSAGE_FREEZE);
	for (unsigned i = 0; i < p->n_workers; i++)
		if (st == OK) {
			publish(&p->workers[i].loop.leaves_input, 1);
			loop_post(&p->workers[i].loop, freeze[i]);
		} else {
			free(freeze[i]);
		}
	if (st != OK)
		return st;
	for (unsigned i = 0; i < p->n_workers; i++)
		end_thread(&p->workers[i]);
	live_pool_drain(p);
	return OK;
}

void
live_pool_put_ids(struct state_out *o, const struct live_pool *p)
{
	state_put(o, &live_pool_state, p);
}

enum status
live_pool_get_ids(struct live_pool *p, struct state_in *in)
{
	return state_get(in, &live_pool_state, p);
}

void
live_pool_put_state(struct state_out *o, struct live_pool *p)
{
	size_t part;

	state_put_u32(o, p->n_workers);
	for (unsigned i = 0; i < p->n_workers; i++) {
		part = state_begin(o);
		state_put(o, &live_worker_state, &p->workers[i]);
		viewers_put_state(o, &p->workers[i].viewers);
		viewer_conns_put_state(o, &p->workers[i].set);
		if (i == 0) /* the others have the same */
			viewers_put_lingering(o, &p->workers[i].viewers);
		state_end(o, part);
	}
}

static enum status
get_worker(struct live_pool *p, struct live_worker *w, struct state_in *in,
    unsigned *taken, unsigned *closed)
{
	enum status st = state_get(in, &live_worker_state, w);

	if (st == OK)
		st = viewers_get_state(&w->viewers, in, &p->notifier);
	if (st == OK)
		st = viewer_conns_get_state(
		    &w->set, in, &p->conns, &p->notifier, taken, closed);
	if (st == OK)
		st = viewers_get_lingering(&w->viewers, in, &p->notifier);
	return st;
}

/* There may be fewer workers than before, or more. */
enum status
live_pool_get_state(
    struct live_pool *p, struct state_in *in, unsigned *taken, unsigned *closed)
{
	const unsigned n = state_get_u32(in, LIVE_WORKERS_MAX);
	enum status st = state_in_status(in), got;

	for (unsigned i = 0; i < n; i++) {
		const struct reader rest = state_part(in);

		got = get_worker(
		    p, &p->workers[i % p->n_workers], in, taken, closed);
		state_part_end(in, &rest);
		if (st == OK)
			st = got;
	}
	for (unsigned i = 1; i < p->n_workers; i++)
		viewers_copy_lingering(
		    &p->workers[i].viewers, &p->workers[0].viewers);
	for (unsigned i = 0; i < p->n_workers; i++)
		viewers_take_ends(&p->workers[i].viewers);
	return st;
}

void
live_pool_drain(struct live_pool *p)
{
	enum live_event what;
	void *object;

	for (unsigned i = 0; i < p->n_workers; i++)
		while (live_inbox_take(&p->workers[i].inbox, &what, &object))
			viewers_take_event(
			    &p->workers[i].viewers, what, object);
}

struct live_notifier *
live_pool_notifier(struct live_pool *p)
{
	return &p->notifier;
}

void
live_pool_adopt(struct live_pool *p, int take_fd, const struct sockaddr *peer)
{
	struct viewer_conn *c;
	struct message *m;

	/* Viewers are refused before writers: writers need descriptors more. */
	if (!account_take(&p->conns, 1)) {
		stats_refused(PORT_LIVE, REFUSAL_crowded);
		if (log_ratelimit(&p->last_full_log, LOG_AGAIN_NS))
			log_error("live port: a viewer is turned away: %" PRIu64
				  " are connected (--fd-pool-size)",
			    p->conns.hard);
		close(take_fd);
		return;
	}
	c = viewer_conn_create(take_fd, peer, &p->conns);
	m = calloc(1, sizeof(*m));
	if (c == NULL || m == NULL) {
		log_error("viewer dropped: out of memory");
		viewer_conn_destroy(c);
		free(m);
		return;
	}
	m->kind = MESSAGE_VIEWER;
	m->object = c;
	loop_post(&p->workers[p->next++ % p->n_workers].loop, m);
}

void
live_pool_set_max_viewers(struct live_pool *p, unsigned n)
{
	for (unsigned i = 0; i < p->n_workers; i++)
		publish(&p->workers[i].viewers.max_viewers, n);
}

void
live_pool_threads(struct live_pool *p, struct threads *out)
{
	for (unsigned i = 0; i < p->n_workers; i++)
		threads_add(out, THREAD_LIVE_WORKER, i, &p->workers[i].loop);
}

bool
live_pool_is_alive(struct live_pool *p)
{
	bool all = true;

	for (unsigned i = 0; i < p->n_workers; i++)
		all &= loop_is_alive(&p->workers[i].loop);
	return all;
}

uint64_t
live_pool_viewers(const struct live_pool *p)
{
	return account_used(&p->conns);
}

static void
drop_events(struct live_inbox *b)
{
	enum live_event what;
	void *object;

	while (live_inbox_take(b, &what, &object))
		live_put(object);
}

/* W's thread closes all that W has; if it does not run, this one does. */
static void
end_worker(struct live_worker *w)
{
	if (w->has_thread) {
		pthread_join(w->thread, NULL);
		return;
	}
	free(w->stop);
	w->loop.is_stopping = true;
	close_all(w);
}

void
live_pool_stop(struct live_pool *p)
{
	if (p == NULL)
		return;
	for (unsigned i = 0; i < p->n_workers; i++)
		if (p->workers[i].has_thread)
			loop_post(&p->workers[i].loop, p->workers[i].stop);
	for (unsigned i = 0; i < p->n_workers; i++) {
		end_worker(&p->workers[i]);
		drop_events(&p->workers[i].inbox);
		loop_destroy(&p->workers[i].loop);
		questions_drop(&p->workers[i].questions);
	}
	/* Wait until liburcu has freed what readers could still see. */
	rcu_barrier();
	free(p);
}
