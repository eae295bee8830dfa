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
struct options;
struct published;
struct threads;

struct http_config {
	const struct options *options;	/* borrowed */
	const struct published *memory; /* of packets; borrowed */
	uint16_t control, data, live;	/* ports, host order */
	unsigned max_clients;		/* at most SERVER_CLIENTS_MAX */
	unsigned own_descriptors;	/* what the daemon itself has */
	unsigned session_descriptors;	/* what one session takes */
};

/*
 * *OUT is NULL when HTTP is not wanted, or when its default address is in use:
 * then a warning says so. E_IO: an address that the user gave cannot be bound;
 * it is logged.
 */
enum status http_create(
    struct http **out, const struct http_config *config) MUST_CHECK;
uint16_t http_port(const struct http *h); /* 0: none */

/* THREADS is copied. */
enum status http_start(
    struct http *h, const struct threads *threads) MUST_CHECK;
void http_serving(struct http *h);
/* For reload_tell(): what --http-host and --metrics-per-session say now. */
void http_reload(const struct options *o, void *http);
/* Returns when the HTTP thread has seen it. */
void http_drain(struct http *h);
void http_destroy(struct http *h);

#endif
