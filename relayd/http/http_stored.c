/* SPDX-License-Identifier: MIT */
/* What is on the disk, and orders about it, by the retention thread. */
#include <assert.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdlib.h>
#include <string.h>

#include "common/relpath.h"
#include "relayd/http/http_internal.h"

#define STORED_LIMIT 100

/* A request that waits for the thread's answer. */
struct stored_question {
	struct list node;
	struct http *http;
	uint64_t number;
	struct evhttp_request *request;
	struct event *limit;
	struct stored_info *info; /* NULL: the thread was asked */
};

static void
free_stored_question(struct stored_question *q)
{
	list_del(&q->node);
	if (q->limit != NULL)
		event_free(q->limit);
	stored_info_destroy(q->info);
	free(q);
}

static void
on_stored_limit(evutil_socket_t fd, short what, void *arg)
{
	struct stored_question *q = arg;

	api_answer_error(q->request, 503, "the disk does not answer in time");
	free_stored_question(q);
}

/* The members of I; IS_DELETED: in a list of what was deleted. */
static void
write_item(struct buf *b, const struct stored_item *i, bool is_deleted)
{
	json_open(b, NULL, '{');
	json_add_string(b, "path", i->path);
	json_add_string(b, "session", i->session);
	json_add_string(b, "host", i->host);
	json_add_string(b, "kind", i->kind);
	json_add_number(b, "begin_ns", i->began_ns);
	json_add_number(b, "end_ns", i->ended_ns);
	json_add_number(b, "bytes", i->bytes);
	if (is_deleted) {
		json_add_string(b, "reason", deleted_names[i->reason]);
	} else {
		json_add_bool(b, "kept", i->is_kept);
		json_add_string(
		    b, "state", i->is_active ? "active" : "finished");
		json_add_bool(b, "unreadable", i->is_unreadable);
	}
	json_close(b, '}');
}

static void
write_items(struct buf *b, const char *name, const struct stored_info *i,
    bool are_deleted)
{
	json_open(b, name, '[');
	for (unsigned n = 0; n < i->n_items; n++)
		write_item(b, &i->items[n], are_deleted);
	json_close(b, ']');
}

static void
write_list(struct buf *b, const struct stored_info *i)
{
	json_open(b, NULL, '{');
	write_items(b, "stored", i, false);
	if (i->has_more)
		json_add_number(b, "next",
		    i->n_items == 0 ? 0 : i->items[i->n_items - 1].number);
	else
		json_add_null(b, "next");
	json_close(b, '}');
}

static void
write_vacuum(struct buf *b, const struct stored_info *i)
{
	json_open(b, NULL, '{');
	json_add_bool(b, "dry_run", i->is_dry);
	json_write_limits(b, &i->figures);
	json_add_number(b, "use_bytes", i->figures.use_bytes);
	json_add_number(b, "free_bytes", i->figures.free_bytes);
	write_items(b, "deleted", i, true);
	json_add_number(b, "deleted_bytes", i->deleted_bytes);
	json_add_bool(b, "has_more", i->has_more);
	json_add_bool(b, "done", i->is_done);
	json_close(b, '}');
}

static void
answer_request(struct evhttp_request *r, const struct stored_info *i)
{
	struct buf b = { 0 };

	assert(i->wish != STORED_SUMMARY);
	if (i->st == E_NOENT)
		api_answer_error(r, 404, "no trace is noted at that path");
	else if (i->st == E_REFUSED)
		api_answer_error(r, 503,
		    "the relay has no notes of its traces: those in its "
		    "--state-dir cannot be used, or another relay uses them");
	else if (i->st == E_NOMEM ||
		 (i->st == OK && i->wish == STORED_KEEP && i->n_items == 0))
		server_answer_text(r, 503, API_NO_MEMORY);
	else if (i->st != OK)
		api_answer_error(r, 503, "the note cannot be written");
	else {
		if (i->wish == STORED_LIST)
			write_list(&b, i);
		else if (i->wish == STORED_VACUUM)
			write_vacuum(&b, i);
		else
			write_item(&b, &i->items[0], false);
		api_answer_json(r, &b);
	}
}

