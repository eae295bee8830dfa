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
#include "tools/ftrace/live_time.h"
#include "tools/ftrace/command_loop.h"
#include "tools/ftrace/page.h"

/* The least time between two lines about missing events. */
#define LATE_NS (10 * NS_PER_S)
#define SESSION_NAME_LEN 64
/* As LTTng has ust and kernel in a session's directory. */
#define FOLDER "kernel"
/* For a relay that answers, but does not write. */
#define RELAY_TIMEOUT_MS 10000
/* The client gets metadata in pieces of this size. */
#define METADATA_PIECE ((size_t)64 << 10)

struct live_cpu {
	struct live *live;
	struct kernel_stream *ctf; /* NULL: no page has come */
	bool is_added;		   /* to the client, with this number */
	unsigned number;
	uint64_t taken; /* acknowledged packets */
};

/* A packet that waits, or was sent and not acknowledged. */
struct item {
	struct list node;
	struct live_cpu *cpu;
	uint32_t n_events;
	struct client_packet packet;
};

struct live {
	struct live_options *config;
	struct event_base *base;
	const char *peer;
	uint32_t page_size, n_cpus;
	struct live_cpu *cpus;
	uint8_t *buffer; /* shared by all streams: each is flushed at once */
	struct dat *dat;
	struct kernel_settings settings;
	struct kernel_trace *trace; /* its metadata is consumed */
	struct live_clock clock;
	struct live_hold hold;
	uint64_t tick_ns; /* when beacons are due; 0: no page has come */
	bool has_begun;	  /* everything is sent from here on */
	bool has_ended;	  /* nothing more comes */
	struct live_offset offset;
	struct kernel_counts logged;
	uint64_t logged_ns;
	bool is_end_logged;

	/* The session of the relay. */
	char name[SESSION_NAME_LEN], host[DAT_NAME_MAX];
	struct client *client;
	struct event *timer, *sockets[CLIENT_POLLFDS];
	uint32_t n_streams, n_added; /* CPUs with pages, known to the client */
	bool has_unannounced;	     /* streams not announced to viewers */
	bool is_metadata_added, is_metadata_sent;
	unsigned metadata_number;
	struct list queue, sent; /* the client has the packets of SENT */
	uint64_t bytes;		 /* of the queue */
	uint64_t taken_events, taken_packets; /* acknowledged */
	uint64_t left;	 /* events not acknowledged at the end */
	uint64_t gone;	 /* events lost since the relay failed */
	uint64_t end_ns; /* time of live_end() */
	bool is_done, has_failed;
};

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

static uint64_t
memory_of(uint32_t packet_size)
{
	return sizeof(struct item) + packet_size;
}

static void
leave_queue(struct live *l, struct item *i)
{
	const uint64_t n = memory_of(i->packet.size);

	assert(l->bytes >= n && l->config->queued >= n);
	l->bytes -= n;
	l->config->queued -= n;
	list_del(&i->node);
}

/* Packets are acknowledged in the order in which they were sent. */
static void
note_answers(struct live *l)
{
	while (!list_empty(&l->sent)) {
		struct item *i = list_first(&l->sent, struct item, node);

		if (client_answered(l->client, i->cpu->number).packets ==
		    i->cpu->taken)
			return;
		i->cpu->taken++;
		l->taken_packets++;
		l->taken_events += i->n_events;
		list_del(&i->node);
		free(i);
	}
}

static void
drop_all(struct live *l)
{
	note_answers(l);
	while (!list_empty(&l->sent)) {
		struct item *i = list_first(&l->sent, struct item, node);

		list_del(&i->node);
		free(i);
	}
	while (!list_empty(&l->queue)) {
		struct item *i = list_first(&l->queue, struct item, node);

		leave_queue(l, i);
		client_packet_done(&i->packet);
		free(i);
	}
}

static void
stop_events(struct live *l)
{
	for (unsigned i = 0; i < CLIENT_POLLFDS; i++)
		(void)event_del(l->sockets[i]);
	(void)event_del(l->timer);
}

