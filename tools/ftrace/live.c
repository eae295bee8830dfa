/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/live.h"

#include <assert.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "tools/ftrace/kernel_stream.h"
#include "tools/ftrace/live_session.h"
#include "tools/ftrace/live_time.h"
#include "tools/ftrace/page.h"

/* The least time between two lines about missing events. */
#define LATE_NS (10 * NS_PER_S)
#define SESSION_NAME_LEN 64

struct live_cpu {
	struct live *live;
	struct kernel_stream *ctf; /* NULL: no page has come */
	unsigned stream;	   /* of the session */
};

struct live {
	struct live_config *config;
	const char *peer;
	uint32_t page_size, n_cpus;
	struct live_cpu *cpus;
	uint8_t *buffer; /* shared by all streams: each is flushed at once */
	struct dat *dat;
	struct kernel_settings settings;
	struct kernel_trace *trace;
	struct live_session *session;
	struct event *timer;
	struct live_clock clock;
	struct live_hold hold;
	bool has_pages; /* the time until begin_live() runs */
	bool has_begun; /* the metadata was passed on */
	bool has_ended;
	bool has_arrival; /* a minimum of Unix time less the trace's time */
	int64_t arrival_ns;
	uint64_t
	    left; /* events that the relay had not acknowledged at the end */
	uint64_t gone; /* events lost since the relay failed */
	struct kernel_counts logged;
	uint64_t logged_ns;
	bool is_end_logged;
};

static struct kernel_counts
count_all(const struct live *l)
{
	struct kernel_counts sum = { 0 };

	for (uint32_t i = 0; i < l->n_cpus; i++)
		if (l->cpus[i].ctf != NULL)
			kernel_counts_add(
			    &sum, kernel_stream_counts(l->cpus[i].ctf));
	sum.dropped += l->left;
	return sum;
}

static uint64_t
missing(const struct kernel_counts *c)
{
	return c->lost + c->unknown + c->malformed + c->late + c->dropped;
}

/* Logs what is missing live, if it has become more. */
static void
log_missing(struct live *l, uint64_t now)
{
	const struct kernel_counts c = count_all(l);

	if (missing(&c) == missing(&l->logged) ||
	    (!l->has_ended && l->logged_ns != 0 &&
		now - l->logged_ns < LATE_NS))
		return;
	l->logged = c;
	l->logged_ns = now;
	log_peer(LOG_WARN,
	    "peer=%s: not live: %" PRIu64 " events that its kernel lost, "
	    "%" PRIu64 " that came too late, %" PRIu64 " for which the relay "
	    "was too slow, %" PRIu64 " for which it was gone, %" PRIu64
	    " that are not described, %" PRIu64 " that cannot be read",
	    l->peer, c.lost, c.late, c.dropped - l->gone, l->gone, c.unknown,
	    c.malformed);
}

static enum status
queue_packet(void *arg, const struct kernel_packet *p)
{
	struct live_cpu *c = arg;
	struct live *l = c->live;

	if (live_session_packet(l->session, c->stream, p))
		return OK;
	kernel_stream_drop(c->ctf, p);
	if (live_session_has_failed(l->session))
		l->gone += p->n_events;
	return OK;
}

/* The time that all streams have reached: viewers may have seen
 * everything before it, so a new stream must not begin earlier. */
static uint64_t
shown_time(const struct live *l)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < l->n_cpus; i++) {
		const struct kernel_stream *s = l->cpus[i].ctf;

		if (s != NULL)
			least = clock_earlier(least, kernel_stream_time(s));
	}
	return least == UINT64_MAX ? 0 : least;
}

static bool
open_cpu(struct live *l, uint32_t cpu)
{
	struct live_cpu *c = &l->cpus[cpu];
	const struct kernel_stream_config config = { .trace = l->trace,
		.cpu = cpu,
		.page_size = l->page_size,
		.buffer = l->buffer,
		.packet = queue_packet,
		.arg = c };
	const uint64_t from = l->has_begun ? shown_time(l) : 0;

	if (live_session_add_stream(l->session, cpu, &c->stream) != OK ||
	    kernel_stream_create(&c->ctf, &config) != OK)
		return false;
	kernel_stream_promise(c->ctf, from);
	return true;
}

/* Uses the time of the page's last event. Not that of a promise, which depends
 * on the estimate of the sender's clock. */
static void
note_arrival(struct live *l, uint64_t time)
{
	const uint64_t ns = kernel_time_ns(l->trace, time);
	const int64_t ahead = (int64_t)(clock_wall_ns() - ns);

	live_clock_page(&l->clock, clock_now_ns(), ns);
	if (!l->has_arrival || ahead < l->arrival_ns)
		l->arrival_ns = ahead;
	l->has_arrival = true;
}

