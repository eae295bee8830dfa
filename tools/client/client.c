/* SPDX-License-Identifier: MIT */
#include "tools/client/client.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/clock.h"
#include "proto/frame.h"
#include "tools/client/client_internal.h"

/* Bytes of metadata that may wait, unless one piece is larger. */
#define CONTROL_MAX (1024 * 1024)

/* With a rate, the packets that wait are limited to what it moves in a tenth of
 * a second, but to no less than this many bytes: so a slow session ends soon.
 */
#define QUEUE_LEAST (64 * 1024)

/* How often the time between two questions whether all is on disk is doubled.
 */
#define ASK_DOUBLINGS 7

enum status
client_fail(struct client *c, enum status st, const char *fmt, ...)
{
	va_list args;

	if (c->failed != OK)
		return c->failed;
	va_start(args, fmt);
	vsnprintf(c->error, sizeof(c->error), fmt, args);
	va_end(args);
	return c->failed = st;
}

enum status
client_fail_errno(struct client *c, const char *what)
{
	return client_fail(c, E_IO, "%s: %s", what, strerror(errno));
}

enum status
client_identity_make(struct client_identity *out)
{
	const ssize_t n = sizeof(out->key) + sizeof(out->uuid);
	uint8_t random[sizeof(out->key) + sizeof(out->uuid)];

	if (getrandom(random, sizeof(random), 0) != n)
		return E_IO;
	memcpy(&out->key, random, sizeof(out->key));
	memcpy(&out->uuid, random + sizeof(out->key), sizeof(out->uuid));
	out->creation_time = clock_wall_s();
	return OK;
}

enum status
client_create(struct client **out, const struct client_config *config)
{
	struct client *c = calloc(1, sizeof(*c));
	enum status st;

	*out = NULL;
	assert(config->n_addresses <= URL_ADDRESSES);
	assert(!config->resend || config->udp);
	assert(config->identity == NULL || !config->udp);
	if (c == NULL)
		return E_NOMEM;
	c->config = *config;
	c->n_addresses = config->n_addresses;
	if (c->n_addresses > 0)
		memcpy(c->addresses, config->addresses,
		    c->n_addresses * sizeof(*c->addresses));
	c->control = c->data = -1;
	if (c->config.outstanding == 0)
		c->config.outstanding = CLIENT_OUTSTANDING;
	if (c->config.timeout_ms == 0)
		c->config.timeout_ms = CLIENT_TIMEOUT_MS;
	if (c->config.connect_ms == 0)
		c->config.connect_ms = CLIENT_CONNECT_MS;
	pace_init(&c->pace, config->rate, clock_now_ns());
	if (c->config.packets == 0)
		c->config.packets = CLIENT_PACKETS;
	if (c->config.ask_ms == 0)
		c->config.ask_ms = 1;
	/* One more for UDP_STATUS. */
	st = dialog_init(
	    &c->dialog, RELAY_MINOR, c->config.outstanding + CLIENT_OTHERS + 1);
	if (st == OK)
		st = outbox_init(&c->outbox, c->config.packets);
	if (st != OK) {
		client_destroy(c);
		return st;
	}
	*out = c;
	return OK;
}

void
client_destroy(struct client *c)
{
	if (c == NULL)
		return;
	if (c->control >= 0)
		close(c->control);
	if (c->data >= 0)
		close(c->data);
	client_udp_free(c);
	dialog_free(&c->dialog);
	outbox_free(&c->outbox);
	free(c->streams);
	free(c);
}

const char *
client_error(const struct client *c)
{
	return c->error;
}

const struct client_stats *
client_stats(const struct client *c)
{
	return &c->stats;
}

/* Count the packets that are being sent, up to the one of which a part has
 * left. */
uint64_t
client_bytes_out(const struct client *c)
{
	const struct outbox *o = &c->outbox;
	const uint64_t end = c->config.udp ? c->udp.filled : o->sent;
	uint64_t bytes = c->stats.bytes;

	for (uint64_t n = o->taken; n < end; n++)
		bytes += outbox_peek(o, n)->size;
	if (c->config.udp)
		return bytes + c->udp.offset;
	return bytes + (o->at > DATA_HEADER_LEN ? o->at - DATA_HEADER_LEN : 0);
}

uint64_t
client_moved_ns(const struct client *c)
{
	return c->moved_ns;
}