static void
take_summary(struct http *h, const struct stored_info *i)
{
	struct view *v = &h->view;

	h->awaits_summary = false;
	free(v->oldest_path);
	v->oldest_path = NULL;
	v->has_stored = true;
	v->stored = i->figures;
	if (i->n_items == 0)
		return;
	v->oldest_path = strdup(i->items[0].path);
	v->oldest_ended_ns = i->items[0].ended_ns;
	v->oldest_bytes = i->items[0].bytes;
}

/* False: no memory, TAKE_I is gone. */
static bool
post(struct http *h, struct stored_info *take_i)
{
	struct message *m = NULL;

	take_i->from = &h->loop;
	if (message_create(&take_i->reply, MESSAGE_STORED_INFO) != OK ||
	    message_create(&m, MESSAGE_STORED_INFO) != OK) {
		stored_info_destroy(take_i);
		return false;
	}
	m->object = take_i;
	loop_post(h->retention, m);
	return true;
}

/* Lists have megabytes: ask for a few at a time. */
static bool
may_ask(const struct http *h, const struct stored_info *i)
{
	return h->retention != NULL &&
	       (i->wish != STORED_LIST || h->n_lists < STORED_ASKED_MAX);
}

/* False: no memory, Q's request was answered, and Q is gone. */
static bool
put_stored(struct http *h, struct stored_question *q)
{
	struct stored_info *i = q->info;
	const bool is_list = i->wish == STORED_LIST;

	q->info = NULL;
	i->question = q->number;
	if (post(h, i)) {
		h->n_lists += is_list;
		return true;
	}
	server_answer_text(q->request, 503, API_NO_MEMORY);
	free_stored_question(q);
	return false;
}

static void
put_waiting(struct http *h)
{
	struct stored_question *q;
	struct list *n, *tmp;

	list_for_each (n, tmp, &h->stored) {
		q = list_entry(n, struct stored_question, node);
		if (q->info == NULL)
			continue;
		if (!may_ask(h, q->info))
			return;
		if (evhttp_request_get_connection(q->request) != NULL) {
			(void)put_stored(h, q);
			continue;
		}
		/* Skip clients that have left. */
		server_answer_text(q->request, 503, "the client has left");
		free_stored_question(q);
	}
}

void
stored_answered(struct http *h, struct stored_info *take_i)
{
	struct stored_question *q;

	if (take_i->wish == STORED_SUMMARY) {
		take_summary(h, take_i);
		stored_info_destroy(take_i);
		return;
	}
	if (take_i->wish == STORED_LIST) {
		assert(h->n_lists > 0);
		h->n_lists--;
	}
	list_each (q, &h->stored, struct stored_question, node) {
		if (q->number == take_i->question) {
			answer_request(q->request, take_i);
			free_stored_question(q);
			break;
		}
	}
	stored_info_destroy(take_i);
	put_waiting(h);
}

static unsigned
n_waiting(const struct http *h)
{
	const struct stored_question *q;
	unsigned n = 0;

	list_each (q, &h->stored, struct stored_question, node)
		n++;
	return n;
}

/* Ask the thread, and answer R with its answer. */
static void
ask_for(struct http *h, struct evhttp_request *r, struct stored_info *take_i)
{
	const struct timeval limit = { .tv_sec = STORED_LIMIT_NS / NS_PER_S };
	struct stored_question *q;

	if (h->retention == NULL || n_waiting(h) >= STORED_WAITING_MAX) {
		stored_info_destroy(take_i);
		api_answer_error(r, 503, "too many requests; try again");
		return;
	}
	q = calloc(1, sizeof(*q));
	if (q == NULL) {
		stored_info_destroy(take_i);
		server_answer_text(r, 503, API_NO_MEMORY);
		return;
	}
	*q = (struct stored_question){ .http = h,
		.request = r,
		.number = ++h->last_question,
		.limit = evtimer_new(h->loop.base, on_stored_limit, q),
		.info = take_i };
	list_append(&h->stored, &q->node);
	if (q->limit == NULL) {
		server_answer_text(r, 503, API_NO_MEMORY);
		free_stored_question(q);
	} else if (!may_ask(h, take_i) || put_stored(h, q)) {
		evtimer_add(q->limit, &limit);
	}
}

