/* SPDX-License-Identifier: MIT */
#include "tests/bench/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/bench/peer.h"
#include "tests/bench/program.h"
#include "tools/client/outbox.h"

/* Sessions that are being set up at once: a listener's backlog is 64. */
#define STARTING_MAX 32
#define EVENTS 256

/* What waits to be sent to a sink. */
#define RAW_PACKETS 256
#define RAW_WAITING (1024 * 1024)

struct crowd {
	const struct load_options *options;
	struct load_result *result;
	struct peer *peers;
	unsigned started, starting, holding, done;
	int epoll;
};

static void
step(struct crowd *c, struct peer *p)
{
	const bool was_starting = p->phase < PHASE_RUN;
	const bool was_running = p->phase < PHASE_HOLD;
	const bool was_done = p->phase == PHASE_DONE;

	peer_step(p);
	c->starting -= was_starting && p->phase >= PHASE_RUN;
	c->holding += was_running && p->phase >= PHASE_HOLD;
	if (was_running && c->options->hold_ms > 0 &&
	    c->holding == c->options->shape.sessions)
		fputs("holding\n", stderr);
	c->done += !was_done && p->phase == PHASE_DONE;
}

static void
start_some(struct crowd *c)
{
	while (c->starting < STARTING_MAX &&
	       c->started < c->options->shape.sessions) {
		peer_start(&c->peers[c->started], c->options, c->result,
		    c->started, c->epoll);
		c->started++;
		c->starting++;
	}
}

static void
serve(struct crowd *c, int timeout_ms)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(c->epoll, events, EVENTS, timeout_ms);

	if (n < 0 && errno != EINTR)
		program_fail("epoll_wait: %s", strerror(errno));
	for (int i = 0; i < n; i++) {
		uint64_t which = events[i].data.u64;
		struct peer *p = &c->peers[which / 2];

		peer_event(p, which % 2, (short)events[i].events);
		step(c, p);
	}
}

void
load_run(const struct load_options *o, struct load_result *r)
{
	const uint64_t tick_ns = (o->rate > 0 ? 1 : 10) * NS_PER_MS;
	struct crowd c = { .options = o, .result = r };
	uint64_t now, next_tick = 0;

	c.peers = calloc(o->shape.sessions, sizeof(*c.peers));
	c.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (c.peers == NULL || c.epoll < 0)
		program_fail("%s", strerror(errno));
	r->started_ns = clock_now_ns();
	while (c.done < o->shape.sessions) {
		start_some(&c);
		serve(&c, (int)(tick_ns / NS_PER_MS));
		now = clock_now_ns();
		if (now < next_tick)
			continue;
		next_tick = now + tick_ns;
		for (unsigned i = 0; i < c.started; i++)
			step(&c, &c.peers[i]);
	}
	r->ended_ns = clock_now_ns();
	close(c.epoll);
	free(c.peers);
}

struct client_packet
load_packet(const struct shape *s, const struct packet_id *id)
{
	struct client_packet p = {
		.head_size = s->size < SHAPE_TAG ? s->size : SHAPE_TAG,
		.data = shape_noise(id, SHAPE_TAG),
		.size = s->size,
		.padding = s->padding,
	};

	_Static_assert(SHAPE_TAG <= PACKET_HEAD_MAX, "");
	shape_tag(id, p.head);
	shape_index(s, id, &p.index);
	return p;
}

static int
connect_raw(const struct load_options *o)
{
	struct url_address to[URL_ADDRESSES];
	const char *why;
	unsigned n;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (url_resolve(&o->url, to, &n, &why, 0, NULL, NULL) != OK)
		program_fail("%s: %s", o->url.host, why);
	to[0] = url_with_port(&to[0], o->url.data);
	if (fd < 0 ||
	    connect(fd, (const struct sockaddr *)&to[0].sa, to[0].len) != 0)
		program_fail("connect: %s", strerror(errno));
	return fd;
}

/* Packets from NEXT on, as far as there is space. */
static uint64_t
fill(struct outbox *out, const struct shape *s, uint64_t next)
{
	for (; next < shape_total(s) && !outbox_is_full(out) &&
	       out->waiting < RAW_WAITING;
	     next++) {
		const struct packet_id id = shape_nth(s, s->first, next);
		struct client_packet p = load_packet(s, &id);

		p.index.stream = id.stream + 1; /* as long as a relay's */
		outbox_put(out, id.stream, &p);
	}
	return next;
}

void
load_run_raw(const struct load_options *o, struct load_result *r)
{
	const uint64_t total = shape_total(&o->shape);
	struct outbox out;
	uint64_t next = 0;
	int fd;
	char c;

	if (outbox_init(&out, RAW_PACKETS) != OK)
		program_fail("out of memory");
	r->started_ns = clock_now_ns();
	fd = connect_raw(o);
	while (out.taken < total) {
		next = fill(&out, &o->shape, next);
		if (outbox_send(&out, fd, RAW_WAITING) < 0)
			program_fail("data: %s", strerror(errno));
		while (outbox_take(&out) != NULL)
			;
	}
	if (shutdown(fd, SHUT_WR) != 0 || read(fd, &c, 1) != 0)
		program_fail("the sink did not close");
	r->ended_ns = clock_now_ns();
	r->packets = total;
	r->bytes = r->packets * o->shape.size;
	close(fd);
	outbox_free(&out);
}
