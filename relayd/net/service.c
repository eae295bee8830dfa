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
#include "relayd/process/systemd.h"
#include "relayd/stats/stats.h"

#define US_PER_S (NS_PER_S / 1000)
/* The shortest time over which a rate is measured. */
#define MEASURE_EVERY NS_PER_S

struct service {
	struct service_config config;
	struct event *tick;
	bool has_watchdog;
	bool has_failed;
	char status[256];		/* last sent */
	uint64_t measured_ns, received; /* at the last measurement */
	double rate;			/* bytes/s */
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

/* "0 B/s", "1.5 MiB/s" */
static void
show_rate(char *text, size_t n, double rate)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB" };
	unsigned u = 0;

	for (; rate >= 1024 && u < ARRAY_LEN(units) - 1; u++)
		rate /= 1024;
	snprintf(text, n, "%.*f %s/s", u == 0 ? 0 : 1, rate, units[u]);
}

/* The status line. LOST: packets since the start; RATE: bytes/s. */
static void
format_line(char *text, size_t n, const struct service_figures *f,
    uint64_t lost, double rate)
{
	const uint64_t restored = stats_sum(STAT_restored_sessions);
	char shown[32], before[96] = "";

	show_rate(shown, sizeof(shown), rate);
	if (restored > 0)
		snprintf(before, sizeof(before),
		    ", %" PRIu64 " taken over after %" PRIu64 " ms", restored,
		    stats_restart_pause() / NS_PER_MS);
	snprintf(text, n,
	    "%" PRIu64 " session%s%s, %" PRIu64 " viewer%s, %s received, "
	    "%" PRIu64 " packet%s lost, %" PRIu64 " MiB of packets in memory",
	    f->sessions, f->sessions == 1 ? "" : "s", before, f->viewers,
	    f->viewers == 1 ? "" : "s", shown, lost, lost == 1 ? "" : "s",
	    f->held >> 20);
}

/* Bytes per second since the last measurement. */
static double
measure_rate(struct service *s, uint64_t received)
{
	const uint64_t now = clock_now_ns(), ns = now - s->measured_ns;

	/* With a watchdog, lines are sent more often than rates change. */
	if (s->measured_ns != 0 && ns < MEASURE_EVERY)
		return s->rate;
	if (s->measured_ns != 0)
		s->rate = (double)(received - s->received) * NS_PER_S /
			  (double)ns;
	s->measured_ns = now;
	s->received = received;
	return s->rate;
}

/* Send the line if it differs from the last one. */
static const char *
new_status(struct service *s)
{
	struct service_figures f = { 0 };
	char text[sizeof(s->status)];

	s->config.figures(&f, s->config.arg);
	format_line(text, sizeof(text), &f, stats_sum_lost(),
	    measure_rate(s, stats_sum(STAT_received_tcp_bytes) +
				stats_sum(STAT_received_udp_bytes)));
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
			      s->config.is_alive(s->config.arg);
	const char *status = new_status(s);
	char state[sizeof(s->status) + 64];

	if ((!is_alive && status == NULL) || s->has_failed)
		return;
	snprintf(state, sizeof(state), "%s%s%s%s",
	    is_alive ? "WATCHDOG=1\n" : "", status != NULL ? "STATUS=" : "",
	    status != NULL ? status : "", status != NULL ? "\n" : "");
	/* Without a watchdog one message is enough. */
	s->has_failed = !systemd_notify(state) && !s->has_watchdog;
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
	/* Send the first line at once. */
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