/* Read the query of R by READ, which returns NULL or an error. */
static void
serve(struct http *h, struct evhttp_request *r, enum stored_wish wish,
    const char *(*read)(struct stored_info *i, const struct evkeyvalq *query))
{
	struct stored_info *i = stored_info_create();
	const char *wrong = "malformed query";
	struct evkeyvalq query;

	if (i == NULL) {
		server_answer_text(r, 503, API_NO_MEMORY);
		return;
	}
	i->wish = wish;
	if (query_parse(&query, r)) {
		wrong = read(i, &query);
		evhttp_clear_headers(&query);
	}
	if (wrong == NULL) {
		ask_for(h, r, i);
		return;
	}
	stored_info_destroy(i);
	api_answer_error(r, 400, wrong);
}

static const char *
read_list(struct stored_info *i, const struct evkeyvalq *query)
{
	const char *host = evhttp_find_header(query, "host");
	const char *path = evhttp_find_header(query, "path");
	uint64_t limit = STORED_LIMIT;

	if (query_number(query, "limit", 1, STORED_ITEMS_MAX, &limit) != OK)
		return "limit must be a number from 1 to 1000";
	if (query_number(query, "after", 0, UINT64_MAX, &i->after) != OK)
		return "after must be a number";
	if (host != NULL && strlen(host) >= sizeof(i->host))
		return "the host is too long";
	if (host != NULL)
		memcpy(i->host, host, strlen(host) + 1);
	i->limit = (unsigned)limit;
	if (path == NULL)
		return NULL;
	if (strlen(path) >= RELPATH_MAX)
		return "the path is too long";
	i->path = strdup(path);
	return i->path == NULL ? API_NO_MEMORY : NULL;
}

void
stored_serve(struct http *h, struct evhttp_request *r)
{
	serve(h, r, STORED_LIST, read_list);
}

static const char *
read_vacuum(struct stored_info *i, const struct evkeyvalq *query)
{
	uint64_t is_dry = 0;

	/* A typing error must not delete anything. */
	if (evhttp_find_header(query, "dry_run") == NULL ||
	    query_number(query, "dry_run", 0, 1, &is_dry) != OK)
		return "dry_run must be 0 or 1";
	i->is_dry = is_dry != 0;
	return NULL;
}

void
vacuum_serve(struct http *h, struct evhttp_request *r)
{
	serve(h, r, STORED_VACUUM, read_vacuum);
}

static const char *
read_keep(struct stored_info *i, const struct evkeyvalq *query)
{
	const char *path = evhttp_find_header(query, "path");
	uint64_t keeps = 1;

	if (path == NULL || *path == '\0' || strlen(path) >= RELPATH_MAX)
		return "path must be one of /api/v1/stored";
	if (query_number(query, "keep", 0, 1, &keeps) != OK)
		return "keep must be 0 or 1";
	i->keeps = keeps != 0;
	i->path = strdup(path);
	return i->path == NULL ? API_NO_MEMORY : NULL;
}

void
keep_serve(struct http *h, struct evhttp_request *r)
{
	serve(h, r, STORED_KEEP, read_keep);
}

void
stored_tick(struct http *h)
{
	struct stored_info *i;

	/* Ask once at a time: the thread may hang. */
	if (h->retention == NULL || h->awaits_summary)
		return;
	i = stored_info_create();
	if (i == NULL)
		return;
	i->wish = STORED_SUMMARY;
	h->awaits_summary = post(h, i);
}

void
stored_ask_no_more(struct http *h)
{
	struct stored_question *q;

	h->retention = NULL;
	while (!list_empty(&h->stored)) {
		q = list_first(&h->stored, struct stored_question, node);
		api_answer_error(q->request, 503, "the relay is stopping");
		free_stored_question(q);
	}
}

void
stored_forget(struct http *h)
{
	while (!list_empty(&h->stored))
		free_stored_question(
		    list_first(&h->stored, struct stored_question, node));
}
