/* SPDX-License-Identifier: MIT */
/*
 * The health socket (streaming 6.5): asks nothing of its clients' good will.
 * One u32 request in host order, one u64 mask in host order, closed. Any other
 * command, or silence for HEALTH_TIMEOUT_S, closes without an answer; beyond
 * HEALTH_CLIENTS_MAX the client that waits longest makes room, so the silent
 * cannot lock out the honest. Lives on the given base; its thread only.
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
	gid_t group; /* owns it, mode 0660; HEALTH_NO_GROUP: by umask */
	uint64_t (*mask)(void *arg); /* 0 is healthy; on the base's thread */
	void *arg;
};

/*
 * Listens. A socket file that nobody listens on is replaced. Not OK, with a
 * message: E_EXISTS, somebody does; E_LIMIT, the path is too long; E_IO.
 */
enum status health_create(struct health **out, struct event_base *base,
    const struct health_config *config) MUST_CHECK;

/* Drops all clients and removes the file. NULL is a no-op. */
void health_destroy(struct health *h);

#endif
