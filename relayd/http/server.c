/* SPDX-License-Identifier: MIT */
/*
 * evhttp of libevent 2.1 limits neither the number of connections nor the time
 * of a whole request. So the server creates the bufferevent of each connection
 * and keeps a reference to it. A periodic check finds bufferevents that evhttp
 * has freed (they have no callbacks any more), and clients whose time is over:
 * the server shuts their socket down, and evhttp then ends the connection. The
 * socket is closed with the last reference (BEV_OPT_CLOSE_ON_FREE), so that its
 * number is not reused before.
 */
#include "relayd/http/server.h"

#include <assert.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/account.h"
#include "common/list.h"
#include "common/log.h"
#include "common/reader.h"
#include "relayd/http/gzip.h"
#include "relayd/net/peer_name.h"
#include "relayd/process/options.h"
#include "relayd/stats/stats.h"

/* A host of a request or of an address, without its port. */
static struct span
without_port(const char *host)
{
	const char *colon = strrchr(host, ':');
	struct span s = { host, strlen(host) };

	if (colon != NULL && colon[1 + strspn(colon + 1, "0123456789")] == '\0')
		s.n = (size_t)(colon - host);
	return s;
}

static bool
is_same_host(struct span a, struct span b)
{
	return a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

bool
host_is_ours(const char *host, const struct sockaddr *local,
    const struct http_hosts *names)
{
	struct span asked, name;
	char *address;
	bool is;

	if (host == NULL)
		return false;
	asked = without_port(host);
	address = peer_name(local);
	is = is_same_host(asked, without_port("localhost")) ||
	     (address != NULL && is_same_host(asked, without_port(address)));
	free(address);
	/* A name may be an address of version 6, which has no brackets. */
	if (asked.n > 2 && asked.p[0] == '[' && asked.p[asked.n - 1] == ']')
		asked = (struct span){ asked.p + 1, asked.n - 2 };
	for (unsigned i = 0; i < names->n && !is; i++) {
		name = (struct span){ names->names[i],
			strlen(names->names[i]) };
		is = is_same_host(asked, name);
	}
	return is;
}

#define CHECK_NS (250 * NS_PER_MS)
/* A smaller answer fits into one segment as it is. */
#define GZIP_FROM 1400
/* At most so many bytes after a request are read. */
#define INPUT_MAX (16 * 1024)

struct http_client {
	struct list node;
	struct server *server;
	struct bufferevent *bev; /* a reference */
	uint64_t deadline_ns;
	/* What has no end that is known: events or parts. NULL: neither. */
	struct evhttp_request *stream;
	struct server_parts parts; /* unless it is events */
	bool has_read;		   /* of that, since it was last checked */
	bool is_shut;
};

struct server {
	struct server_config config;
	struct event_base *base;
	struct evhttp *http;
	struct evconnlistener *listener;
	struct event *check;
	struct list clients; /* struct http_client, oldest first */
	unsigned n_clients, n_listeners;
	struct account unsent; /* bytes, of all clients */
	bool is_full;	       /* the listener is disabled */
	uint64_t last_log;
};

static size_t
unsent_of(const struct http_client *c)
{
	return evbuffer_get_length(bufferevent_get_output(c->bev));
}

static void
shut(struct http_client *c)
{
	const int fd = bufferevent_getfd(c->bev);

	c->is_shut = true;
	if (fd >= 0)
		(void)shutdown(fd, SHUT_RDWR);
}

/* The byte that drop_unsent() leaves does not count. */
static uint64_t
unread_bytes(const struct list *n)
{
	const size_t unsent = unsent_of(
	    list_entry(n, struct http_client, node));

	return unsent > 1 ? unsent : 0;
}

/* Free at once what a client did not read. A byte stays, which is never sent:
 * evhttp notices that the socket is shut when it writes. */
static void
drop_unsent(struct list *n)
{
	struct http_client *c = list_entry(n, struct http_client, node);
	struct evbuffer *out = bufferevent_get_output(c->bev);

	if (!c->is_shut)
		stats_refused(PORT_HTTP, REFUSAL_stalled);
	shut(c);
	/* Bufferevents keep others from draining what they write. */
	(void)evbuffer_unfreeze(out, 1);
	(void)evbuffer_drain(out, evbuffer_get_length(out));
	(void)evbuffer_freeze(out, 1);
	(void)evbuffer_add(out, "", 1);
}

static const struct account_owners unread = { unread_bytes, drop_unsent };

/* Bytes were added to a client's output, or sent. */
static void
on_output(
    struct evbuffer *out, const struct evbuffer_cb_info *change, void *arg)
{
	struct http_client *c = arg;
	struct server *s = c->server;

	account_add(&s->unsent, change->n_added);
	account_sub(&s->unsent, change->n_deleted);
	c->has_read |= change->n_deleted > 0;
	if (change->n_added > 0 && !c->is_shut)
		account_close_largest(
		    &s->unsent, &s->clients, &unread, &c->node, 0);
}

static void
forget(struct server *s, struct http_client *c)
{
	(void)evbuffer_remove_cb(bufferevent_get_output(c->bev), on_output, c);
	assert(s->n_clients > 0);
	account_sub(&s->unsent, unsent_of(c));
	list_del(&c->node);
	s->n_clients--;
	stats_connection_went(PORT_HTTP);
	bufferevent_decref(c->bev);
	free(c);
}

static bool
is_freed(const struct http_client *c)
{
	bufferevent_data_cb read, write;
	bufferevent_event_cb event;
	void *arg;

	bufferevent_getcb(c->bev, &read, &write, &event, &arg);
	return event == NULL;
}

static void
forget_freed(struct server *s)
{
	struct list *n, *tmp;
	struct http_client *c;

	list_for_each (n, tmp, &s->clients) {
		c = list_entry(n, struct http_client, node);
		if (is_freed(c))
			forget(s, c);
	}
}

/* Move the deadline of a stream that is read, or has nothing to read. */
static void
watch_stream(struct http_client *c, uint64_t now)
{
	if (c->has_read || unsent_of(c) == 0)
		c->deadline_ns = now + SERVER_REQUEST_NS;
	c->has_read = false;
}

static void
check_later(struct server *s)
{
	const struct timeval tv = { .tv_usec = CHECK_NS / 1000 };

	if (s->n_clients > 0 && !evtimer_pending(s->check, NULL))
		evtimer_add(s->check, &tv);
}

static void
on_check(evutil_socket_t fd, short what, void *arg)
{
	const uint64_t now = clock_now_ns();
	struct server *s = arg;
	struct list *n, *tmp;
	struct http_client *c;

	forget_freed(s);
	list_for_each (n, tmp, &s->clients) {
		c = list_entry(n, struct http_client, node);
		if (c->stream != NULL)
			watch_stream(c, now);
		if (now >= c->deadline_ns && !c->is_shut) {
			stats_refused(PORT_HTTP, REFUSAL_stalled);
			shut(c);
		}
	}
	if (s->is_full && s->n_clients < s->config.max_clients) {
		s->is_full = false;
		evconnlistener_enable(s->listener);
	}
	check_later(s);
}

/* Shut the oldest client, but none with a stream. */
static void
shut_oldest(struct server *s)
{
	struct http_client *c;

	list_each (c, &s->clients, struct http_client, node) {
		if (!c->is_shut && c->stream == NULL && !is_freed(c)) {
			shut(c);
			return;
		}
	}
}

static void
admit(struct server *s, struct bufferevent *bev)
{
	const struct timeval soon = { 0 };
	struct http_client *c = calloc(1, sizeof(*c));

	forget_freed(s);
	/* Without memory only evhttp's own limit of idle time remains. */
	if (c == NULL)
		return;
	if (evbuffer_add_cb(bufferevent_get_output(bev), on_output, c) ==
	    NULL) {
		free(c);
		return;
	}
	c->server = s;
	c->bev = bev;
	bufferevent_incref(bev);
	c->deadline_ns = clock_now_ns() + SERVER_REQUEST_NS;
	list_append(&s->clients, &c->node);
	s->n_clients++;
	stats_connection_came(PORT_HTTP);
	if (s->n_clients < s->config.max_clients) {
		check_later(s);
		return;
	}
	if (log_ratelimit(&s->last_log, LOG_AGAIN_NS))
		log_warn("http port: all %u connections are in use",
		    s->config.max_clients);
	stats_refused(PORT_HTTP, REFUSAL_crowded);
	s->is_full = true;
	evconnlistener_disable(s->listener);
	shut_oldest(s);
	evtimer_add(s->check, &soon);
}

static struct bufferevent *
new_connection(struct event_base *base, void *arg)
{
	struct bufferevent *bev = bufferevent_socket_new(
	    base, -1, BEV_OPT_CLOSE_ON_FREE);

	if (bev == NULL)
		return NULL;
	/* Bytes after a request are not kept. */
	bufferevent_setwatermark(bev, EV_READ, 0, INPUT_MAX);
	admit(arg, bev);
	return bev;
}

/* Answers, with the headers that all of them have. */

static void
header(struct evhttp_request *r, const char *name, const char *value)
{
	(void)evhttp_add_header(
	    evhttp_request_get_output_headers(r), name, value);
}

static void
add_headers(struct evhttp_request *r, const char *type)
{
	header(r, "Content-Type", type);
	header(r, "X-Content-Type-Options", "nosniff");
	header(r, "Referrer-Policy", "no-referrer");
	header(r, "Cache-Control", "no-store");
	header(r, "Vary", "Accept-Encoding");
	header(r, "Connection", "close");
}

static void
add_length(struct evhttp_request *r, uint64_t n)
{
	char length[24];

	snprintf(length, sizeof(length), "%" PRIu64, n);
	header(r, "Content-Length", length);
}

static void
send_body(struct evhttp_request *r, int code, const void *body, size_t n)
{
	struct evbuffer *out = evbuffer_new();

	add_length(r, n);
	if (out != NULL && evhttp_request_get_command(r) != EVHTTP_REQ_HEAD)
		(void)evbuffer_add(out, body, n);
	evhttp_send_reply(r, code, NULL, out);
	if (out != NULL)
		evbuffer_free(out);
}

void
server_answer(struct evhttp_request *r, int code, const char *type,
    const void *body, size_t n)
{
	struct buf packed = { 0 };

	add_headers(r, type);
	if (n >= GZIP_FROM &&
	    gzip_is_accepted(evhttp_find_header(
		evhttp_request_get_input_headers(r), "Accept-Encoding")))
		gzip_add(&packed, body, n);
	if (buf_len(&packed) == 0) {
		send_body(r, code, body, n);
	} else {
		header(r, "Content-Encoding", "gzip");
		send_body(r, code, buf_data(&packed), buf_len(&packed));
	}
	buf_free(&packed);
}

void
server_answer_text(struct evhttp_request *r, int code, const char *text)
{
	char line[256];

	snprintf(line, sizeof(line), "%s\n", text);
	server_answer(r, code, "text/plain; charset=utf-8", line, strlen(line));
}

void
server_answer_later(struct evhttp_request *r, const char *text)
{
	header(r, "Retry-After", "10");
	server_answer_text(r, 503, text);
}

void
server_refuse_method(struct evhttp_request *r, const char *allowed)
{
	char text[64];

	header(r, "Allow", allowed);
	snprintf(text, sizeof(text), "method not allowed: use %s",
	    strcmp(allowed, "POST") == 0 ? "POST" : "GET or HEAD");
	server_answer_text(r, 405, text);
}

static struct http_client *
client_of(struct server *s, struct evhttp_request *r)
{
	struct evhttp_connection *evcon = evhttp_request_get_connection(r);
	struct bufferevent *bev;
	struct http_client *c;

	if (evcon == NULL)
		return NULL;
	bev = evhttp_connection_get_bufferevent(evcon);
	list_each (c, &s->clients, struct http_client, node) {
		if (c->bev == bev)
			return c;
	}
	return NULL;
}

static bool
is_for_us(struct server *s, struct evhttp_request *r)
{
	struct evhttp_connection *evcon = evhttp_request_get_connection(r);
	struct sockaddr_storage local = { 0 };
	socklen_t len = sizeof(local);
	int fd;

	if (s->config.is_unix)
		return true;
	fd = bufferevent_getfd(evhttp_connection_get_bufferevent(evcon));
	if (getsockname(fd, (struct sockaddr *)&local, &len) != 0)
		return false;
	return host_is_ours(
	    evhttp_find_header(evhttp_request_get_input_headers(r), "Host"),
	    (struct sockaddr *)&local, s->config.hosts);
}

static void
on_request(struct evhttp_request *r, void *arg)
{
	const enum evhttp_cmd_type method = evhttp_request_get_command(r);
	struct server *s = arg;

	if (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_HEAD &&
	    (method != EVHTTP_REQ_POST || !s->config.takes_post)) {
		stats_refused(PORT_HTTP, REFUSAL_protocol);
		server_refuse_method(r, "GET, HEAD");
	} else if (!is_for_us(s, r)) {
		stats_refused(PORT_HTTP, REFUSAL_refused);
		server_answer_text(r, 403, "unknown Host; see --http-host");
	} else {
		s->config.serve(r, s->config.arg);
	}
}

/* C has no stream any more. */
static void
end_stream(struct http_client *c)
{
	c->stream = NULL;
	if (c->parts.type == NULL)
		c->server->n_listeners--;
}

static void
on_closed(struct evhttp_connection *evcon, void *arg)
{
	struct http_client *c = arg;
	struct evhttp_request *r = c->stream;

	end_stream(c);
	if (c->parts.type != NULL)
		c->parts.gone(c->parts.arg);
	/* When the connection failed, the request is ours to free; when evhttp
	 * ends, it frees its requests. */
	if (evhttp_request_get_connection(r) == NULL)
		evhttp_send_reply_end(r);
}

static void
begin_stream(
    struct http_client *c, struct evhttp_request *r, int code, const char *type)
{
	c->stream = r;
	evhttp_connection_set_closecb(
	    evhttp_request_get_connection(r), on_closed, c);
	add_headers(r, type);
	evhttp_send_reply_start(r, code, NULL);
	bufferevent_set_timeouts(c->bev, NULL, NULL);
}

static void
on_sent(struct evhttp_connection *evcon, void *arg)
{
	struct http_client *c = arg;

	if (c->stream != NULL && c->parts.type != NULL && !c->is_shut)
		c->parts.sent(c->parts.arg);
}

static void
send_chunk(struct http_client *c, const void *p, size_t n)
{
	struct evbuffer *out = c->is_shut ? NULL : evbuffer_new();

	if (out != NULL && evbuffer_add(out, p, n) == 0)
		evhttp_send_reply_chunk_with_cb(c->stream, out, on_sent, c);
	if (out != NULL)
		evbuffer_free(out);
}

void
server_begin_events(
    struct server *s, struct evhttp_request *r, const void *p, size_t n)
{
	struct http_client *c = client_of(s, r);

	if (c == NULL || s->n_listeners >= SERVER_LISTENERS_MAX ||
	    s->n_listeners >= s->config.max_clients / 2) {
		server_answer_later(
		    r, "too many clients follow events; try again");
		return;
	}
	s->n_listeners++;
	begin_stream(c, r, 200, "text/event-stream");
	send_chunk(c, p, n);
}

void
server_send_events(struct server *s, const void *p, size_t n)
{
	struct list *node, *tmp;
	struct http_client *c;

	if (s == NULL || s->n_listeners == 0)
		return;
	list_for_each (node, tmp, &s->clients) {
		c = list_entry(node, struct http_client, node);
		if (c->stream != NULL && c->parts.type == NULL)
			send_chunk(c, p, n);
	}
	/* The rule of on_output() spares the only client that has much. */
	account_close_largest(&s->unsent, &s->clients, &unread, NULL, 0);
}

bool
server_begin_parts(struct server *s, struct evhttp_request *r, int code,
    const struct server_parts *p)
{
	struct http_client *c = client_of(s, r);

	if (c == NULL) {
		server_answer_later(r, "the client has left");
		return false;
	}
	if (p->size != SERVER_SIZE_UNKNOWN)
		add_length(r, p->size);
	if (evhttp_request_get_command(r) == EVHTTP_REQ_HEAD) {
		add_headers(r, p->type);
		evhttp_send_reply(r, code, NULL, NULL);
		return false;
	}
	c->parts = *p;
	begin_stream(c, r, code, p->type);
	return true;
}

void
server_add_part(
    struct server *s, struct evhttp_request *r, const void *p, size_t n)
{
	send_chunk(client_of(s, r), p, n);
}

void
server_end_parts(struct server *s, struct evhttp_request *r)
{
	struct http_client *c = client_of(s, r);

	evhttp_connection_set_closecb(
	    evhttp_request_get_connection(r), NULL, NULL);
	end_stream(c);
	evhttp_send_reply_end(r);
}

void
server_cut_parts(struct server *s, struct evhttp_request *r)
{
	struct evhttp_connection *evcon = evhttp_request_get_connection(r);
	struct http_client *c = client_of(s, r);

	evhttp_connection_set_closecb(evcon, NULL, NULL);
	end_stream(c);
	evhttp_connection_free(evcon);
}

static enum status
make_http(struct server *s)
{
	s->http = evhttp_new(s->base);
	s->check = evtimer_new(s->base, on_check, s);
	s->listener = evconnlistener_new(s->base, NULL, NULL,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, s->config.fd);
	if (s->listener != NULL)
		s->config.fd = -1;
	if (s->http == NULL || s->check == NULL || s->listener == NULL)
		return E_NOMEM;
	evhttp_set_max_headers_size(s->http, SERVER_HEADERS_MAX);
	evhttp_set_max_body_size(s->http, 0);
	evhttp_set_timeout(s->http, (int)(SERVER_REQUEST_NS / NS_PER_S));
	/* All methods that evhttp knows: on_request() refuses. */
	evhttp_set_allowed_methods(
	    s->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST |
			 EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE |
			 EVHTTP_REQ_OPTIONS | EVHTTP_REQ_PATCH);
	evhttp_set_bevcb(s->http, new_connection, s);
	evhttp_set_gencb(s->http, on_request, s);
	if (evhttp_bind_listener(s->http, s->listener) == NULL) {
		evconnlistener_free(s->listener);
		s->listener = NULL;
		return E_NOMEM;
	}
	return OK;
}

enum status
server_create(struct server **out, struct event_base *base,
    const struct server_config *config)
{
	struct server *s = calloc(1, sizeof(*s));
	enum status st;

	*out = NULL;
	if (s == NULL) {
		close(config->fd);
		return E_NOMEM;
	}
	s->config = *config;
	s->base = base;
	list_init(&s->clients);
	s->unsent.hard = SERVER_UNSENT_MAX;
	st = make_http(s);
	if (st != OK) {
		server_destroy(s);
		return st;
	}
	*out = s;
	return OK;
}

void
server_destroy(struct server *s)
{
	if (s == NULL)
		return;
	if (s->http != NULL)
		evhttp_free(s->http); /* and the listener */
	else if (s->listener != NULL)
		evconnlistener_free(s->listener);
	while (!list_empty(&s->clients))
		forget(s, list_first(&s->clients, struct http_client, node));
	if (s->check != NULL)
		event_free(s->check);
	if (s->config.fd >= 0)
		close(s->config.fd);
	free(s);
}