struct client_answered
client_answered(const struct client *c, unsigned number)
{
	return number < c->n_streams ? c->streams[number].answered
				     : (struct client_answered){ 0 };
}

const char *
client_path(const struct client *c)
{
	return c->path;
}

bool
client_is_open(const struct client *c)
{
	return c->phase == CLIENT_OPEN;
}

bool
client_is_idle(const struct client *c)
{
	return c->outbox.put == c->outbox.taken && c->dialog.n == 0 &&
	       buf_len(&c->dialog.out) == 0 && client_udp_is_idle(c);
}

void
client_opened(const struct client *c, int fd)
{
	const struct client_watch *w = c->config.watch;

	if (w != NULL && w->opened != NULL)
		w->opened(w->arg, fd, fd == c->data);
}

bool
client_goes_on(const struct client *c)
{
	const struct client_watch *w = c->config.watch;

	return w == NULL || w->goes_on == NULL || w->goes_on(w->arg);
}

void
client_set_waits(struct client *c, bool waits)
{
	c->config.waits = waits;
}

enum status
client_wait(struct client *c)
{
	enum status st;
	uint64_t now;

	if (!c->config.waits)
		return E_BUSY;
	st = client_goes_on(c) ? client_work(c, CLIENT_TICK_MS) : E_STOPPED;
	now = clock_now_ns();
	/* The configured rate may be so slow that nothing moves for longer than
	 * the timeout: that is not a failure. */
	if (client_is_open(c) && pace_ready_ns(&c->pace, now) > now)
		c->moved_ns = now;
	if (st == OK && now - c->moved_ns > c->config.timeout_ms * NS_PER_MS)
		return client_fail(c, E_IO,
		    "the relay made no progress for %u s",
		    c->config.timeout_ms / 1000);
	return st == OK ? client_connect_elsewhere(c, now) : st;
}

/* May a request other than an index be made now? */
static bool
may_ask(const struct client *c)
{
	return client_is_open(c) && c->dialog.n - c->in_flight < CLIENT_OTHERS;
}

static enum status
wait_to_ask(struct client *c)
{
	enum status st = c->failed;

	while (st == OK && !may_ask(c))
		st = client_wait(c);
	return st;
}

static struct client_stream *
new_stream(struct client *c)
{
	if (c->n_streams == c->cap_streams) {
		unsigned cap = c->cap_streams == 0 ? 16 : 2 * c->cap_streams;
		void *p = realloc(c->streams, cap * sizeof(*c->streams));

		if (p == NULL)
			return NULL;
		c->streams = p;
		c->cap_streams = cap;
	}
	c->streams[c->n_streams] = (struct client_stream){ 0 };
	return &c->streams[c->n_streams++];
}

enum status
client_add_stream(
    struct client *c, const char *path, const char *channel, unsigned *number)
{
	enum status st = wait_to_ask(c);
	struct client_stream *s;

	if (st != OK)
		return st;
	if ((s = new_stream(c)) == NULL)
		return client_fail(c, E_NOMEM, "out of memory");
	*number = c->n_streams - 1;
	s->is_metadata = strcmp(channel, "metadata") == 0;
	relay_request_add_stream(
	    dialog_ask(&c->dialog, RELAY_CMD_add_stream, *number),
	    c->dialog.minor, channel, path, 0, 0, 0);
	return OK;
}

bool
client_resumes(const struct client *c)
{
	return c->resumes;
}

enum status
client_written(struct client *c, unsigned number, struct relay_written *out)
{
	enum status st = c->failed;

	assert(number < c->n_streams);
	while (st == OK && c->resumes && !c->streams[number].has_written)
		st = client_wait(c);
	if (st == OK)
		*out = c->streams[number].written;
	return st;
}

enum status
client_streams_sent(struct client *c)
{
	enum status st = wait_to_ask(c);

	if (st == OK)
		frame_relay_encode(
		    dialog_ask(&c->dialog, RELAY_CMD_streams_sent, 0),
		    RELAY_CMD_streams_sent, 0);
	return st;
}

enum status
client_metadata(
    struct client *c, unsigned number, const void *data, size_t size)
{
	const struct client_stream *s = &c->streams[number];
	const struct buf *out = &c->dialog.out;
	enum status st = c->failed;

