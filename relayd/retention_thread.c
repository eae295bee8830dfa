/* SPDX-License-Identifier: MIT */
#include "relayd/retention_thread.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/publish.h"
#include "common/thread.h"
#include "relayd/net/loop.h"
#include "relayd/process/options.h"
#include "relayd/retention/retention.h"
#include "store/stored.h"

struct retention_thread {
	pthread_t thread;
	bool has_thread;
	struct loop loop;
	struct retention *retention;
	struct stored_notifier notifier;
	struct message *stop; /* NULL: it was sent */
};

static void
on_stored_message(struct message *m, void *arg)
{
	struct retention_thread *t = arg;

	if (m->kind == MESSAGE_STOP) {
		t->loop.is_stopping = true;
	} else if (m->kind == MESSAGE_STORED) {
		retention_take(t->retention, m->object);
		loop_rest(&t->loop);
	} else if (m->kind == MESSAGE_STORED_INFO) {
		retention_ask(t->retention, m->object);
	} else if (m->kind == MESSAGE_SETTINGS) {
		retention_set_limits(t->retention, m->object);
		free(m->object);
	}
}

/* On a worker. */
static void
on_notify(struct stored_notifier *notifier, struct stored_note *take_n)
{
	struct retention_thread *t = container_of(
	    notifier, struct retention_thread, notifier);
	struct message *m;

	if (message_create(&m, MESSAGE_STORED) != OK) {
		log_error("%s: will never be deleted: out of memory",
		    take_n->row.path);
		stored_note_destroy(take_n);
		return;
	}
	m->object = take_n;
	loop_post(&t->loop, m);
}

static void
on_answer(struct stored_info *take_i)
{
	struct message *reply = take_i->reply;

	take_i->reply = NULL;
	reply->object = take_i;
	loop_post(take_i->from, reply);
}

static struct retention_limits
limits_of(const struct options *o)
{
	return (struct retention_limits){
		.max_use = o->max_use,
		.keep_free = o->keep_free.bytes,
		.keep_free_percent = o->keep_free.percent,
		.max_age_ns = o->max_age_ns,
		.keep_at_least_ns = o->keep_at_least_ns,
	};
}

static void *
run(void *arg)
{
	struct retention_thread *t = arg;
	uint64_t next;

	/* Read the notes before answering requests. */
	while (!t->loop.is_stopping) {
		next = retention_step(t->retention);
		publish(&t->loop.busy_since, 0);
		loop_set_timer(&t->loop, next, clock_now_ns());
		loop_run_cycle(&t->loop);
	}
	return NULL;
}

void
retention_thread_reload(const struct options *o, void *thread)
{
	struct retention_thread *t = thread;
	struct retention_limits *limits = malloc(sizeof(*limits));
	struct message *m;

	if (limits == NULL || message_create(&m, MESSAGE_SETTINGS) != OK) {
		free(limits);
		log_warn("reload: retention keeps its previous limits: out of "
			 "memory");
		return;
	}
	*limits = limits_of(o);
	m->object = limits;
	loop_post(&t->loop, m);
}

static uint64_t
memory_for_notes(const struct options *o)
{
	const uint64_t part = o->max_memory / RETENTION_MEMORY_PART;

	if (part < RETENTION_MEMORY_MIN)
		return RETENTION_MEMORY_MIN;
	return part < RETENTION_MEMORY_MAX ? part : RETENTION_MEMORY_MAX;
}

enum status
retention_thread_create(struct retention_thread **out,
    struct dir_registry *registry, const struct options *o)
{
	struct retention_thread *t = calloc(1, sizeof(*t));
	struct retention_limits limits;
	enum status st;

	*out = t;
	if (t == NULL)
		return E_NOMEM;
	t->notifier.notify = on_notify;
	st = loop_init(&t->loop, on_stored_message, t);
	if (st == OK)
		st = message_create(&t->stop, MESSAGE_STOP);
	if (st == OK)
		st = retention_create(&t->retention, registry, o->output,
		    o->state_dir, memory_for_notes(o), on_answer);
	if (st != OK) {
		retention_thread_stop(t);
		*out = NULL;
		return st;
	}
	limits = limits_of(o);
	retention_set_limits(t->retention, &limits);
	return OK;
}

enum status
retention_thread_start(struct retention_thread *t)
{
	t->has_thread = thread_start(&t->thread, run, t) == 0;
	return t->has_thread ? OK : E_NOMEM;
}

void
retention_thread_stop(struct retention_thread *t)
{
	if (t == NULL)
		return;
	if (t->has_thread) {
		loop_post(&t->loop, t->stop);
		t->stop = NULL;
		pthread_join(t->thread, NULL);
	}
	free(t->stop);
	/* Notes what was posted last. */
	loop_destroy(&t->loop);
	retention_destroy(t->retention);
	free(t);
}

struct stored_notifier *
retention_thread_notifier(struct retention_thread *t)
{
	return &t->notifier;
}

struct loop *
retention_thread_loop(struct retention_thread *t)
{
	return &t->loop;
}
