/* SPDX-License-Identifier: MIT */
/*
 * Notifies the service manager while the daemon serves (sd_notify(3)): that it
 * is alive, if the manager has a watchdog (WATCHDOG=1), and one line of status
 * (STATUS=). The thread of the given base; libevent.
 */
#ifndef RELAYD_NET_SERVICE_H
#define RELAYD_NET_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

/* How often the status is formatted; it is sent if it has changed. */
#define SERVICE_STATUS_S 5
/* Notifications within the watchdog's time, so that one may be late or lost. */
#define SERVICE_WATCHDOG_PARTS 4

struct event_base;
struct service;

/* The figures of the status line. */
struct service_figures {
	uint64_t sessions, viewers;
	uint64_t held; /* bytes of packets in memory */
};

struct service_config {
	/* Has every loop run since the last call? For the watchdog only. */
	bool (*is_alive)(void *arg);
	void (*figures)(struct service_figures *f, void *arg);
	void *arg;
};

/*
 * Begins with the first cycle. Without a service manager (NOTIFY_SOCKET) this
 * does nothing. A failure to send is logged once. The watchdog's time is
 * WATCHDOG_USEC, unless WATCHDOG_PID names another process.
 */
enum status service_create(struct service **out, struct event_base *base,
    const struct service_config *config) MUST_CHECK;
void service_destroy(struct service *s); /* may be NULL */

#endif
