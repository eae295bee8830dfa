/* SPDX-License-Identifier: MIT */
/*
 * HTTP for those who look at the relay: health, metrics, sessions, events, the
 * status page. It has a thread and an event base of its own, and the trace path
 * never waits for it: it reads what threads publish, and asks for details by
 * messages. Main thread.
 *
 *	http_create    binds, listens to news
 *	http_start     the thread; readiness is "starting"
 *	http_serving   new sessions are admitted
 *	http_drain     no other thread is asked or looked at from here on
 *	http_destroy
 *
 * H may be NULL everywhere: there is no HTTP.
 */
#ifndef RELAYD_HTTP_HTTP_H
#define RELAYD_HTTP_HTTP_H

#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

struct http;
struct loop;
struct options;
struct published;
struct threads;

struct http_config {
	const struct options *options;	/* borrowed */
	const struct published *memory; /* of packets; borrowed */
	uint16_t control, data, live;	/* ports, host order */
	unsigned max_clients;		/* at most SERVER_CLIENTS_MAX */
	/* The Unix socket where orders are taken, too; "": none. Borrowed for
	 * the call. */
	const char *admin_path;
	unsigned max_admins;	      /* clients there */
	unsigned own_descriptors;     /* what the daemon itself has */
	unsigned session_descriptors; /* what one session takes */
};

/*
 * *OUT is NULL when neither HTTP nor the admin socket is wanted, or when their
 * default addresses are in use: then a warning says so. E_IO: an address that
 * the user gave cannot be bound; it is logged.
 */
enum status http_create(
    struct http **out, const struct http_config *config) MUST_CHECK;
uint16_t http_port(const struct http *h); /* 0: none */

/* THREADS is copied. RETENTION, borrowed, is asked for what is stored until
 * http_drain(); NULL: nobody is. */
enum status http_start(struct http *h, const struct threads *threads,
    struct loop *retention) MUST_CHECK;
void http_serving(struct http *h);
/* For reload_tell(): what --http-host and --metrics-per-session say now. */
void http_reload(const struct options *o, void *http);
/* Returns when the HTTP thread has seen it. */
void http_drain(struct http *h);
void http_destroy(struct http *h);

#endif
