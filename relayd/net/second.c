/* SPDX-License-Identifier: MIT */
#include "relayd/net/second.h"

#include <event2/event.h>
#include <stdlib.h>

struct second {
	struct event *event;
	void (*call)(void *arg);
	void *arg;
};

static void
on_second(evutil_socket_t fd, short what, void *arg)
{
	struct second *s = arg;

	s->call(s->arg);
}

enum status
second_create(struct second **out, struct event_base *base,
    void (*call)(void *arg), void *arg)
{
	const struct timeval second = { .tv_sec = 1 };
	struct second *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (s == NULL)
		return E_NOMEM;
	s->call = call;
	s->arg = arg;
	s->event = event_new(base, -1, EV_PERSIST, on_second, s);
	if (s->event == NULL || event_add(s->event, &second) != 0) {
		second_destroy(s);
		return E_NOMEM;
	}
	*out = s;
	return OK;
}

void
second_destroy(struct second *s)
{
	if (s == NULL)
		return;
	if (s->event != NULL)
		event_free(s->event);
	free(s);
}