/* The age of a page is that of its first event. The page's own time may be that
 * of an event before it, which was read from the same page long ago. */
static void
note_age(struct live *l, uint64_t now, const uint8_t *bytes)
{
	struct page_layout layout = l->dat->page;
	struct page_event e;
	uint64_t ns, begin;
	bool is_partial;
	struct page p;

	layout.size = l->page_size;
	if (!live_clock_now(&l->clock, now, &ns) ||
	    page_open(&p, &layout, bytes) != OK)
		return;
	is_partial = p.end - p.bytes < (layout.size - layout.data_at) / 2;
	if (!page_next(&p, &e))
		return;
	begin = kernel_time_ns(l->trace, e.time);
	live_hold_page(&l->hold, now, ns > begin ? ns - begin : 0, is_partial);
}

/* Begins the session: no more will be known of the clock. */
static void
begin_live(struct live *l)
{
	struct kernel_settings *s = &l->settings;
	enum status st = OK;

	assert(!l->has_begun);
	if (!s->has_offset && l->has_arrival) {
		s->has_offset = true;
		s->offset_ns = l->arrival_ns;
		s->offset_from = "arrival";
		st = kernel_metadata_again(l->trace, s);
	}
	if (st != OK)
		log_error("peer=%s: %s", l->peer, status_text(st));
	live_session_metadata(l->session, &l->trace->metadata);
	l->has_begun = true;
}

static void
set_timer(struct live *l, unsigned ms)
{
	const struct timeval wait = { .tv_usec = (suseconds_t)ms * 1000 };

	(void)event_add(l->timer, &wait);
}

void
live_pages(struct live *l, uint32_t cpu, const uint8_t *pages, size_t size)
{
	struct live_cpu *c = &l->cpus[cpu];
	const uint64_t now = clock_now_ns();

	assert(cpu < l->n_cpus && size % l->page_size == 0);
	assert(!l->has_ended);
	if (c->ctf == NULL && !open_cpu(l, cpu)) {
		log_peer(LOG_ERROR, "peer=%s: CPU %" PRIu32 " is not live: %s",
		    l->peer, cpu, status_text(E_NOMEM));
		return;
	}
	for (; size >= l->page_size; size -= l->page_size) {
		note_age(l, now, pages);
		(void)!kernel_stream_page(c->ctf, pages);
		pages += l->page_size;
	}
	(void)!kernel_stream_flush(c->ctf);
	if (kernel_stream_last_event(c->ctf) > 0)
		note_arrival(l, kernel_stream_last_event(c->ctf));
	if (!l->has_pages)
		set_timer(l, LIVE_BEGIN_MS);
	l->has_pages = true;
	live_session_work(l->session);
}

static void
send_beacons(struct live *l, uint64_t now)
{
	const uint64_t hold = live_hold_ns(&l->hold);
	uint64_t ns, time;

	/* The clock "counter" is not a time. */
	if (l->trace->freq == 1 || !live_clock_now(&l->clock, now, &ns) ||
	    ns <= hold)
		return;
	time = kernel_time_of_ns(l->trace, ns - hold);
	if (time > l->trace->time_max)
		return;
	for (uint32_t i = 0; i < l->n_cpus; i++) {
		struct live_cpu *c = &l->cpus[i];
		/* babeltrace2 warns each time that two streams have equal
		 * times. */
		const uint64_t own = time > i ? time - i : 0;

		if (c->ctf != NULL && own > kernel_stream_time(c->ctf) &&
		    live_session_beacon(l->session, c->stream, own))
			kernel_stream_promise(c->ctf, own);
	}
}

static void
on_beacons_due(evutil_socket_t fd, short what, void *arg)
{
	const uint64_t now = clock_now_ns();
	struct live *l = arg;

	(void)fd;
	(void)what;
	if (!l->has_begun)
		begin_live(l);
	send_beacons(l, now);
	log_missing(l, now);
	live_session_work(l->session);
	if (!l->has_ended && !live_session_has_failed(l->session))
		set_timer(l, LIVE_TIMER_MS);
}

void
live_end(struct live *l)
{
	assert(!l->has_ended);
	l->has_ended = true;
	(void)event_del(l->timer);
	if (!l->has_begun)
		begin_live(l);
	live_session_finish(l->session);
}

/* The relay will not acknowledge more. */
static void
log_end(struct live *l)
{
	const struct live_session_taken taken = live_session_taken(l->session);
	const struct kernel_counts c = count_all(l);

	l->has_ended = l->is_end_logged = true;
	l->left = c.events - c.dropped - taken.events;
	if (live_session_has_failed(l->session))
		l->gone += l->left;
	log_missing(l, clock_now_ns());
	log_info("peer=%s: %" PRIu64 " events live in %" PRIu64
		 " packets, from %" PRIu64 " pages",
	    l->peer, taken.events, taken.packets, c.pages);
}

