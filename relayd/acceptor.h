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

struct event_base;
struct acceptor;
struct options;
struct account;
struct service_figures;
struct dir_registry;
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
};

/* Listens; a failure is logged. O is borrowed; O->workers is lowered if there
 * are too few descriptors (relayd/net/descriptors.h). */
enum status acceptor_create(
    struct acceptor **out, struct options *o) MUST_CHECK;
/* Starts the workers, once, before acceptor_run(). */
enum status acceptor_start(
    struct acceptor *a, const struct acceptor_disk *disk) MUST_CHECK;

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

/* Serve until SIGTERM or SIGINT. */
void acceptor_run(struct acceptor *a);

/* Ordered shutdown: the workers write what has arrived and end. The calling
 * thread blocks SIGTERM and SIGINT from here on. A may be NULL. */
void acceptor_destroy(struct acceptor *a);

#endif
