/* SPDX-License-Identifier: MIT */
/*
 * An HTTP server: evhttp, and the limits that it lacks. One request per
 * connection. All of it runs on the thread of the given base.
 */
#ifndef RELAYD_HTTP_SERVER_H
#define RELAYD_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "common/status.h"

/* Connections at a time. When one more comes, the oldest that is still at its
 * request, or does not read its answer, is closed. */
#define SERVER_CLIENTS_MAX 64
/* Of these, at most so many may listen to events. */
#define SERVER_LISTENERS_MAX 32
/* From the connection to the last byte of the answer. */
#define SERVER_REQUEST_NS (10 * NS_PER_S)
#define SERVER_HEADERS_MAX 8192
/* Bytes of events that a listener has not read; above it, it is closed. */
#define SERVER_UNREAD_MAX (256 * 1024)
/* Bytes of answers and events that clients have not read; above it, the oldest
 * of those with most is closed. The longest answers, a thousand sessions with
 * long names, have 9 MiB. */
#define SERVER_UNSENT_MAX (16 * 1024 * 1024)

struct event_base;
struct evhttp_request;
struct server;

struct server_config {
	int fd;			  /* listening socket; taken */
	bool is_unix;		  /* Host is not checked */
	bool takes_post;	  /* besides GET and HEAD */
	const char *const *hosts; /* names of the relay; borrowed */
	unsigned n_hosts, max_clients;
	/* A GET, HEAD or POST with a good Host: it must be answered, now or
	 * later. */
	void (*serve)(struct evhttp_request *r, void *arg);
	/* A listener has left. */
	void (*left)(struct evhttp_request *r, void *arg);
	void *arg;
};

enum status server_create(struct server **out, struct event_base *base,
    const struct server_config *config) MUST_CHECK;
/* Closes all connections, and frees requests without an answer. NULL is
 * fine. */
void server_destroy(struct server *s);

/* Replace the names of the relay; borrowed. */
void server_set_hosts(struct server *s, const char *const *hosts, unsigned n);

/* The headers that all answers have. */
void server_headers(struct evhttp_request *r, const char *type);

/* Answer R with N bytes at BODY. R must not be used afterwards. */
void server_answer(struct evhttp_request *r, int code, const char *type,
    const void *body, size_t n);
void server_answer_text(struct evhttp_request *r, int code, const char *text);

/* 405; ALLOWED is "GET, HEAD" or "POST". */
void server_refuse_method(struct evhttp_request *r, const char *allowed);

/* Keep R's connection for server_send(). False: there are too many listeners,
 * and R was answered. */
bool server_begin_events(struct server *s, struct evhttp_request *r) MUST_CHECK;
/* Send to listener R, which is closed soon if it does not read. */
void server_send(
    struct server *s, struct evhttp_request *r, const void *p, size_t n);

/*
 * Whom the Host of a request names (RFC 9112, 3.2). A page of somebody else can
 * let its own name lead to our address (DNS rebinding) and then read what we
 * answer; its requests have that name. So a name must be known.
 */
struct sockaddr;

/*
 * Is HOST ("name[:port]", "1.2.3.4", "[::1]:80"; NULL: none was sent)
 * "localhost", the address LOCAL to which the client connected, or one of the N
 * NAMES? Names are compared without case; ports do not matter.
 */
bool host_is_ours(const char *host, const struct sockaddr *local,
    const char *const *names, unsigned n);

#endif
