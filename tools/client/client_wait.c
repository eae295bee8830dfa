/* SPDX-License-Identifier: MIT */
/* The blocking face: try, else wait until something moved. */
#include "common/clock.h"
#include "tools/client/client_internal.h"

#define TICK_MS 100
/* Between two questions whether data is pending. */
#define ASK_FIRST_MS 1
#define ASK_MOST_MS 200

/* One round of waiting, with an eye on the clock. */
static enum status
wait_more(struct client *c)
{
	enum status st = client_work(c, TICK_MS);

	if (st == OK &&
	    clock_now_ns() - c->moved_ns > c->config.timeout_ms * NS_PER_MS)
		return client_fail(c, E_IO, "no progress for %u s",
		    c->config.timeout_ms / 1000);
	return st;
}

enum status
client_open(struct client *c)
{
	enum status st = client_start(c);

	while (st == OK && !client_is_open(c))
		st = wait_more(c);
	return st;
}

enum status
client_add_stream(
    struct client *c, const char *path, const char *channel, unsigned *number)
{
	enum status st;

	while (
	    (st = client_try_add_stream(c, path, channel, number)) == E_BUSY &&
	    (st = wait_more(c)) == OK)
		;
	return st;
}

enum status
client_streams_sent(struct client *c)
{
	enum status st;

	while ((st = client_try_streams_sent(c)) == E_BUSY &&
	       (st = wait_more(c)) == OK)
		;
	return st;
}

enum status
client_metadata(
    struct client *c, unsigned number, const void *data, size_t size)
{
	enum status st;

	while ((st = client_try_metadata(c, number, data, size)) == E_BUSY &&
	       (st = wait_more(c)) == OK)
		;
	return st;
}

enum status
client_packet(
    struct client *c, unsigned number, const struct client_packet *packet)
{
	enum status st;

	while ((st = client_try_packet(c, number, packet)) == E_BUSY &&
	       (st = wait_more(c)) == OK)
		;
	return st;
}

enum status
client_beacon(
    struct client *c, unsigned number, uint64_t timestamp, uint64_t ctf_stream)
{
	enum status st;

	while ((st = client_try_beacon(c, number, timestamp, ctf_stream)) ==
		   E_BUSY &&
	       (st = wait_more(c)) == OK)
		;
	return st;
}

enum status
client_flush(struct client *c)
{
	enum status st = c->failed;

	while (st == OK && !client_is_idle(c))
		st = wait_more(c);
	return st;
}

/* As many as a request ring holds, and no more. */
static enum status
make_room(struct client *c)
{
	enum status st = c->failed;

	while (st == OK && dialog_room(&c->dialog) == 0)
		st = wait_more(c);
	return st;
}

static enum status
ask_id(struct client *c, enum relay_cmd cmd, uint64_t id)
{
	enum status st = make_room(c);

	if (st == OK)
		relay_request_id(dialog_ask(&c->dialog, cmd, 0), cmd, id);
	return st;
}

static enum status
ask_seq(struct client *c, enum relay_cmd cmd, const struct client_stream *s)
{
	enum status st = make_room(c);

	if (st == OK)
		relay_request_stream_seq(dialog_ask(&c->dialog, cmd, 0), cmd,
		    s->handle, s->next_seq - 1);
	return st;
}

/* Is everything on disk? The answer is c->is_pending. */
static enum status
ask_pending(struct client *c)
{
	enum status st = ask_id(c, RELAY_CMD_begin_data_pending, c->session_id);

	c->is_pending = false;
	for (unsigned i = 0; i < c->n_streams && st == OK; i++) {
		const struct client_stream *s = &c->streams[i];

		st = s->is_metadata
			 ? ask_id(c, RELAY_CMD_quiescent_control, s->handle)
			 : ask_seq(c, RELAY_CMD_data_pending, s);
	}
	if (st == OK)
		st = ask_id(c, RELAY_CMD_end_data_pending, c->session_id);
	return st == OK ? client_flush(c) : st;
}

static enum status
nap(struct client *c, unsigned ms)
{
	const uint64_t end = clock_now_ns() + ms * NS_PER_MS;
	enum status st = c->failed;
	uint64_t now;

	while (st == OK && (now = clock_now_ns()) < end)
		st = client_work(c, (int)((end - now) / NS_PER_MS) + 1);
	return st;
}

static enum status
wait_for_disk(struct client *c)
{
	const uint64_t begin = clock_now_ns();
	enum status st = ask_pending(c);

	for (unsigned ms = ASK_FIRST_MS; st == OK && c->is_pending;
	     ms = 2 * ms < ASK_MOST_MS ? 2 * ms : ASK_MOST_MS) {
		if (clock_now_ns() - begin > c->config.timeout_ms * NS_PER_MS)
			return client_fail(
			    c, E_IO, "the relay has not written all");
		if ((st = nap(c, ms)) == OK)
			st = ask_pending(c);
	}
	return st;
}

/* What was lost at the very end is known only now. */
static enum status
ask_losses(struct client *c)
{
	if (!c->config.udp || c->failed != OK)
		return c->failed;
	client_udp_ask(c);
	return client_flush(c);
}

static enum status
close_streams(struct client *c, bool metadata)
{
	enum status st = OK;

	for (unsigned i = 0; i < c->n_streams && st == OK; i++)
		if (c->streams[i].is_metadata == metadata)
			st = ask_seq(c, RELAY_CMD_close_stream, &c->streams[i]);
	return st;
}

enum status
client_finish(struct client *c)
{
	enum status st = client_flush(c);

	if (st == OK)
		st = wait_for_disk(c);
	if (st == OK)
		st = ask_losses(c);
	/* Metadata first, as peers do (streaming 8.1). */
	if (st == OK)
		st = close_streams(c, true);
	if (st == OK)
		st = close_streams(c, false);
	if (st == OK)
		st = make_room(c);
	if (st == OK)
		relay_request_close_chunk(
		    dialog_ask(&c->dialog, RELAY_CMD_close_trace_chunk, 0), 0,
		    clock_wall_s(), (struct relay_optional){ 0 });
	return st == OK ? client_flush(c) : st;
}
