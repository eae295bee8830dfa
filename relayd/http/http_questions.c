/* SPDX-License-Identifier: MIT */
/* Answers, queries, and questions to other threads. No request waits long for a
 * thread that does not answer. */
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

/* How many a list has by default. */
#define LIST_LIMIT 100
static_assert(INFO_MAX == 1000, "query_list() names the number");

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

enum status
query_number(const struct evkeyvalq *query, const char *name, uint64_t min,
    uint64_t max, uint64_t *out)
{
	const char *text = evhttp_find_header(query, name);

	return text == NULL ? OK : parse_u64(text, min, max, out);
}

const char *
query_list(const struct evkeyvalq *query, unsigned *limit, uint64_t *after,
    char *host, size_t host_size)
{
	const char *wanted = evhttp_find_header(query, "host");
	uint64_t n = LIST_LIMIT;

	if (query_number(query, "limit", 1, INFO_MAX, &n) != OK)
		return "limit must be a number from 1 to 1000";
	if (query_number(query, "after", 0, UINT64_MAX, after) != OK)
		return "after must be a number";
	if (wanted != NULL && strlen(wanted) >= host_size)
		return "the host is too long";
	if (wanted != NULL)
		memcpy(host, wanted, strlen(wanted) + 1);
	*limit = (unsigned)n;
	return NULL;
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

struct question *
question_create(
    struct http *h, void (*done)(struct http *h, struct question *q))
{
	struct question *q = calloc(1, sizeof(*q));

	if (q == NULL)
		return NULL;
	list_init(&q->node);
	q->http = h;
	q->done = done;
	return q;
}

struct question *
question_new(struct http *h, struct evhttp_request *r,
    void (*done)(struct http *h, struct question *q))
{
	struct question *q = question_create(h, done);

	if (q == NULL)
		server_answer_text(r, 503, API_NO_MEMORY);
	else
		q->request = r;
	return q;
}

void
question_destroy(struct question *q)
{
	list_del(&q->node);
	if (q->limit != NULL)
		event_free(q->limit);
	for (unsigned i = 0; i < THREADS_MAX; i++)
		info_destroy(q->answers[i]);
	stored_info_destroy(q->stored);
	free(q);
}

static struct question_queue *
queue_of(const struct question *q)
{
	return &q->http->queues[q->is_stored];
}

/* Answer Q without asking a thread. */
static void
refuse(struct question *q, const char *text)
{
	api_answer_error(q->request, 503, text);
	question_destroy(q);
}

/* The next one is asked in a later cycle of the loop: between two answers the
 * thread takes messages, such as the one to stop. */
static void
ask_next(struct http *h)
{
	const struct timeval now = { 0 };

	evtimer_add(h->next_question, &now);
}

static void
finish(struct question *q)
{
	struct http *h = q->http;

	if (!q->is_small)
		queue_of(q)->n_asked--;
	q->done(h, q);
	question_destroy(q);
	ask_next(h);
}

/* Threads that have not answered are busy. */
static void
give_up(struct question *q)
{
	for (unsigned i = 0; i < QUESTION_THREADS; i++)
		if (q->is_busy[i])
			q->http->is_late[i] = true;
	finish(q);
}

static void
on_limit(evutil_socket_t fd, short what, void *arg)
{
	give_up(arg);
}

/* Posts I, a question of the kind KIND, to LOOP; *REPLY is the message for its
 * answer. False: out of memory. */
static bool
post(struct loop *loop, enum message_kind kind, void *i, struct message **reply)
{
	struct message *m = NULL;

	if (message_create(reply, kind) != OK || message_create(&m, kind) != OK)
		return false;
	m->object = i;
	loop_post(loop, m);
	return true;
}

/* Send the question to thread I. False: out of memory. */
static bool
send_to(struct http *h, struct question *q, unsigned i)
{
	struct info *info = info_create();

	if (info == NULL)
		return false;
	*info = q->asked;
	info->question = q->number;
	info->thread = i;
	info->from = &h->loop;
	if (post(h->view.threads.all[i].loop, MESSAGE_INFO, info, &info->reply))
		return true;
	info_destroy(info);
	return false;
}

bool
stored_post(struct http *h, struct stored_info *take_i)
{
	take_i->from = &h->loop;
	if (post(h->retention, MESSAGE_STORED_INFO, take_i, &take_i->reply))
		return true;
	stored_info_destroy(take_i);
	return false;
}

static bool
send_to_retention(struct http *h, struct question *q)
{
	struct stored_info *i = q->stored;

	q->stored = NULL;
	i->question = q->number;
	return stored_post(h, i);
}

static bool
is_asked(const struct question *q, unsigned i)
{
	const struct threads *t = &q->http->view.threads;

	if (q->is_stored || i == QUESTION_RETENTION)
		return q->is_stored && i == QUESTION_RETENTION;
	return i < t->n &&
	       ((t->all[i].kind == THREAD_WORKER && q->wants_active) ||
		   (t->all[i].kind == THREAD_LIVE_WORKER &&
		       q->asked.kind == INFO_SESSION));
}

static bool
may_ask(const struct http *h, unsigned i)
{
	return !h->is_late[i] &&
	       (i == QUESTION_RETENTION ? h->retention != NULL
					: h->view.phase == VIEW_SERVING);
}

/* Ask the threads. */
static void
put(struct http *h, struct question *q)
{
	const struct timeval limit = {
		.tv_sec = (time_t)((q->is_stored ? STORED_LIMIT_NS
						 : ASK_LIMIT_NS) /
				   NS_PER_S)
	};

	q->number = ++h->last_question;
	list_append(&h->questions, &q->node);
	if (!q->is_small)
		queue_of(q)->n_asked++;
	q->limit = evtimer_new(h->loop.base, on_limit, q);
	for (unsigned i = 0; i < QUESTION_THREADS; i++) {
		if (!is_asked(q, i))
			continue;
		q->is_busy[i] = true;
		if (may_ask(h, i) && q->limit != NULL &&
		    (q->is_stored ? send_to_retention(h, q) : send_to(h, q, i)))
			q->n_waiting++;
	}
	if (q->n_waiting == 0)
		finish(q);
	else
		evtimer_add(q->limit, &limit);
}

static struct question *
take_waiting(struct question_queue *u)
{
	struct question *q = list_first(&u->waiting, struct question, node);

	list_del(&q->node);
	u->n_waiting--;
	return q;
}

static void
put_next(struct http *h, struct question_queue *u)
{
	struct question *q;

	while (u->n_waiting > 0 && u->n_asked < QUESTIONS_ASKED_MAX) {
		q = take_waiting(u);
		/* Skip clients that have left. */
		if (evhttp_request_get_connection(q->request) != NULL) {
			put(h, q);
			ask_next(h);
			return;
		}
		refuse(q, "the client has left");
	}
}

static void
on_next_question(evutil_socket_t fd, short what, void *arg)
{
	struct http *h = arg;

	for (unsigned i = 0; i < ARRAY_LEN(h->queues); i++)
		put_next(h, &h->queues[i]);
}

enum status
ask_open(struct http *h)
{
	h->next_question = evtimer_new(h->loop.base, on_next_question, h);
	return h->next_question == NULL ? E_NOMEM : OK;
}

void
ask(struct question *take_q)
{
	struct question_queue *u = queue_of(take_q);

	if (take_q->is_small) {
		put(take_q->http, take_q);
	} else if (u->n_waiting >= QUESTIONS_WAITING_MAX) {
		refuse(take_q, "too many requests; try again");
	} else {
		list_append(&u->waiting, &take_q->node);
		u->n_waiting++;
		ask_next(take_q->http);
	}
}

/* Find question NUMBER, which thread I has answered. NULL: it was given up. */
static struct question *
find_answered(struct http *h, uint64_t number, unsigned i)
{
	struct question *q;

	assert(i < QUESTION_THREADS);
	h->is_late[i] = false;
	list_each (q, &h->questions, struct question, node) {
		if (q->number != number)
			continue;
		assert(q->is_busy[i] && q->n_waiting > 0);
		q->is_busy[i] = false;
		q->n_waiting--;
		return q;
	}
	return NULL;
}

void
ask_answered(struct http *h, struct info *take_i)
{
	struct question *q = find_answered(h, take_i->question, take_i->thread);

	if (q == NULL) {
		info_destroy(take_i);
		return;
	}
	q->answers[take_i->thread] = take_i;
	if (q->n_waiting == 0)
		finish(q);
}

void
stored_answered(struct http *h, struct stored_info *take_i)
{
	struct question *q;

	if (take_i->kind == STORED_SUMMARY) {
		stored_take_summary(h, take_i);
		return;
	}
	q = find_answered(h, take_i->question, QUESTION_RETENTION);
	if (q == NULL) {
		stored_info_destroy(take_i);
		return;
	}
	q->stored = take_i;
	finish(q);
}

void
ask_no_more(struct http *h)
{
	h->retention = NULL;
	for (unsigned i = 0; i < ARRAY_LEN(h->queues); i++)
		while (h->queues[i].n_waiting > 0)
			refuse(take_waiting(&h->queues[i]),
			    "the relay is stopping");
	while (!list_empty(&h->questions))
		give_up(list_first(&h->questions, struct question, node));
}

void
ask_forget(struct http *h)
{
	for (unsigned i = 0; i < ARRAY_LEN(h->queues); i++)
		while (h->queues[i].n_waiting > 0)
			question_destroy(take_waiting(&h->queues[i]));
	while (!list_empty(&h->questions))
		question_destroy(
		    list_first(&h->questions, struct question, node));
	if (h->next_question != NULL)
		event_free(h->next_question);
}