	assert(number < c->n_streams);
	while (st == OK &&
	       (!s->has_handle ||
		   (buf_len(out) > 0 && buf_len(out) + size > CONTROL_MAX)))
		st = client_wait(c);
	if (st == OK)
		relay_request_metadata(
		    &c->dialog.out, s->handle, data, size, 0);
	return st;
}

/* All that waits should leave with one call. */
static bool
has_packet_space(
    const struct client *c, const struct client_stream *s, size_t size)
{
	uint64_t most = CLIENT_QUEUE_MAX;

	if (!s->has_handle)
		return false;
	if (c->config.rate != 0 && c->config.rate / 10 < most)
		most = c->config.rate / 10;
	if (most < QUEUE_LEAST)
		most = QUEUE_LEAST;
	if (c->outbox.waiting > 0 &&
	    c->outbox.waiting + DATA_HEADER_LEN + size > most)
		return false;
	return !outbox_is_full(&c->outbox) && client_udp_may_hold(c);
}

/* Over UDP the relay has a limit, which is known since the session is open. */
static enum status
check_size(struct client *c, const struct client_packet *p)
{
	const uint64_t size = (uint64_t)p->size + p->padding;
	const uint64_t most = udp_packet_max(c->udp.link.window_bytes);

	if (!c->config.udp || size <= most)
		return OK;
	return client_fail(c, E_LIMIT,
	    "a packet has %" PRIu64
	    " bytes: over UDP the relay accepts at most %" PRIu64,
	    size, most);
}

enum status
client_packet(
    struct client *c, unsigned number, const struct client_packet *packet)
{
	struct client_stream *s = &c->streams[number];
	struct client_packet p = *packet;
	enum status st = c->failed;

	assert(number < c->n_streams);
	if (st == OK)
		st = check_size(c, packet);
	while (st == OK && !has_packet_space(c, s, packet->size))
		st = client_wait(c);
	if (st != OK)
		return st;
	p.index.stream = s->handle;
	p.index.net_seq = s->next_seq++;
	outbox_put(&c->outbox, number, &p);
	return OK;
}

void
client_cut(struct client *c)
{
	const struct outbox *o = &c->outbox;
	const uint64_t begun = c->config.udp
				   ? c->udp.filled + (c->udp.offset > 0)
				   : o->sent + (o->at > 0);

	while (o->put > begun)
		c->streams[outbox_drop(&c->outbox)].next_seq--;
	pace_init(&c->pace, 0, clock_now_ns());
}

enum status
client_beacon(
    struct client *c, unsigned number, uint64_t timestamp, uint64_t ctf_stream)
{
	const struct client_stream *s = &c->streams[number];
	struct relay_index i = { .timestamp_end = timestamp,
		.ctf_stream = ctf_stream };
	enum status st = c->failed;

	assert(number < c->n_streams);
	/* A beacon must not overtake the index of a packet before it. */
	while (st == OK && (!s->has_handle || c->outbox.put > c->outbox.taken ||
			       c->in_flight == c->config.outstanding))
		st = client_wait(c);
	if (st != OK)
		return st;
	i.stream = s->handle;
	i.net_seq = s->next_seq - 1;
	relay_request_index(
	    dialog_ask(&c->dialog, RELAY_CMD_send_index, CLIENT_BEACON_TAG),
	    c->dialog.minor, &i);
	c->in_flight++;
	assert(c->in_flight <= c->config.outstanding);
	c->stats.beacons++;
	return OK;
}

enum status
client_close_stream(struct client *c, unsigned number)
{
	struct client_stream *s = &c->streams[number];
	enum status st = c->failed;

	assert(number < c->n_streams);
	/* The relay takes no index of the stream after it. */
	while (st == OK &&
	       (!s->has_handle || !may_ask(c) ||
		   c->outbox.put > c->outbox.taken || !client_udp_is_idle(c)))
		st = client_wait(c);
	if (st != OK || s->is_closed)
		return st;
	relay_request_stream_seq(
	    dialog_ask(&c->dialog, RELAY_CMD_close_stream, 0),
	    RELAY_CMD_close_stream, s->handle, s->next_seq - 1);
	s->is_closed = true;
	return OK;
}

enum status
client_flush(struct client *c)
{
	enum status st = c->failed;

	while (st == OK && !client_is_idle(c))
		st = client_wait(c);
	return st;
}

