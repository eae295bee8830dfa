/* SPDX-License-Identifier: MIT */
#include "relayd/net/service.h"

#include <event2/event.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/parse.h"
#include "relayd/process/notify.h"

#define US_PER_S (NS_PER_S / 1000)

struct service {
	struct service_config config;
	struct event *tick;
	bool has_watchdog;
	bool has_failed;
	char status[256]; /* the line that was sent last */
};

/* The watchdog's time in us; 0: none. */
static uint64_t
watchdog_us(void)
{
	const char *text = secure_getenv("WATCHDOG_USEC");
	const char *pid = secure_getenv("WATCHDOG_PID");
	uint64_t us, n;

	if (text == NULL ||
	    (pid != NULL && (parse_u64(pid, 1, INT_MAX, &n) != OK ||
				n != (uint64_t)getpid())))
		return 0;
	if (parse_u64(text, 1, UINT64_MAX, &us) == OK)
		return us;
	log_warn("WATCHDOG_USEC=%s ignored: not a number", text);
	return 0;
}

void
service_line(char *text, size_t n, const struct service_figures *f)
{
	snprintf(text, n,
	    "%" PRIu64 " session%s, %" PRIu64 " viewer%s, %" PRIu64
	    " MiB of packets in memory",
	    f->sessions, f->sessions == 1 ? "" : "s", f->viewers,
	    f->viewers == 1 ? "" : "s", f->held >> 20);
}

/* The line, if it is another one than the last. */
static const char *
new_status(struct service *s)
{
	struct service_figures f = { 0 };
	char text[sizeof(s->status)];

	s->config.figures(&f, s->config.arg);
	service_line(text, sizeof(text), &f);
	if (strcmp(text, s->status) == 0)
		return NULL;
	memcpy(s->status, text, sizeof(text));
	return s->status;
}

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct service *s = arg;
	const bool is_alive = s->has_watchdog &&
			      s->config.has_turned(s->config.arg);
	const char *status = new_status(s);
	char state[sizeof(s->status) + 64];

	if ((!is_alive && status == NULL) || s->has_failed)
		return;
	snprintf(state, sizeof(state), "%s%s%s%s",
	    is_alive ? "WATCHDOG=1\n" : "", status != NULL ? "STATUS=" : "",
	    status != NULL ? status : "", status != NULL ? "\n" : "");
	/* Without a watchdog nobody waits for it: one message is enough. */
	s->has_failed = notify_send(secure_getenv("NOTIFY_SOCKET"), state) !=
			    OK &&
			!s->has_watchdog;
}

static struct timeval
period(uint64_t watchdog)
{
	uint64_t us = SERVICE_STATUS_S * US_PER_S;

	if (watchdog > 0 && watchdog / SERVICE_WATCHDOG_PARTS < us)
		us = watchdog / SERVICE_WATCHDOG_PARTS;
	return (struct timeval){ .tv_sec = (time_t)(us / US_PER_S),
		.tv_usec = (suseconds_t)(us % US_PER_S) };
}

enum status
service_create(struct service **out, struct event_base *base,
    const struct service_config *config)
{
	const char *address = secure_getenv("NOTIFY_SOCKET");
	const uint64_t watchdog = watchdog_us();
	const struct timeval tv = period(watchdog);
	struct service *s;

	*out = NULL;
	if (address == NULL || *address == '\0')
		return OK;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return E_NOMEM;
	s->config = *config;
	s->has_watchdog = watchdog > 0;
	s->tick = event_new(base, -1, EV_PERSIST, on_tick, s);
	if (s->tick == NULL || event_add(s->tick, &tv) != 0) {
		service_destroy(s);
		return E_NOMEM;
	}
	/* The first line at once, not after the first period. */
	event_active(s->tick, EV_TIMEOUT, 0);
	*out = s;
	return OK;
}

void
service_destroy(struct service *s)
{
	if (s == NULL)
		return;
	if (s->tick != NULL)
		event_free(s->tick);
	free(s);
}
