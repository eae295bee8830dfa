/* SPDX-License-Identifier: MIT */
/* Sessions, by the workers. */
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdlib.h>
#include <string.h>

#include "common/parse.h"
#include "relayd/http/http_internal.h"
#include "relayd/http/metrics.h"
#include "relayd/stats/info.h"

/* The sessions that the threads answered, in the order of ids. */
struct found {
	const struct session_info **all; /* allocated with malloc */
	unsigned n;
	bool has_more, lacks_memory;
};

static int
by_id(const void *a, const void *b)
{
	const uint64_t x = (*(const struct session_info *const *)a)->id;
	const uint64_t y = (*(const struct session_info *const *)b)->id;

	return x < y ? -1 : x > y;
}

static bool
is_wanted(const struct question *q, const struct session_info *s)
{
	return s->id > q->asked.after &&
	       (q->asked.host[0] == '\0' ||
		   strcmp(q->asked.host, s->host) == 0);
}

static void
add_found(struct found *f, const struct question *q,
    const struct session_info *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (is_wanted(q, &s[i]))
			f->all[f->n++] = &s[i];
}

/* A session may end after its worker answered: then it is in both lists, and
 * the closed one counts. */
static void
drop_copies(struct found *f)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->n; i++) {
		if (n > 0 && f->all[n - 1]->id == f->all[i]->id) {
			if (f->all[i]->state == SESSION_CLOSED)
				f->all[n - 1] = f->all[i];
			continue;
		}
		f->all[n++] = f->all[i];
	}
	f->n = n;
}

static void
collect(struct found *f, const struct http *h, const struct question *q)
{
	const unsigned n_closed = closed_count(&h->closed);
	size_t most = n_closed;

	for (unsigned i = 0; i < THREADS_MAX; i++)
		most += q->answers[i] == NULL ? 0 : q->answers[i]->n_sessions;
	*f = (struct found){ 0 };
	f->all = malloc((most + 1) * sizeof(struct session_info *));
	f->lacks_memory = f->all == NULL;
	for (unsigned i = 0; i < THREADS_MAX && f->all != NULL; i++) {
		if (q->answers[i] == NULL)
			continue;
		add_found(
		    f, q, q->answers[i]->sessions, q->answers[i]->n_sessions);
		f->has_more |= q->answers[i]->has_more;
		f->lacks_memory |= q->answers[i]->lacks_memory;
	}
	for (unsigned i = 0; q->wants_closed && i < n_closed && f->all != NULL;
	     i++)
		add_found(f, q, closed_at(&h->closed, i), 1);
	if (f->all == NULL)
		return;
	qsort(f->all, f->n, sizeof(f->all[0]), by_id);
	drop_copies(f);
	if (f->n > q->asked.limit) {
		f->n = q->asked.limit;
		f->has_more = true;
	}
}

static void
write_busy_workers(
    struct buf *b, const struct http *h, const struct question *q)
{
	json_open(b, "busy_workers", '[');
	for (unsigned i = 0; i < h->view.threads.n; i++)
		if (q->is_busy[i] &&
		    h->view.threads.all[i].kind == THREAD_WORKER)
			json_add_number(b, NULL, h->view.threads.all[i].number);
	json_close(b, ']');
}

static void
write_sessions(struct buf *b, const struct http *h, const struct question *q,
    const struct found *f)
{
	json_open(b, NULL, '{');
	json_open(b, "sessions", '[');
	for (unsigned i = 0; i < f->n; i++) {
		json_open(b, NULL, '{');
		json_write_session(b, f->all[i]);
		json_close(b, '}');
	}
	json_close(b, ']');
	if (f->has_more && f->n > 0)
		json_add_number(b, "next", f->all[f->n - 1]->id);
	else
		json_add_null(b, "next");
	write_busy_workers(b, h, q);
	json_add_number(
	    b, "closed_forgotten", h->closed.total - closed_count(&h->closed));
	json_close(b, '}');
}

static void
answer_sessions(struct http *h, struct question *q)
{
	struct buf b = { 0 };
	struct found f;

	collect(&f, h, q);
	if (f.lacks_memory) {
		server_answer_text(q->request, 503, API_NO_MEMORY);
	} else {
		write_sessions(&b, h, q, &f);
		api_answer_json(q->request, &b);
	}
	free(f.all);
}

