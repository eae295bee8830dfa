/* SPDX-License-Identifier: MIT */
/*
 * The main thread: it listens, serves control connections up to CREATE_SESSION
 * and data connections up to their first header, and then hands each to its
 * session's worker.
 */
#ifndef RELAYD_ACCEPTOR_H
#define RELAYD_ACCEPTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "relayd/process/daemon.h"
#include "relayd/process/options.h"

struct event_base;
struct acceptor;
struct options;
struct account;
struct service_figures;
struct dir_registry;
struct published;
struct state_in;
struct state_out;
struct stored_notifier;
struct syncer;
struct threads;

/* What the workers write to; borrowed. */
struct acceptor_disk {
	int base_fd;	       /* the output directory */
	struct syncer *syncer; /* may be NULL */
	struct dir_registry *registry;
	struct stored_notifier
	    *stored; /* notified of directories; may be NULL */
	/* Not 0: what an earlier relay has left there is being cut. */
	const struct published *is_recovering;
};

/* The workers of the process before, and their sockets for UDP. */
struct acceptor_udp {
	unsigned n_workers; /* 0: there was none */
	uint16_t port;
	int fds[WORKERS_MAX]; /* owned; -1: none */
};

/* Listens; a failure is logged. O is borrowed; O->workers is lowered if there
 * are too few descriptors (relayd/net/descriptors.h). TAKE_UDP's sockets are
 * used if they have the right port, and closed otherwise. */
enum status acceptor_create(struct acceptor **out, struct options *o,
    struct acceptor_udp *take_udp) MUST_CHECK;
/* Makes the workers, once. They belong to the calling thread until
 * acceptor_start(). */
enum status acceptor_prepare(
    struct acceptor *a, const struct acceptor_disk *disk) MUST_CHECK;
/* Starts the threads of the workers, before acceptor_run(), or again after
 * acceptor_freeze(). */
enum status acceptor_start(struct acceptor *a) MUST_CHECK;

/* The bound ports. */
struct daemon_ports acceptor_ports(const struct acceptor *a);

struct event_base *acceptor_base(struct acceptor *a);

/* Add the main thread and the workers to OUT. */
void acceptor_threads(struct acceptor *a, struct threads *out);
/* Bytes of packet memory in use. Any thread. */
const struct account *acceptor_memory(const struct acceptor *a);

/* For the service manager (relayd/net/service.h). Main thread. */
bool acceptor_is_alive(void *acceptor);
void acceptor_figures(struct service_figures *f, void *acceptor);
/* After a reload. */
void acceptor_reload(const struct options *o, void *acceptor);

/* Serve until SIGTERM or SIGINT, or acceptor_pause(). */
void acceptor_run(struct acceptor *a);
/* acceptor_run() returns after this cycle. */
void acceptor_pause(struct acceptor *a);

/* What a restart moved, and what it had to close. */
struct acceptor_moved {
	unsigned sessions, conns, viewers;
	unsigned closed_viewers;
};
/*
 * A restart (common/state.h). freeze: the workers write what they have read, or
 * READS_ALL that has arrived, and their threads end, but nothing is closed; A
 * belongs to the main thread. E_NOMEM: they run on. put, then: all that A has,
 * except its listeners, of which up to MOST are given to OUT (borrowed).
 * get_udp: of the beginning of a state, for acceptor_create().
 * get: between acceptor_prepare() and acceptor_start(); N_WORKERS: of the
 * process that wrote the state. E_MALFORMED, E_NOMEM.
 */
enum status acceptor_freeze(struct acceptor *a, bool reads_all) MUST_CHECK;
void acceptor_put_state(struct state_out *o, struct acceptor *a);
unsigned acceptor_sessions(const struct acceptor *a);
unsigned acceptor_conns(const struct acceptor *a);
/* Another process goes on with the files: remove the journals. */
void acceptor_leave_files(struct acceptor *a);
unsigned acceptor_listeners(const struct acceptor *a, int *out, unsigned most);
enum status acceptor_get_udp(
    struct acceptor_udp *out, struct state_in *in) MUST_CHECK;
enum status acceptor_get_state(struct acceptor *a, struct state_in *in,
    unsigned n_workers, struct acceptor_moved *moved) MUST_CHECK;

/* Ordered shutdown: the workers write what has arrived and end. The calling
 * thread blocks SIGTERM and SIGINT from here on. A may be NULL. */
void acceptor_destroy(struct acceptor *a);

#endif