static void
abandon(struct live *l, const char *why)
{
	log_error("peer=%s: no longer sending to the relay: %s", l->peer, why);
	l->has_failed = true;
	stop_events(l);
	drop_all(l);
	buf_free(&l->trace->metadata);
}

/* Returns true if the session continues, as after E_BUSY. */
static bool
continues(struct live *l, enum status st)
{
	if (st != OK && st != E_BUSY && !l->has_failed)
		abandon(l, client_error(l->client)[0] != '\0'
			       ? client_error(l->client)
			       : status_text(st));
	return !l->has_failed;
}

/* Only at the end: before, a relay may be silent forever. */
static bool
is_silent(const struct live *l)
{
	const uint64_t moved_ns = client_moved_ns(l->client);
	const uint64_t from = moved_ns > l->end_ns ? moved_ns : l->end_ns;

	return l->has_ended &&
	       clock_now_ns() - from >= LIVE_SILENCE_MS * NS_PER_MS;
}

static enum status
send_metadata(struct live *l)
{
	struct buf *metadata = &l->trace->metadata;
	enum status st = OK;

	if (!l->is_metadata_added) {
		st = client_add_stream(
		    l->client, FOLDER, "metadata", &l->metadata_number);
		l->is_metadata_added = st == OK;
	}
	while (st == OK && buf_len(metadata) > 0) {
		const size_t left = buf_len(metadata),
			     n = left < METADATA_PIECE ? left : METADATA_PIECE;

		st = client_metadata(
		    l->client, l->metadata_number, buf_data(metadata), n);
		if (st == OK)
			buf_consume(metadata, n);
	}
	if (st == OK)
		buf_free(metadata);
	l->is_metadata_sent = st == OK;
	return st;
}

static enum status
add_streams(struct live *l)
{
	enum status st = OK;
	char name[32];

	for (uint32_t i = 0; l->n_added < l->n_streams && st == OK; i++) {
		struct live_cpu *c = &l->cpus[i];

		if (c->ctf == NULL || c->is_added)
			continue;
		(void)snprintf(name, sizeof(name), "cpu_%" PRIu32, i);
		st = client_add_stream(l->client, FOLDER, name, &c->number);
		c->is_added = st == OK;
		l->n_added += st == OK;
		l->has_unannounced |= st == OK;
	}
	return st;
}

/* Metadata last, as session daemons send it: babeltrace2 2.0 gives up on
 * metadata that is announced without a stream. */
static enum status
announce(struct live *l)
{
	enum status st = add_streams(l);

	if (st == OK && !l->is_metadata_sent) {
		st = send_metadata(l);
		l->has_unannounced = true;
	}
	if (st == OK && l->has_unannounced)
		st = client_streams_sent(l->client);
	if (st == OK)
		l->has_unannounced = false;
	return st;
}

static enum status
send_packets(struct live *l)
{
	while (!list_empty(&l->queue)) {
		struct item *i = list_first(&l->queue, struct item, node);
		const enum status st = client_packet(
		    l->client, i->cpu->number, &i->packet);

		if (st != OK)
			return st;
		leave_queue(l, i);
		list_append(&l->sent, &i->node);
	}
	return OK;
}

/* Sends in order until the client is busy. */
static enum status
send_available(struct live *l)
{
	enum status st;

	if (!client_is_open(l->client) || !l->has_begun)
		return E_BUSY;
	st = announce(l);
	if (st == OK)
		st = send_packets(l);
	if (st == OK && l->has_ended) {
		st = client_finish(l->client);
		l->is_done = st == OK;
	}
	return st;
}

