/* SPDX-License-Identifier: MIT */
/* What the paths share: answers, queries, and questions to other threads.
 * Nobody waits for a thread that does not answer. */
#include <assert.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/parse.h"
#include "relayd/http/http_internal.h"
#include "relayd/stats/info.h"

void
api_answer_buf(
    struct evhttp_request *r, int code, const char *type, struct buf *take_b)
{
	if (take_b->bad)
		server_answer_text(r, 503, API_NO_MEMORY);
	else
		server_answer(r, code, type, buf_data(take_b), buf_len(take_b));
	buf_free(take_b);
}

void
api_answer_json(struct evhttp_request *r, struct buf *take_b)
{
	api_answer_buf(r, 200, "application/json", take_b);
}

void
api_answer_error(struct evhttp_request *r, int code, const char *text)
{
	struct buf b = { 0 };

	json_open(&b, NULL, '{');
	json_add_string(&b, "error", text);
	json_close(&b, '}');
	api_answer_buf(r, code, "application/json", &b);
}

struct question *
question_new(struct evhttp_request *r, enum info_wish wish,
    void (*done)(struct http *h, struct question *q))
{
	struct question *q = calloc(1, sizeof(*q));

	if (q == NULL) {
		server_answer_text(r, 503, API_NO_MEMORY);
		return NULL;
	}
	list_init(&q->node);
	q->request = r;
	q->wish.wish = wish;
	q->done = done;
	q->wants_active = true;
	return q;
}

enum status
query_number(const struct evkeyvalq *query, const char *name, uint64_t min,
    uint64_t max, uint64_t *out)
{
	const char *text = evhttp_find_header(query, name);

	return text == NULL ? OK : parse_u64(text, min, max, out);
}

bool
query_parse(struct evkeyvalq *query, const struct evhttp_request *r)
{
	const char *text = evhttp_uri_get_query(
	    evhttp_request_get_evhttp_uri(r));

	if (evhttp_parse_query_str(text == NULL ? "" : text, query) == 0)
		return true;
	evhttp_clear_headers(query);
	return false;
}

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

/* The next one is asked in a later cycle of the loop: between two answers the
 * thread takes messages, such as the one to stop. */
static void
ask_next(struct http *h)
{
	const struct timeval now = { 0 };

	if (h->n_waiting > 0 && h->n_asked < QUESTIONS_ASKED_MAX)
		evtimer_add(h->next_question, &now);
}

static void
finish(struct question *q)
{
	struct http *h = q->http;

	assert(h->n_asked > 0);
	q->done(h, q);
	free_question(q);
	h->n_asked--;
	ask_next(h);
}

/* Threads that have not answered are busy. */
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
	return (t->kind == THREAD_WORKER && q->wants_active) ||
	       (t->kind == THREAD_LIVE_WORKER && q->wish.wish == INFO_SESSION);
}

/* Send the question to thread I. False: out of memory. */
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

/* Ask the threads. */
static void
put(struct http *h, struct question *q)
{
	const struct timeval limit = { .tv_sec = ASK_LIMIT_NS / NS_PER_S };

	q->number = ++h->last_question;
	list_append(&h->questions, &q->node);
	h->n_asked++;
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
take_waiting(struct http *h)
{
	struct question *q = list_first(&h->waiting, struct question, node);

	list_del(&q->node);
	h->n_waiting--;
	return q;
}

/* Answer Q without asking a thread. */
static void
refuse(struct question *q, const char *text)
{
	api_answer_error(q->request, 503, text);
	free(q);
}

static void
on_next_question(evutil_socket_t fd, short what, void *arg)
{
	struct http *h = arg;
	struct question *q;

	while (h->n_waiting > 0) {
		q = take_waiting(h);
		/* Skip clients that have left. */
		if (evhttp_request_get_connection(q->request) != NULL) {
			put(h, q);
			ask_next(h);
			return;
		}
		refuse(q, "the client has left");
	}
}

enum status
ask_open(struct http *h)
{
	h->next_question = evtimer_new(h->loop.base, on_next_question, h);
	return h->next_question == NULL ? E_NOMEM : OK;
}

void
ask(struct http *h, struct question *take_q)
{
	if (h->n_waiting >= QUESTIONS_WAITING_MAX) {
		refuse(take_q, "too many requests; try again");
		return;
	}
	take_q->http = h;
	list_append(&h->waiting, &take_q->node);
	h->n_waiting++;
	ask_next(h);
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

	assert(take_i->thread < THREADS_MAX);
	h->is_late[take_i->thread] = false;
	if (q == NULL) {
		info_destroy(take_i);
		return;
	}
	assert(q->is_busy[take_i->thread] && q->n_waiting > 0);
	q->is_busy[take_i->thread] = false;
	q->answers[take_i->thread] = take_i;
	if (--q->n_waiting == 0)
		finish(q);
}

void
ask_no_more(struct http *h)
{
	while (h->n_waiting > 0)
		refuse(take_waiting(h), "the relay is stopping");
	while (!list_empty(&h->questions))
		give_up(list_first(&h->questions, struct question, node));
}

void
ask_forget(struct http *h)
{
	while (h->n_waiting > 0)
		free(take_waiting(h));
	while (!list_empty(&h->questions))
		free_question(list_first(&h->questions, struct question, node));
	if (h->next_question != NULL)
		event_free(h->next_question);
}
