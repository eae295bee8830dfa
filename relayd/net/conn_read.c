/* SPDX-License-Identifier: MIT */
/* Passes bytes from the socket to the endpoint. */
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "proto/frame.h"
#include "relayd/net/conn_internal.h"
#include "relayd/record/control.h"
#include "relayd/record/ingest.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/cycle.h"

/* Larger packets are read into their own memory, together with the next header;
 * many smaller packets arrive with one read. */
#define LARGE_PACKET (32 * 1024)

/* READ_ALL: fewer bytes than requested, so the socket
 * is empty unless more bytes have arrived since. */
enum read_result { READ_SOME, READ_ALL, READ_NOTHING, READ_END, READ_ERROR };

static enum read_result
result_of(ssize_t n, size_t space)
{
	if (n > 0)
		return (size_t)n < space ? READ_ALL : READ_SOME;
	if (n == 0)
		return READ_END;
	return errno == EAGAIN || errno == EINTR ? READ_NOTHING : READ_ERROR;
}

/* Keep the N bytes at P, the beginning of a message. */
static enum status
keep(struct conn *c, const uint8_t *p, size_t n)
{
	buf_bytes(&c->in, p, n);
	return c->in.bad ? E_NOMEM : OK;
}

static enum status
serve_control(struct conn *c, const uint8_t *p, size_t n, size_t *used)
{
	enum status st;

	if (c->is_closing) {
		*used = n;
		return OK;
	}
	buf_take_spare(&c->out, &c->set->spares);
	st = control_input(c->control, p, n, used, &c->out);
	if (buf_len(&c->out) == 0)
		buf_give_spare(&c->out, &c->set->spares);
	return st;
}

static enum status
serve_buffered(struct conn *c)
{
	size_t used;
	enum status st;

	st = serve_control(c, buf_data(&c->in), buf_len(&c->in), &used);
	buf_consume(&c->in, used);
	buf_trim(&c->in);
	return st;
}

/* One read of a control connection; *SIZE is the number of bytes. */
static enum read_result
read_control(struct conn *c, enum status *st, size_t *size)
{
	uint8_t *at = c->set->scratch;
	size_t space = CONN_SCRATCH, used;
	ssize_t n;

	/* The memory of an incomplete message grows with what arrives. */
	if (buf_len(&c->in) > 0) {
		space = buf_len(&c->in) < 16 * 1024 ? 16 * 1024
						    : buf_len(&c->in);
		if (space > CONN_SCRATCH)
			space = CONN_SCRATCH;
		at = buf_reserve(&c->in, space);
		if (at == NULL) {
			*st = E_NOMEM;
			return READ_ERROR;
		}
	}
	n = recv(c->fd, at, space, MSG_DONTWAIT);
	*size = n > 0 ? (size_t)n : 0;
	if (n <= 0)
		return result_of(n, space);
	if (at == c->set->scratch) {
		*st = serve_control(c, at, *size, &used);
		if ((*st == OK || *st == E_HANDOVER) && used < *size &&
		    keep(c, at + used, *size - used) != OK)
			*st = E_NOMEM;
	} else {
		buf_added(&c->in, *size);
		*st = serve_buffered(c);
	}
	conn_charge(c);
	return result_of(n, space);
}

/* The acceptor reads the first header only; the worker reads the rest. */
static enum read_result
read_first_header(struct conn *c, enum status *st, size_t *size)
{
	size_t lacks = DATA_HEADER_LEN - buf_len(&c->in);
	uint8_t bytes[DATA_HEADER_LEN];
	ssize_t n;

	n = recv(c->fd, bytes, lacks, MSG_DONTWAIT);
	*size = n > 0 ? (size_t)n : 0;
	if (n <= 0)
		return result_of(n, lacks);
	*st = keep(c, bytes, *size);
	if (*st == OK && (size_t)n == lacks)
		*st = E_HANDOVER;
	return result_of(n, lacks);
}

static enum status
serve_data(struct conn *c, const uint8_t *p, size_t n)
{
	size_t used;
	enum status st = ingest_input(c->ingest, p, n, &used);

	return st == OK && used < n ? keep(c, p + used, n - used) : st;
}

