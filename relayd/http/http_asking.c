/* SPDX-License-Identifier: MIT */
/* Questions to other threads. Nobody waits for one that does not answer. */
#include <event2/event.h>
#include <stdlib.h>

#include "common/clock.h"
#include "relayd/http/http_internal.h"
#include "relayd/stats/info.h"

static void
free_question(struct question *q)
{
	list_del(&q->node);
	if (q->limit != NULL)
		event_free(q->limit);
	for (unsigned i = 0; i < THREADS_MAX; i++)
		info_destroy(q->answers[i]);
	free(q);
}

static void
finish(struct question *q)
{
	struct http *h = q->http;

	q->done(h, q);
	free_question(q);
}

/* Who has not answered is busy. */
static void
give_up(struct question *q)
{
	for (unsigned i = 0; i < q->http->view.threads.n; i++)
		if (q->is_busy[i])
			q->http->is_late[i] = true;
	finish(q);
}

static void
on_limit(evutil_socket_t fd, short what, void *arg)
{
	give_up(arg);
}

static bool
is_asked(const struct thread *t, const struct question *q)
{
	return t->kind == THREAD_WORKER ||
	       (t->kind == THREAD_LIVE_WORKER && q->wish.wish == INFO_SESSION);
}

/* Send the wish to thread I. False: no memory. */
static bool
send_to(struct http *h, struct question *q, unsigned i)
{
	struct message *m = NULL;
	struct info *info = info_create();

	if (info == NULL)
		return false;
	*info = q->wish;
	info->question = q->number;
	info->thread = i;
	info->from = &h->loop;
	if (message_create(&info->reply, MESSAGE_INFO) != OK ||
	    message_create(&m, MESSAGE_INFO) != OK) {
		info_destroy(info);
		return false;
	}
	m->object = info;
	loop_post(h->view.threads.all[i].loop, m);
	return true;
}

void
ask(struct http *h, struct question *take_q)
{
	const struct timeval limit = { .tv_sec = ASK_LIMIT_NS / NS_PER_S };
	struct question *q = take_q;

	q->http = h;
	q->number = ++h->last_question;
	list_append(&h->questions, &q->node);
	q->limit = evtimer_new(h->loop.base, on_limit, q);
	for (unsigned i = 0; i < h->view.threads.n; i++) {
		if (!is_asked(&h->view.threads.all[i], q))
			continue;
		q->is_busy[i] = true;
		if (h->view.phase == VIEW_SERVING && !h->is_late[i] &&
		    q->limit != NULL && send_to(h, q, i))
			q->n_waiting++;
	}
	if (q->n_waiting == 0)
		finish(q);
	else
		evtimer_add(q->limit, &limit);
}

static struct question *
find_question(struct http *h, uint64_t number)
{
	struct question *q;

	list_each (q, &h->questions, struct question, node) {
		if (q->number == number)
			return q;
	}
	return NULL;
}

void
ask_answered(struct http *h, struct info *take_i)
{
	struct question *q = find_question(h, take_i->question);

	h->is_late[take_i->thread] = false;
	if (q == NULL) {
		info_destroy(take_i);
		return;
	}
	q->is_busy[take_i->thread] = false;
	q->answers[take_i->thread] = take_i;
	if (--q->n_waiting == 0)
		finish(q);
}

void
ask_no_more(struct http *h)
{
	while (!list_empty(&h->questions))
		give_up(list_first(&h->questions, struct question, node));
}

void
ask_forget(struct http *h)
{
	while (!list_empty(&h->questions))
		free_question(list_first(&h->questions, struct question, node));
}