/* Read the query into Q. Returns NULL or an error. */
static const char *
read_request(struct question *q, const struct evkeyvalq *query)
{
	const char *state = evhttp_find_header(query, "state");
	const char *error = query_list(query, &q->asked.limit, &q->asked.after,
	    q->asked.host, sizeof(q->asked.host));

	if (error != NULL)
		return error;
	if (state == NULL)
		state = "all";
	if (strcmp(state, "active") != 0 && strcmp(state, "closed") != 0 &&
	    strcmp(state, "all") != 0)
		return "state must be active, closed or all";
	q->wants_active = strcmp(state, "closed") != 0;
	q->wants_closed = strcmp(state, "active") != 0;
	return NULL;
}

void
sessions_serve(struct http *h, struct evhttp_request *r)
{
	struct question *q = question_new(h, r, answer_sessions);
	const char *error = "malformed query";
	struct evkeyvalq query;

	if (q == NULL)
		return;
	q->asked.kind = INFO_SESSIONS;
	if (query_parse(&query, r)) {
		error = read_request(q, &query);
		evhttp_clear_headers(&query);
	}
	if (error != NULL) {
		question_destroy(q);
		api_answer_error(r, 400, error);
		return;
	}
	ask(q);
}

/* The last events of the session. */
static void
write_messages(struct buf *b, const struct http *h, uint64_t id)
{
	const struct events *e = &h->events;
	const struct event_line *l;

	json_open(b, "messages", '[');
	for (uint64_t n = e->last - e->n + 1; n <= e->last; n++) {
		l = events_get(e, n);
		if (l == NULL || l->session != id)
			continue;
		/* Its data, an object, with one more member at the front. */
		json_open(b, NULL, '{');
		json_add_string(b, "event", l->kind);
		buf_u8(b, ',');
		buf_bytes(b, l->data + 1, strlen(l->data + 1));
	}
	json_close(b, ']');
}

static void
write_session(struct buf *b, const struct http *h, const struct question *q,
    const struct session_info *s, const struct info *streams)
{
	json_open(b, NULL, '{');
	json_write_session(b, s);
	if (streams != NULL) {
		json_open(b, "streams", '[');
		json_write_streams(b, streams);
		json_close(b, ']');
	}
	json_open(b, "viewers", '[');
	for (unsigned n = 0; n < THREADS_MAX; n++)
		if (q->answers[n] != NULL)
			json_write_viewers(b, q->answers[n]);
	json_close(b, ']');
	write_messages(b, h, s->id);
	json_close(b, '}');
}

static void
answer_session(struct http *h, struct question *q)
{
	const struct session_info *s = closed_find(&h->closed, q->asked.id);
	const struct info *streams = NULL, *i;
	struct buf b = { 0 };
	bool is_busy = false;

	for (unsigned n = 0; n < THREADS_MAX; n++) {
		i = q->answers[n];
		if (i != NULL && i->n_sessions > 0 && s == NULL) {
			s = &i->sessions[0];
			streams = i;
		}
		is_busy |= q->is_busy[n];
	}
	if (s == NULL) {
		api_answer_error(q->request, is_busy ? 503 : 404,
		    is_busy ? "a worker is busy" : "no such session");
		return;
	}
	write_session(&b, h, q, s, streams);
	api_answer_json(q->request, &b);
}

void
session_serve(struct http *h, struct evhttp_request *r, const char *id)
{
	struct question *q;
	uint64_t number;

	if (parse_u64(id, 0, UINT64_MAX, &number) != OK) {
		api_answer_error(r, 404, "no such session");
		return;
	}
	q = question_new(h, r, answer_session);
	if (q == NULL)
		return;
	q->asked.kind = INFO_SESSION;
	q->wants_active = true;
	q->asked.id = number;
	ask(q);
}

static void
answer_metrics(struct http *h, struct question *q)
{
	struct buf b = { 0 };
	struct found f;

	collect(&f, h, q);
	if (f.lacks_memory) {
		server_answer_text(q->request, 503, API_NO_MEMORY);
	} else {
		metrics_write(&b, &h->view);
		metrics_write_sessions(&b, f.all, f.n);
		api_answer_buf(q->request, 200, METRICS_TYPE, &b);
	}
	free(f.all);
}

void
sessions_serve_metrics(struct http *h, struct evhttp_request *r)
{
	struct question *q = question_new(h, r, answer_metrics);

	if (q == NULL)
		return;
	q->asked.kind = INFO_SESSIONS;
	q->wants_active = true;
	q->asked.limit = METRICS_SESSIONS_MAX;
	ask(q);
}
