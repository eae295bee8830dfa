/* SPDX-License-Identifier: MIT */
/* The functions that wait: each tries, and while it cannot, waits until
 * something moved. */
#include "common/clock.h"
#include "tools/client/client_internal.h"

/* One round of waiting. It fails when nothing moved for too long. */
static enum status
wait_more(struct client *c)
{
	enum status st = client_goes_on(c) ? client_work(c, CLIENT_TICK_MS)
					   : E_STOPPED;
	const uint64_t now = clock_now_ns();

	/* The configured rate may be so slow that nothing moves for longer than
	 * the timeout: that is no failure. */
	if (client_is_open(c) && pace_ready_ns(&c->pace, now) > now)
		c->moved_ns = now;
	if (st == OK && now - c->moved_ns > c->config.timeout_ms * NS_PER_MS)
		return client_fail(c, E_IO, "no progress for %u s",
		    c->config.timeout_ms / 1000);
	return st == OK ? client_connect_elsewhere(c, now) : st;
}

enum status
client_open(struct client *c)
{
	enum status st = c->phase == CLIENT_NEW ? client_start(c) : c->failed;

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

enum status
client_finish(struct client *c)
{
	enum status st;

	while (
	    (st = client_try_finish(c)) == E_BUSY && (st = wait_more(c)) == OK)
		;
	return st;
}
