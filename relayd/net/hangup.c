/* SPDX-License-Identifier: MIT */
#include "relayd/net/hangup.h"

#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>

struct hangup {
	struct event *event;
	void (*call)(void *arg);
	void *arg;
};

static void
on_hangup(evutil_socket_t fd, short what, void *arg)
{
	struct hangup *h = arg;

	h->call(h->arg);
}

enum status
hangup_create(struct hangup **out, struct event_base *base,
    void (*call)(void *arg), void *arg)
{
	struct hangup *h = calloc(1, sizeof(*h));

	*out = NULL;
	if (h == NULL)
		return E_NOMEM;
	h->call = call;
	h->arg = arg;
	h->event = evsignal_new(base, SIGHUP, on_hangup, h);
	if (h->event == NULL || event_add(h->event, NULL) != 0) {
		hangup_destroy(h);
		return E_NOMEM;
	}
	*out = h;
	return OK;
}

void
hangup_destroy(struct hangup *h)
{
	if (h == NULL)
		return;
	if (h->event != NULL)
		event_free(h->event);
	free(h);
}