static enum read_result
read_packets(struct conn *c, enum status *st, size_t *size)
{
	struct ingest *in = c->ingest;
	struct iovec iov[2] = { { 0 } };
	size_t direct, space, tail = ingest_read_max(c->ingest);
	uint8_t *at;
	ssize_t n;

	direct = ingest_space(in, &at);
	if ((in->packet != NULL ? in->h.size : in->last_size) >= LARGE_PACKET)
		tail = DATA_HEADER_LEN;
	iov[0].iov_base = at;
	iov[0].iov_len = direct;
	iov[1].iov_base = c->set->scratch;
	iov[1].iov_len = tail;
	n = readv(c->fd, iov + (direct == 0), direct == 0 ? 1 : 2);
	*size = n > 0 ? (size_t)n : 0;
	if (n <= 0)
		return result_of(n, 0);
	c->set->unwritten += *size;
	space = direct + tail;
	if (direct > *size)
		direct = *size;
	if (direct > 0)
		*st = ingest_filled(in, direct);
	if (*st == OK && *size > direct)
		*st = serve_data(c, c->set->scratch, *size - direct);
	return result_of(n, space);
}

static enum read_result
read_data(struct conn *c, enum status *st, size_t *size)
{
	if (c->set->shard == NULL)
		return read_first_header(c, st, size);
	return read_packets(c, st, size);
}

/* Are unserved requests left in the buffer? They are served in a later cycle,
 * even if the peer sends nothing more. */
static bool
is_waiting(const struct conn *c)
{
	return c->control != NULL && c->control->is_waiting;
}

/* Serve bytes that were read before a handover or a hold. */
static enum status
serve_kept(struct conn *c)
{
	enum status st;
	size_t used;

	if (c->control != NULL)
		c->control->is_waiting = false;
	if (buf_len(&c->in) == 0 || (c->kind == CONN_DATA && c->ingest == NULL))
		return OK;
	if (c->kind == CONN_CONTROL)
		return serve_buffered(c);
	st = ingest_input(c->ingest, buf_data(&c->in), buf_len(&c->in), &used);
	buf_consume(&c->in, used);
	buf_trim(&c->in);
	return st;
}

static bool
is_held(struct conn *c)
{
	if (c->kind == CONN_CONTROL)
		return is_waiting(c) || buf_len(&c->out) >= CONTROL_OUT_MAX;
	return c->ingest != NULL && ingest_is_held(c->ingest);
}

/* Has the connection used its share of the cycle? */
static bool
is_late(const struct conn *c)
{
	return c->set->shard != NULL && shard_is_late(c->set->shard);
}

bool
conn_is_mid_message(const struct conn *c)
{
	if (c->is_closing)
		return true;
	if (is_waiting(c))
		return false;
	if (c->kind == CONN_DATA && c->ingest != NULL)
		return ingest_is_mid_message(c->ingest);
	return buf_len(&c->in) > 0;
}

uint64_t
conn_holds(const struct conn *c)
{
	const bool has_packet = c->kind == CONN_DATA && c->ingest != NULL;

	return buf_len(&c->in) + (has_packet ? ingest_begun(c->ingest) : 0);
}

/*
 * Is another read worth its cost? Not after a whole message. In the middle of a
 * message more bytes are on their way, and a cycle of the loop costs more than
 * a read that returns nothing, unless bytes arrive a few at a time.
 */
static bool
is_worth_reading(const struct conn *c, enum read_result g, size_t size)
{
	if (g == READ_ALL)
		return size >= 1024 && conn_is_mid_message(c);
	return g == READ_SOME;
}

/* Read until the socket is empty, the connection's share of the cycle is used,
 * or the connection ends. */
