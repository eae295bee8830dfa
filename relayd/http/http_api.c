/* SPDX-License-Identifier: MIT */
/* The paths, and what each answers. */
#include "config.h"

#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdlib.h>
#include <string.h>

#include "page_html.h" /* made by embed.sh */
#include "relayd/http/http_internal.h"
#include "relayd/http/json.h"
#include "relayd/http/metrics.h"
#include "relayd/http/text.h"
#include "relayd/process/options.h"

#define SESSIONS_PATH "/api/v1/sessions/"
#define STORED_PATH "/api/v1/stored/"

static void
serve_health(struct http *h, struct evhttp_request *r)
{
	const bool is = view_is_healthy(&h->view);

	server_answer_text(
	    r, is ? 200 : 503, is ? "ok" : "a thread does not answer");
}

static void
serve_ready(struct http *h, struct evhttp_request *r)
{
	const char *reason = view_state(&h->view)->reason;

	server_answer_text(
	    r, reason == NULL ? 200 : 503, reason == NULL ? "ok" : reason);
}

static void
serve_status(struct http *h, struct evhttp_request *r)
{
	struct buf b = { 0 };

	json_write_status(&b, &h->view);
	api_answer_json(r, &b);
}

static void
serve_metrics(struct http *h, struct evhttp_request *r)
{
	struct buf b = { 0 };

	if (h->settings.metrics_per_session) {
		sessions_serve_metrics(h, r);
		return;
	}
	metrics_write(&b, &h->view);
	api_answer_buf(r, 200, METRICS_TYPE, &b);
}

/* The status page: page.html, which its script fills with what the API says. */
static void
serve_page(struct http *h, struct evhttp_request *r)
{
	(void)evhttp_add_header(evhttp_request_get_output_headers(r),
	    "Content-Security-Policy", page_policy);
	server_answer(
	    r, 200, "text/html; charset=utf-8", page_html, sizeof(page_html));
}

/* The number of the event after which R resumes. */
static uint64_t
resume_after(const struct http *h, struct evhttp_request *r)
{
	const char *last = evhttp_find_header(
	    evhttp_request_get_input_headers(r), "Last-Event-ID");
	uint64_t after, recent = 0;
	struct evkeyvalq query;

	if (!query_parse(&query, r))
		return events_resume(&h->events, last);
	if (last == NULL)
		last = evhttp_find_header(&query, "last_event_id");
	after = events_resume(&h->events, last);
	if (last == NULL &&
	    query_number(&query, "recent", 0, EVENTS_MAX, &recent) == OK)
		after -= recent < h->events.n ? recent : h->events.n;
	evhttp_clear_headers(&query);
	return after;
}

static void
serve_events(struct http_face *f, struct evhttp_request *r)
{
	struct http *h = f->http;
	struct buf b = { 0 };

	if (evhttp_request_get_command(r) == EVHTTP_REQ_HEAD) {
		server_answer(r, 200, "text/event-stream", "", 0);
		return;
	}
	text_add(&b, "retry: 2000\n: %s\n\n", PACKAGE_NAME);
	for (uint64_t n = resume_after(h, r) + 1; n <= h->events.last; n++)
		events_write(&b, &h->events, events_get(&h->events, n));
	if (b.bad)
		server_answer_text(r, 503, API_NO_MEMORY);
	else
		server_begin_events(f->server, r, buf_data(&b), buf_len(&b));
	buf_free(&b);
}

static void
send_to_all(struct http *h, const struct buf *b)
{
	if (b->bad)
		return;
	server_send_events(h->port.server, buf_data(b), buf_len(b));
	server_send_events(h->admin.server, buf_data(b), buf_len(b));
}

void
api_send_event(
    struct http *h, const char *kind, uint64_t session, char *take_data)
{
	struct buf b = { 0 };

	if (take_data == NULL)
		return;
	events_write(
	    &b, &h->events, events_add(&h->events, kind, session, take_data));
	send_to_all(h, &b);
	buf_free(&b);
}

void
api_send_comment(struct http *h)
{
	struct buf b = { 0 };

	text_add(&b, ":\n\n");
	send_to_all(h, &b);
	buf_free(&b);
}

static void
serve_history(struct http *h, struct evhttp_request *r)
{
	struct buf b = { 0 };

	json_write_history(&b, &h->view.history);
	api_answer_json(r, &b);
}

static const struct path {
	const char *path;
	void (*serve)(struct http *h, struct evhttp_request *r);
	bool is_order; /* by POST, on the admin socket */
} paths[] = {
	{ "/", serve_page, false },
	{ "/healthz", serve_health, false },
	{ "/-/healthy", serve_health, false },
	{ "/readyz", serve_ready, false },
	{ "/-/ready", serve_ready, false },
	{ "/metrics", serve_metrics, false },
	{ "/api/v1/status", serve_status, false },
	{ "/api/v1/sessions", sessions_serve, false },
	{ "/api/v1/history", serve_history, false },
	{ "/api/v1/stored", stored_serve, false },
	{ "/api/v1/vacuum", vacuum_serve, true },
	{ "/api/v1/keep", keep_serve, true },
};

static void
serve_path(struct http_face *f, struct evhttp_request *r, const char *path)
{
	const bool is_post = evhttp_request_get_command(r) == EVHTTP_REQ_POST;
	const struct path *p = NULL;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (strcmp(path, paths[i].path) == 0 &&
		    (f->is_admin || !paths[i].is_order))
			p = &paths[i];
	if (is_post != (p != NULL && p->is_order))
		server_refuse_method(r, is_post ? "GET, HEAD" : "POST");
	else if (p != NULL)
		p->serve(f->http, r);
	else if (strcmp(path, "/api/v1/events") == 0)
		serve_events(f, r);
	else if (strncmp(path, STORED_PATH, strlen(STORED_PATH)) == 0)
		download_serve(f, r, path + strlen(STORED_PATH));
	else if (strncmp(path, SESSIONS_PATH, strlen(SESSIONS_PATH)) == 0)
		session_serve(f->http, r, path + strlen(SESSIONS_PATH));
	else
		api_answer_error(r, 404, "unknown path");
}

void
api_serve(struct evhttp_request *r, void *face)
{
	const char *path = evhttp_uri_get_path(
	    evhttp_request_get_evhttp_uri(r));
	size_t len = 0;
	char *decoded = evhttp_uridecode(path == NULL ? "" : path, 0, &len);

	if (decoded == NULL)
		server_answer_text(r, 503, API_NO_MEMORY);
	else /* no path of the relay has a NUL byte */
		serve_path(face, r, strlen(decoded) == len ? decoded : "");
	free(decoded);
}
