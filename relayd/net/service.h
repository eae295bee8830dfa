/* SPDX-License-Identifier: MIT */
/*
 * What the service manager is told while the daemon serves (sd_notify(3)): that
 * it is alive, if the manager has a watchdog (WATCHDOG=1), and one line for
 * people (STATUS=). The thread of the given base; libevent.
 */
#ifndef RELAYD_NET_SERVICE_H
#define RELAYD_NET_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

/* How often the line for people is made, and sent if it has changed. */
#define SERVICE_STATUS_S 5
/* How often it is told that all is alive within the time after which the
 * manager would end us: a late or a lost one does no harm. */
#define SERVICE_WATCHDOG_PARTS 4

struct event_base;
struct service;

/* What people are shown. */
struct service_figures {
	uint64_t sessions, viewers;
	uint64_t held; /* bytes of packets in memory */
};

/* The line, without its end; N is the size of TEXT. LOST: packets since the
 * start; RATE: bytes/s that arrive. */
void service_line(char *text, size_t n, const struct service_figures *f,
    uint64_t lost, double rate);

struct service_config {
	/* Has every loop turned since the last call? It is asked for the
	 * watchdog only. */
	bool (*has_turned)(void *arg);
	void (*figures)(struct service_figures *f, void *arg);
	void *arg;
};

/*
 * Begins with the first turn. Without a service manager (NOTIFY_SOCKET),
 * nothing is done. A failure to send is logged once. The watchdog is that of
 * WATCHDOG_USEC, unless it is for another process (WATCHDOG_PID).
 */
enum status service_create(struct service **out, struct event_base *base,
    const struct service_config *config) MUST_CHECK;
void service_destroy(struct service *s); /* NULL is fine */

#endif
