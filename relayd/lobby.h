/* SPDX-License-Identifier: MIT */
/*
 * The main thread: it listens, serves control connections up to CREATE_SESSION
 * and data connections up to their first header, and then hands each to its
 * session's worker.
 */
#ifndef RELAYD_LOBBY_H
#define RELAYD_LOBBY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "relayd/process/daemon.h"

struct event_base;
struct lobby;
struct options;
struct published;
struct service_figures;
struct dir_registry;
struct stored_door;
struct syncer;
struct threads;

/* What the workers write to. All is borrowed. */
struct lobby_disk {
	int base_fd;	       /* the output directory */
	struct syncer *syncer; /* NULL: none */
	struct dir_registry *registry;
	struct stored_door *stored; /* is told of directories; NULL: nobody */
};

/* Listens; a failure is logged. O is borrowed, and O->workers is lowered if
 * descriptors are too few (relayd/net/descriptors.h). */
enum status lobby_create(struct lobby **out, struct options *o) MUST_CHECK;
/* Starts the workers, once, before lobby_run(). */
enum status lobby_start(
    struct lobby *l, const struct lobby_disk *disk) MUST_CHECK;

/* What was bound. */
struct daemon_ports lobby_ports(const struct lobby *l);

struct event_base *lobby_base(struct lobby *l);

/* Add the main thread and the workers to OUT. */
void lobby_threads(struct lobby *l, struct threads *out);
/* Bytes of packet memory in use. Any thread. */
const struct published *lobby_memory(const struct lobby *l);

/* For the service manager (relayd/net/service.h). Main thread. */
bool lobby_has_turned(void *lobby);
void lobby_figures(struct service_figures *f, void *lobby);
/* For reload_tell(). */
void lobby_reload(const struct options *o, void *lobby);

/* Serve until SIGTERM or SIGINT. */
void lobby_run(struct lobby *l);

/* Ordered shutdown: workers write what has arrived and end. The calling thread
 * blocks SIGTERM and SIGINT from here on. NULL is fine. */
void lobby_destroy(struct lobby *l);

#endif
