/* SPDX-License-Identifier: MIT */
/*
 * An HTTP server: evhttp with the limits that it lacks. One request per
 * connection. Everything runs on the thread of the given base.
 */
#ifndef RELAYD_HTTP_SERVER_H
#define RELAYD_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "common/status.h"

/* Connections at a time. For another one, the oldest is closed that has not
 * finished its request or its answer. */
#define SERVER_CLIENTS_MAX 64
/* Of these, at most so many may follow events. */
#define SERVER_LISTENERS_MAX 32
/* From the connection to the last byte of the answer. */
#define SERVER_REQUEST_NS (10 * NS_PER_S)
#define SERVER_HEADERS_MAX 8192
/* Bytes of answers and events that clients have not read; above it, the client
 * with most is closed. The longest answers, a thousand sessions with long
 * names, have 9 MiB. */
#define SERVER_UNSENT_MAX (16 * 1024 * 1024)

struct event_base;
struct evhttp_request;
struct http_hosts;
struct server;

struct server_config {
	int fd;				/* listening socket; taken */
	bool is_unix;			/* Host is not checked */
	bool takes_post;		/* besides GET and HEAD */
	const struct http_hosts *hosts; /* names of the relay; borrowed */
	unsigned max_clients;
	/* A GET, HEAD or POST with a good Host: it must be answered, now or
	 * later. */
	void (*serve)(struct evhttp_request *r, void *arg);
	void *arg;
};

enum status server_create(struct server **out, struct event_base *base,
    const struct server_config *config) MUST_CHECK;
/* Closes all connections, and frees requests without an answer. NULL is
 * fine. */
void server_destroy(struct server *s);

/* Answer R with N bytes at BODY, as gzip if that is worth it and the client
 * accepts it. R must not be used afterwards. */
void server_answer(struct evhttp_request *r, int code, const char *type,
    const void *body, size_t n);
void server_answer_text(struct evhttp_request *r, int code, const char *text);

/* 503, to be tried again in 10 s. */
void server_answer_later(struct evhttp_request *r, const char *text);

/* 405; ALLOWED is "GET, HEAD" or "POST". */
void server_refuse_method(struct evhttp_request *r, const char *allowed);

/* Answer R with events: N bytes at P now, and later what server_send_events()
 * is given. If there are too many listeners, the answer says so. A listener
 * that does not read for SERVER_REQUEST_NS is closed. */
void server_begin_events(
    struct server *s, struct evhttp_request *r, const void *p, size_t n);
/* Send N bytes at P to all listeners. S may be NULL. */
void server_send_events(struct server *s, const void *p, size_t n);

/* An answer in parts. */
struct server_parts {
	const char *type;
	/* Of all parts; SERVER_SIZE_UNKNOWN: an HTTP/1.0 client does not notice
	 * when they are cut. */
	uint64_t size;
	/* What was added is sent: add more, or end. */
	void (*sent)(void *arg);
	/* The client has left, or does not read (SERVER_REQUEST_NS), or S is
	 * destroyed: add no more. */
	void (*gone)(void *arg);
	void *arg;
};
#define SERVER_SIZE_UNKNOWN UINT64_MAX

/* Begin to answer R with CODE. False: R was answered, as the client has left,
 * or only asked for the head. */
bool server_begin_parts(struct server *s, struct evhttp_request *r, int code,
    const struct server_parts *p) MUST_CHECK;
/* N is not 0. */
void server_add_part(
    struct server *s, struct evhttp_request *r, const void *p, size_t n);
/* All was sent: R must not be used afterwards. */
void server_end_parts(struct server *s, struct evhttp_request *r);
/* The answer cannot be completed: the client sees that bytes, or the last chunk
 * (RFC 9112, 7.1), are missing. R must not be used afterwards. */
void server_cut_parts(struct server *s, struct evhttp_request *r);

/*
 * The host that a request names (RFC 9112, 3.2) must be known: another site can
 * let its own name lead to our address (DNS rebinding), and its page could then
 * read our answers, but its requests have that name.
 */
struct sockaddr;

/*
 * Is HOST ("name[:port]", "1.2.3.4", "[::1]:80"; NULL: none was sent)
 * "localhost", the address LOCAL to which the client connected, or one of
 * NAMES? Names are compared without case; ports do not matter.
 */
bool host_is_ours(const char *host, const struct sockaddr *local,
    const struct http_hosts *names);

#endif