static enum read_result
read_some(struct conn *c, enum status *st, size_t *read)
{
	size_t size = 0, total = 0;
	enum read_result g = READ_SOME;
	bool more = true;

	*st = serve_kept(c);
	while (*st == OK && more && total < CONN_CYCLE_BYTES && !is_held(c)) {
		if (c->kind == CONN_CONTROL)
			g = read_control(c, st, &size);
		else
			g = read_data(c, st, &size);
		total += size;
		more = is_worth_reading(c, g, size) && !is_late(c);
	}
	/* Progress restarts the time limit of a message. The limit after a last
	 * reply is never restarted. */
	if (total > 0 && !c->is_closing && !c->is_unread)
		conn_set_busy(c, false);
	*read = total;
	return g;
}

/*
 * Stop reading. The connection is retried at the end of each cycle; one with
 * too many replies only after its peer has read some.
 */
static void
hold(struct conn *c)
{
	if (!list_empty(&c->held_node))
		return;
	event_del(&c->read_event);
	if (c->kind == CONN_DATA || is_waiting(c))
		list_append(&c->set->held, &c->held_node);
}

/* Acknowledge at once when only part of a request has arrived, usually the
 * header of SEND_METADATA: the peer's kernel holds the rest back until then
 * (streaming 8.2.3). */
static void
request_quick_ack(const struct conn *c)
{
	const int one = 1;

	if (c->kind == CONN_CONTROL && buf_len(&c->in) > 0)
		(void)setsockopt(
		    c->fd, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof(one));
}

/*
 * The peer's control connection ended. Read the packets whose records have
 * arrived from the data sockets. False: the time slice has expired; continue
 * later.
 */
static bool
read_session_data(struct conn *c)
{
	struct list *n, *tmp;

	if (c->control == NULL || c->control->session == NULL)
		return true;
	list_for_each (n, tmp, &c->control->session->inputs.list) {
		conn_read_rest(
		    list_entry(n, struct ingest, input.node)->conn, false);
		c->control->is_waiting = is_late(c);
		if (c->control->is_waiting)
			return false;
	}
	return true;
}

static void
read_slice(struct conn *c)
{
	enum status st;
	enum read_result g;
	size_t size;

	if (c->failure != OK) {
		conn_fail(c, c->failure);
		return;
	}
	g = read_some(c, &st, &size);
	if (g == READ_ERROR && st == OK)
		conn_lost(c);
	if (!conn_fail(c, st))
		return;
	if (g == READ_END || g == READ_ERROR) {
		if (c->kind == CONN_CONTROL && !read_session_data(c)) {
			hold(c);
			return;
		}
		/* After an orderly end, requests still get their replies. */
		if (g == READ_END && buf_len(&c->out) > 0 && !conn_send_now(c))
			return;
		conn_destroy(c, false);
		return;
	}
	conn_set_busy(c, c->is_unread || conn_is_mid_message(c));
	conn_flush(c);
	request_quick_ack(c);
	if (is_held(c))
		hold(c);
}

void
conn_read(struct conn *c)
{
	struct conns *set = c->set;
	struct shard *sh = set->shard;

	if (sh != NULL)
		shard_begin_slice(sh);
	read_slice(c);
	if (sh != NULL)
		shard_end_slice(sh);
	conns_commit_early(set);
}

size_t
conn_in_socket(const struct conn *c)
{
	int n;

	return ioctl(c->fd, FIONREAD, &n) == 0 && n > 0 ? (size_t)n : 0;
}

void
conn_read_rest(struct conn *c, bool commits)
{
	const size_t there = conn_in_socket(c);
	size_t size, total = 0;
	enum read_result g;
	bool more = c->failure == OK;

	while (more) {
		g = read_some(c, &c->failure, &size);
		total += size;
		more = g <= READ_ALL && !is_held(c);
		/* Bounds what waits, and resumes what was held. */
		if (commits) {
			cycle_commit(c->set->shard);
			more = more || size > 0;
		}
		more = more && c->failure == OK && total < there && !is_late(c);
	}
	conn_set_busy(c, c->is_unread || conn_is_mid_message(c));
	if (is_held(c))
		hold(c);
}

void
conn_serve_kept(struct conn *c)
{
	if (c->failure == OK &&
	    (c->kind == CONN_DATA ||
		(c->control != NULL && c->control->done > 0)))
		c->failure = serve_kept(c);
}