/* From an open session to a closed one (streaming 8.1). */

static void
ask_id(struct client *c, enum relay_cmd cmd, uint64_t id)
{
	relay_request_id(dialog_ask(&c->dialog, cmd, 0), cmd, id);
}

static void
ask_seq(struct client *c, enum relay_cmd cmd, const struct client_stream *s)
{
	relay_request_stream_seq(
	    dialog_ask(&c->dialog, cmd, 0), cmd, s->handle, s->next_seq - 1);
}

enum status
client_pending(struct client *c, bool *is_pending)
{
	struct client_round *r = &c->round;
	const struct client_stream *s;

	if (r->next == 0)
		r->end = c->n_streams + 1;
	for (; r->next <= r->end; r->next++) {
		s = r->next == 0 || r->next == r->end
			? NULL
			: &c->streams[r->next - 1];
		if (s != NULL && !s->has_handle)
			return c->failed != OK ? c->failed : E_BUSY;
		/* END_DATA_PENDING answers for closed ones. */
		if (s != NULL && s->is_closed)
			continue;
		if (c->failed != OK || !may_ask(c))
			return c->failed != OK ? c->failed : E_BUSY;
		if (r->next == 0)
			ask_id(c, RELAY_CMD_begin_data_pending, c->session_id);
		else if (r->next == r->end)
			ask_id(c, RELAY_CMD_end_data_pending, c->session_id);
		else if (s->is_metadata)
			ask_id(c, RELAY_CMD_quiescent_control, s->handle);
		else
			ask_seq(c, RELAY_CMD_data_pending, s);
	}
	if (c->failed != OK || !r->is_answered)
		return c->failed != OK ? c->failed : E_BUSY;
	*is_pending = r->is_pending;
	*r = (struct client_round){ 0 };
	return OK;
}

static enum status
send_rest(struct client *c)
{
	return client_is_idle(c) ? OK : E_BUSY;
}

static enum status
wait_for_disk(struct client *c)
{
	struct client_end *e = &c->end;
	const uint64_t now = clock_now_ns();
	bool is_pending;
	enum status st;

	if (now < e->again_ns)
		return E_BUSY;
	e->again_ns = 0;
	if (e->began_ns == 0)
		e->began_ns = now;
	st = client_pending(c, &is_pending);
	if (st != OK || !is_pending)
		return st;
	if (now - e->began_ns > c->config.timeout_ms * NS_PER_MS)
		return client_fail(
		    c, E_IO, "the relay has not written everything to disk");
	e->again_ns = now + (c->config.ask_ms * NS_PER_MS << e->rounds);
	e->rounds += e->rounds < ASK_DOUBLINGS;
	return E_BUSY;
}

/* Ask for losses: what was lost at the end is known only now. */
static enum status
ask_losses(struct client *c)
{
	if (!c->config.udp)
		return OK;
	if (!c->end.has_asked)
		client_udp_ask(c);
	c->end.has_asked = true;
	return send_rest(c);
}

/* Close metadata streams first, as peers do. */
static enum status
close_streams(struct client *c)
{
	const unsigned n = c->n_streams;
	unsigned *i = &c->end.closing;

	for (; *i < 2 * n; ++*i) {
		const struct client_stream *s = &c->streams[*i % n];

		if (s->is_metadata != (*i < n) || s->is_closed)
			continue;
		if (!may_ask(c))
			return E_BUSY;
		ask_seq(c, RELAY_CMD_close_stream, s);
	}
	return OK;
}

static enum status
close_chunk(struct client *c)
{
	if (!may_ask(c))
		return E_BUSY;
	relay_request_close_chunk(
	    dialog_ask(&c->dialog, RELAY_CMD_close_trace_chunk, 0), 0,
	    clock_wall_s(), (struct relay_optional){ 0 });
	return OK;
}

/* Each step begins when the step before is over. */
static enum status (*const steps[])(struct client *c) = {
	send_rest,
	wait_for_disk,
	ask_losses,
	close_streams,
	close_chunk,
	send_rest,
};

enum status
client_finish(struct client *c)
{
	enum status st = c->failed;

	while (st == OK && c->end.step < ARRAY_LEN(steps)) {
		st = steps[c->end.step](c);
		if (st == OK)
			c->end.step++;
		else if (st == E_BUSY)
			st = client_wait(c);
	}
	return st;
}
