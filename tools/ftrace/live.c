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
#include "common/list.h"
#include "common/log.h"
#include "tools/client/client.h"
#include "tools/ftrace/kernel_stream.h"
#include "tools/ftrace/live_offset.h"
#include "tools/ftrace/live_session.h"
#include "tools/ftrace/live_time.h"
#include "tools/ftrace/command_loop.h"
#include "tools/ftrace/page.h"

/* The least time between two lines about missing events. */
#define LATE_NS (10 * NS_PER_S)

static struct kernel_counts
count_all(const struct live *l)
{
	struct kernel_counts sum = { 0 };

	for (uint32_t i = 0; i < l->n_cpus; i++)
		if (l->cpus[i].ctf != NULL)
			kernel_counts_add(&sum, &l->cpus[i].ctf->counts);
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
	    "was too slow, %" PRIu64 " after the relay had failed, %" PRIu64
	    " that are not described, %" PRIu64 " that cannot be read",
	    l->peer, c.lost, c.late, c.dropped - l->gone, l->gone, c.unknown,
	    c.malformed);
}

static enum status
queue_packet(void *arg, const struct kernel_packet *p)
{
	const uint64_t n = live_item_memory(p->size);
	struct live_cpu *c = arg;
	struct live *l = c->live;
	uint64_t *queued = &l->config->queued;
	struct item *i = NULL;

	if (!l->has_failed &&
	    l->bytes + n <= (LIVE_QUEUE_BYTES - *queued) / LIVE_QUEUE_PART)
		i = malloc(sizeof(*i));
	if (i == NULL || kernel_client_packet_copy(&i->packet, p) != OK) {
		free(i);
		kernel_stream_drop(c->ctf, p);
		if (l->has_failed || l->client == NULL)
			l->gone += p->n_events;
		return OK;
	}
	i->cpu = c;
	i->n_events = p->n_events;
	list_append(&l->queue, &i->node);
	l->bytes += n;
	*queued += n;
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
			least = clock_earlier(least, s->last);
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

	if (kernel_stream_create(&c->ctf, &config) != OK)
		return false;
	l->n_streams++;
	kernel_stream_promise(c->ctf, from);
	return true;
}

/* Uses the time of the page's last event. Not that of a promise, which depends
 * on the estimate of the sender's clock. */
static void
note_arrival(struct live *l, uint64_t time)
{
	const uint64_t ns = kernel_time_ns(l->trace, time);

	live_clock_page(&l->clock, clock_now_ns(), ns);
	live_offset_last(&l->offset, ns);
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
	if (page_open(&p, &layout, bytes) != OK)
		return;
	is_partial = p.end - p.bytes < (layout.size - layout.data_at) / 2;
	if (!page_next(&p, &e))
		return;
	begin = kernel_time_ns(l->trace, e.time);
	live_offset_first(&l->offset, begin);
	if (!live_clock_now(&l->clock, now, &ns))
		return;
	live_hold_page(&l->hold, now, ns > begin ? ns - begin : 0, is_partial);
}

/* Begins the session: no more will be known of the clock. */
static void
begin_live(struct live *l)
{
	enum status st = OK;

	assert(!l->has_begun);
	if (l->offset.has_arrival) {
		live_offset_set(&l->offset, &l->settings, l->dat);
		st = kernel_metadata_again(l->trace, &l->settings);
		live_offset_log(&l->settings, l->dat, l->peer);
	}
	if (st != OK)
		log_error("peer=%s: cannot write its clock offset: %s", l->peer,
		    status_text(st));
	l->has_begun = true;
}

static void
send_beacons(struct live *l, uint64_t now)
{
	const uint64_t hold = live_hold_ns(&l->hold);
	uint64_t ns, time;

	/* The clock "counter" is not a time. */
	if (l->trace->freq == 1 || !live_clock_now(&l->clock, now, &ns) ||
	    ns <= hold || l->has_unannounced || !list_empty(&l->queue))
		return;
	time = kernel_time_of_ns(l->trace, ns - hold);
	if (time > l->trace->time_max)
		return;
	for (uint32_t i = 0; i < l->n_cpus; i++) {
		struct live_cpu *c = &l->cpus[i];
		/* babeltrace2 warns each time that two streams have equal
		 * times. */
		const uint64_t own = time > i ? time - i : 0;

		if (c->is_added && own > c->ctf->last &&
		    client_beacon(
			l->client, c->number, own, KERNEL_STREAM_CLASS) == OK)
			kernel_stream_promise(c->ctf, own);
	}
}

