/* SPDX-License-Identifier: MIT */
/*
 * HTTP: health, metrics, sessions, events, the status page. It has a thread and
 * an event base of its own, and the trace path never waits for it: it reads the
 * numbers that threads publish, and asks for details by messages. Main thread.
 *
 *	http_create    binds, listens to events
 *	http_start     starts the thread; readiness is "starting"
 *	http_serving   new sessions are admitted
 *	http_drain     no other thread is asked or read from here on
 *	http_destroy
 *
 * H may be NULL: HTTP is disabled.
 */
#ifndef RELAYD_HTTP_HTTP_H
#define RELAYD_HTTP_HTTP_H

#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

struct account;
struct http;
struct loop;
struct options;
struct threads;

struct http_config {
	const struct options *options; /* borrowed */
	const struct account *memory;  /* of packets; borrowed */
	uint16_t control, data, live;  /* ports, host order */
	unsigned max_clients;	       /* at most SERVER_CLIENTS_MAX */
	/* The Unix socket that also accepts commands; "": none. Borrowed for
	 * the call. */
	const char *admin_path;
	unsigned max_admins;	      /* clients there */
	unsigned own_descriptors;     /* of the daemon itself */
	unsigned session_descriptors; /* that one session may use */
};

/*
 * *OUT is NULL when neither HTTP nor the admin socket is enabled, or when their
 * default addresses are in use, which is logged. E_IO: an address that the user
 * gave cannot be bound; it is logged.
 */
enum status http_create(
    struct http **out, const struct http_config *config) MUST_CHECK;
uint16_t http_port(const struct http *h); /* 0: none */

/* THREADS is copied. RETENTION, borrowed, is asked about stored traces until
 * http_drain(); NULL: there is no such thread. */
enum status http_start(struct http *h, const struct threads *threads,
    struct loop *retention) MUST_CHECK;
void http_serving(struct http *h);
/* After a reload: --http-host and --metrics-per-session may have changed. */
void http_reload(const struct options *o, void *http);
/* Returns when the HTTP thread has done it. */
void http_drain(struct http *h);
void http_destroy(struct http *h);

/*
 * A restart (common/state.h). put: ends the thread; http_start() and
 * http_serving() go on. get: between http_create() and http_start();
 * E_MALFORMED, E_NOMEM: what it has is empty.
 */
struct state_in;
struct state_out;
void http_put_state(struct state_out *o, struct http *h);
enum status http_get_state(struct http *h, struct state_in *in) MUST_CHECK;

#endif
