/* SPDX-License-Identifier: MIT */
/*
 * The health socket (streaming 6.5). A client sends one u32 in host order; the
 * answer is one u64 mask in host order, and then the connection is closed.
 * After any other command, or HEALTH_TIMEOUT_S of silence, it is closed without
 * an answer. Beyond HEALTH_CLIENTS_MAX clients the oldest is closed, so that
 * silent clients cannot exclude others. Runs on the thread of the given base.
 */
#ifndef RELAYD_NET_HEALTH_H
#define RELAYD_NET_HEALTH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/compiler.h"
#include "common/status.h"

#define HEALTH_TIMEOUT_S 5
#define HEALTH_CLIENTS_MAX 16
#define HEALTH_NO_GROUP ((gid_t)-1)

struct event_base;
struct health;

struct health_config {
	const char *path;
	gid_t group; /* its group, mode 0660; HEALTH_NO_GROUP: by umask */
	uint64_t (*mask)(void *arg); /* 0 is healthy; on the base's thread */
	void *arg;
};

/*
 * Listens. A stale socket file is replaced. Failures are logged: E_EXISTS,
 * another process listens there; E_LIMIT, the path is too long; E_IO.
 */
enum status health_create(struct health **out, struct event_base *base,
    const struct health_config *config) MUST_CHECK;

/* Drops all clients and removes the file. H may be NULL. */
void health_destroy(struct health *h);

#endif