static void
tick(struct live *l, uint64_t now)
{
	if (!l->has_begun)
		begin_live(l);
	send_beacons(l, now);
	log_missing(l, now);
	l->tick_ns = now + LIVE_TIMER_MS * NS_PER_MS;
}

/* Does all that is due, and sends what can be sent now. */
static void
work(struct live *l)
{
	const uint64_t now = clock_now_ns();

	if (l->is_done || l->has_failed)
		return;
	if (l->tick_ns != 0 && now >= l->tick_ns && !l->has_ended)
		tick(l, now);
	live_session_work(l);
}

static void
on_event(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	work(arg);
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
	if (c->ctf->last_event > 0)
		note_arrival(l, c->ctf->last_event);
	if (l->tick_ns == 0)
		l->tick_ns = now + LIVE_BEGIN_MS * NS_PER_MS;
	work(l);
}

void
live_end(struct live *l)
{
	assert(!l->has_ended);
	l->has_ended = true;
	l->end_ns = clock_now_ns();
	if (!l->has_begun && !l->has_failed)
		begin_live(l);
	work(l);
}

/* The relay will not acknowledge more. */
static void
log_end(struct live *l)
{
	const struct kernel_counts c = count_all(l);

	l->has_ended = l->is_end_logged = true;
	l->left = c.events - c.dropped - l->taken_events;
	if (l->has_failed)
		l->gone += l->left;
	log_missing(l, clock_now_ns());
	log_info("peer=%s: %" PRIu64 " events live in %" PRIu64
		 " packets, from %" PRIu64 " pages",
	    l->peer, l->taken_events, l->taken_packets, c.pages);
}

bool
live_is_done(struct live *l)
{
	if (!l->is_done && !l->has_failed)
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
	       sizeof(*l->trace) + l->trace->memory + l->trace->metadata.cap;
}

void
live_destroy(struct live *l)
{
	if (l == NULL)
		return;
	live_session_drop(l);
	if (!l->is_end_logged)
		log_end(l);
	for (unsigned i = 0; i < CLIENT_POLLFDS; i++)
		if (l->sockets[i] != NULL)
			event_free(l->sockets[i]);
	if (l->timer != NULL)
		event_free(l->timer);
	client_destroy(l->client);
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
read_metadata(
    struct live *l, const struct live_about *about, char why[DAT_WHY_MAX])
{
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
		live_offset_begin(
		    &l->offset, about->is_local, about->connected_ns);
		st = kernel_trace_create(&l->trace, l->dat, &l->settings, why);
		dat_forget_events(l->dat);
	}
	return st;
}

static enum status
allocate(struct live *l)
{
	bool is_ok;

	l->cpus = calloc(l->n_cpus, sizeof(*l->cpus));
	l->buffer = malloc(kernel_stream_buffer_size(l->page_size));
	l->timer = evtimer_new(l->base, on_event, l);
	is_ok = l->cpus != NULL && l->buffer != NULL && l->timer != NULL;
	for (unsigned i = 0; i < CLIENT_POLLFDS; i++) {
		l->sockets[i] = event_new(l->base, -1, 0, on_event, l);
		is_ok &= l->sockets[i] != NULL;
	}
	for (uint32_t i = 0; is_ok && i < l->n_cpus; i++)
		l->cpus[i].live = l;
	return is_ok ? OK : E_NOMEM;
}

enum status
live_create(struct live **out, struct live_options *config,
    struct event_base *base, const struct live_about *about,
    char why[DAT_WHY_MAX])
{
	struct live *l = calloc(1, sizeof(*l));
	enum status st;

	*out = NULL;
	(void)snprintf(
	    why, DAT_WHY_MAX, "%s", l == NULL ? "out of memory" : "");
	if (l == NULL)
		return E_NOMEM;
	l->config = config;
	l->base = base;
	l->hold.fixed_ns = config->hold_ns;
	l->peer = about->name;
	l->page_size = about->page_size;
	l->n_cpus = about->cpus;
	list_init(&l->queue);
	list_init(&l->sent);
	st = allocate(l);
	if (st == OK)
		st = read_metadata(l, about, why);
	if (st != OK) {
		if (*why == '\0')
			(void)snprintf(why, DAT_WHY_MAX, "%s", status_text(st));
		l->is_end_logged = true; /* it has not begun */
		live_destroy(l);
		return st;
	}
	live_session_begin(l);
	*out = l;
	return OK;
}
