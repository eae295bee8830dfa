/* SPDX-License-Identifier: MIT */
#include "relayd/stats/relay_event.h"

#include <stddef.h>

static struct {
	void (*report)(const struct relay_event *e, void *arg);
	void *arg;
} listener;

void
relay_event_listen(
    void (*report)(const struct relay_event *e, void *arg), void *arg)
{
	listener.report = report;
	listener.arg = arg;
}

bool
relay_event_has_listener(void)
{
	return listener.report != NULL;
}

void
relay_event_report(const struct relay_event *e)
{
	if (listener.report != NULL)
		listener.report(e, listener.arg);
}
