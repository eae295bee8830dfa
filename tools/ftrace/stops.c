/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/stops.h"

#include <signal.h>
#include <stddef.h>

#include "common/log.h"

static void
end_loop(evutil_socket_t number, short what, void *arg)
{
	(void)number;
	(void)what;
	(void)event_base_loopbreak(arg);
}

enum status
stops_add(
    struct stops *s, struct event_base *base, event_callback_fn stop, void *arg)
{
	static const int numbers[STOPS_N] = { SIGINT, SIGTERM };

	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < STOPS_N; i++) {
		s->events[i] = stop != NULL
				   ? evsignal_new(base, numbers[i], stop, arg)
				   : evsignal_new(
					 base, numbers[i], end_loop, base);
		if (s->events[i] == NULL ||
		    event_add(s->events[i], NULL) != 0) {
			log_error("signals cannot be caught");
			return E_NOMEM;
		}
	}
	return OK;
}

void
stops_remove(struct stops *s)
{
	for (size_t i = 0; i < STOPS_N; i++) {
		if (s->events[i] != NULL)
			event_free(s->events[i]);
		s->events[i] = NULL;
	}
}