bool
live_is_done(struct live *l)
{
	if (!live_session_is_done(l->session))
		return false;
	if (!l->is_end_logged)
		log_end(l);
	return true;
}

uint64_t
live_memory(const struct live *l)
{
	return sizeof(*l) + l->n_cpus * sizeof(*l->cpus) +
	       kernel_stream_buffer_size(l->page_size) + DAT_BY_ID_SIZE +
	       kernel_trace_memory(l->trace) + live_session_memory(l->session);
}

void
live_destroy(struct live *l)
{
	if (l == NULL)
		return;
	if (l->session != NULL && !l->is_end_logged)
		log_end(l);
	if (l->timer != NULL)
		event_free(l->timer);
	live_session_destroy(l->session);
	for (uint32_t i = 0; l->cpus != NULL && i < l->n_cpus; i++)
		kernel_stream_destroy(l->cpus[i].ctf);
	kernel_trace_destroy(l->trace);
	dat_free(l->dat);
	free(l->buffer);
	free(l->cpus);
	free(l);
}

/* A recorder of V1 does not state its host: use its address. */
static void
name_host(struct live *l)
{
	char *host = l->dat->hostname, *port;

	if (*host != '\0')
		return;
	(void)snprintf(host, sizeof(l->dat->hostname), "%s", l->peer);
	port = strrchr(host, ':');
	if (port != NULL)
		*port = '\0';
}

static enum status
read_metadata(struct live *l, const struct live_about *about)
{
	char why[DAT_WHY_MAX];
	enum status st = dat_read(
	    &l->dat, about->metadata, about->metadata_size, why);

	if (st == OK) {
		name_host(l);
		l->settings = (struct kernel_settings){
			.names = l->config->names,
			.buffer = "",
			.some_time = clock_wall_ns(),
		};
		kernel_settings_offset(&l->settings, l->dat);
		st = kernel_trace_create(&l->trace, l->dat, &l->settings, why);
		dat_forget_events(l->dat);
	}
	if (st != OK)
		log_peer(
		    log_level_of(st), "peer=%s: not live: %s", l->peer, why);
	return st;
}

/* The protocol does not name sessions: the host and the recorder's port
 * identify them. */
static enum status
open_session(struct live *l, struct event_base *base)
{
	const char *port = strrchr(l->peer, ':');
	char name[SESSION_NAME_LEN], host[DAT_NAME_MAX];
	const struct live_session_config config = {
		.base = base,
		.url = &l->config->url,
		.addresses = l->config->addresses,
		.n_addresses = l->config->n_addresses,
		.udp = l->config->udp,
		.peer = l->peer,
		.queued = &l->config->queued,
		.name = name,
		.hostname = host,
	};

	/* A guest has a name, without a port. */
	if (port == NULL)
		(void)snprintf(name, sizeof(name), "%s", l->peer);
	else
		(void)snprintf(name, sizeof(name), "ftrace-%s", port + 1);
	kernel_file_name(host, l->dat->hostname, "unknown");
	return live_session_create(&l->session, &config);
}

enum status
live_create(struct live **out, struct live_config *config,
    struct event_base *base, const struct live_about *about)
{
	struct live *l = calloc(1, sizeof(*l));
	enum status st;

	*out = NULL;
	if (l == NULL)
		return E_NOMEM;
	l->config = config;
	l->hold.fixed_ns = config->hold_ns;
	l->peer = about->name;
	l->page_size = about->page_size;
	l->n_cpus = about->cpus;
	l->cpus = calloc(about->cpus, sizeof(*l->cpus));
	l->buffer = malloc(kernel_stream_buffer_size(l->page_size));
	l->timer = evtimer_new(base, on_beacons_due, l);
	st = l->cpus == NULL || l->buffer == NULL || l->timer == NULL
		 ? E_NOMEM
		 : read_metadata(l, about);
	for (uint32_t i = 0; st == OK && i < l->n_cpus; i++)
		l->cpus[i].live = l;
	if (st == OK)
		st = open_session(l, base);
	if (st != OK) {
		live_destroy(l);
		return st;
	}
	*out = l;
	return OK;
}

enum status
live_take_relay(const struct option_row *r, void *to, const char *arg)
{
	struct live_config *c = to;
	const char *why;

	(void)r;
	c->is_on = true;
	return url_parse(&c->url, arg, &why) == OK ? OK : E_MALFORMED;
}

enum status
live_resolve(struct live_config *c)
{
	const char *why;

	if (!c->is_on ||
	    url_resolve(&c->url, c->addresses, &c->n_addresses, &why) == OK)
		return OK;
	log_error("relay %s: %s", c->url.host, why);
	return E_IO;
}