static void
watch_sockets(struct live *l)
{
	const uint64_t now = clock_now_ns();
	struct pollfd fds[CLIENT_POLLFDS];
	uint64_t at_ns;
	const unsigned n = client_pollfds(l->client, fds, &at_ns);

	for (unsigned i = 0; i < CLIENT_POLLFDS; i++) {
		const short events = i < n ? fds[i].events : 0;
		const short want = (short)(((events & POLLIN) ? EV_READ : 0) |
					   ((events & POLLOUT) ? EV_WRITE : 0));

		(void)event_del(l->sockets[i]);
		if (want == 0)
			continue;
		(void)event_assign(l->sockets[i], l->base, fds[i].fd, want,
		    event_get_callback(l->sockets[i]), l);
		(void)event_add(l->sockets[i], NULL);
	}
	/* The client has sent all metadata that it got. */
	if (l->is_metadata_added && buf_len(&l->trace->metadata) > 0 &&
	    client_is_idle(l->client))
		at_ns = now;
	if (l->tick_ns != 0 && !l->has_ended)
		at_ns = clock_earlier(at_ns, l->tick_ns);
	at_ns = clock_earlier(at_ns, now + LIVE_TIMER_MS * NS_PER_MS);
	command_loop_set_timer(
	    l->timer, at_ns > now ? at_ns - now + 1000 : NS_PER_MS);
}

static enum status
queue_packet(void *arg, const struct kernel_packet *p)
{
	const uint64_t n = memory_of(p->size);
	struct live_cpu *c = arg;
	struct live *l = c->live;
	uint64_t *queued = &l->config->queued;
	struct item *i = NULL;

	if (!l->has_failed &&
	    l->bytes + n <= (LIVE_QUEUE_BYTES - *queued) / LIVE_QUEUE_PART)
		i = malloc(sizeof(*i));
	if (i == NULL || kernel_client_packet(&i->packet, p) != OK) {
		free(i);
		kernel_stream_drop(c->ctf, p);
		if (l->has_failed)
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
	if (!continues(l, client_work(l->client, 0)) ||
	    !continues(l, send_available(l)))
		return;
	note_answers(l);
	if (l->is_done) {
		stop_events(l);
		return;
	}
	if (!continues(l, client_work(l->client, 0)))
		return;
	if (is_silent(l))
		abandon(l, "it does not respond");
	else
		watch_sockets(l);
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
	if (l->client != NULL) {
		drop_all(l);
		if (!l->is_end_logged)
			log_end(l);
	}
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
		live_offset_begin(&l->offset, about->is_local);
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
open_client(struct live *l)
{
	const char *port = strrchr(l->peer, ':');
	const struct live_options *c = l->config;
	const struct client_config config = {
		.url = c->url,
		.addresses = c->addresses,
		.n_addresses = c->n_addresses,
		.session_name = l->name,
		.hostname = l->host,
		.live_timer_us = LIVE_TIMER_MS * 1000,
		.timeout_ms = RELAY_TIMEOUT_MS,
		.udp = c->udp,
		.resend = c->udp,
	};
	enum status st;

	/* A guest has a name, without a port. */
	if (port == NULL)
		(void)snprintf(l->name, sizeof(l->name), "%s", l->peer);
	else
		(void)snprintf(l->name, sizeof(l->name), "ftrace-%s", port + 1);
	kernel_file_name(l->host, l->dat->hostname, "unknown");
	st = client_create(&l->client, &config);
	if (st == OK) {
		st = client_open(l->client);
		(void)continues(l, st);
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
    struct event_base *base, const struct live_about *about)
{
	struct live *l = calloc(1, sizeof(*l));
	enum status st;

	*out = NULL;
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
		st = read_metadata(l, about);
	if (st == OK)
		st = open_client(l);
	if (st != OK) {
		l->is_end_logged = true; /* it has not begun */
		live_destroy(l);
		return st;
	}
	watch_sockets(l);
	*out = l;
	return OK;
}

enum status
live_take_relay(const struct option_row *r, void *to, const char *arg)
{
	struct live_options *c = to;
	const char *why;

	(void)r;
	c->is_on = true;
	return url_parse(&c->url, arg, &why) == OK ? OK : E_MALFORMED;
}

enum status
live_resolve(struct live_options *c)
{
	const char *why;

	if (!c->is_on || url_resolve(&c->url, c->addresses, &c->n_addresses,
			     &why, 0, NULL, NULL) == OK)
		return OK;
	log_error("relay %s: %s", c->url.host, why);
	return E_IO;
}
