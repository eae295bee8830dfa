/* SPDX-License-Identifier: MIT */
#include "relayd/net/conn.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "relayd/net/conn_internal.h"
#include "relayd/record/control.h"
#include "relayd/record/ingest.h"
#include "relayd/net/peer_name.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/stats/stats.h"

enum stats_port
conn_port(const struct conn *c)
{
	return c->kind == CONN_CONTROL ? PORT_CONTROL : PORT_DATA;
}

struct conn *
conn_alloc(int take_fd, enum conn_kind kind)
{
	const size_t n_write = kind == CONN_CONTROL ? 1 : 0;
	struct conn *c = calloc(1, sizeof(*c) + n_write * sizeof(struct event));

	if (c == NULL) {
		close(take_fd);
		return NULL;
	}
	c->fd = take_fd;
	c->kind = kind;
	stats_connection_came(conn_port(c));
	list_init(&c->node);
	list_init(&c->unsent_node);
	list_init(&c->held_node);
	return c;
}

struct conn *
conn_create(int take_fd, enum conn_kind kind, const struct sockaddr *address)
{
	struct conn *c = conn_alloc(take_fd, kind);

	if (c == NULL)
		return NULL;
	c->peer = peer_name(address);
	c->host = peer_host(address);
	if (c->peer == NULL) {
		conn_destroy(c, false);
		return NULL;
	}
	return c;
}

void
conn_set_busy(struct conn *c, bool is_busy)
{
	if (is_busy == (c->busy_since_ns != 0))
		return;
	c->busy_since_ns = is_busy ? clock_now_ns() : 0;
	if (is_busy)
		c->set->n_busy++;
	else
		c->set->n_busy--;
}

/* Remove C from its set; its endpoint stays. */
static void
detach(struct conn *c)
{
	if (c->set == NULL)
		return;
	conn_set_busy(c, false);
	if (c->has_events) {
		event_del(&c->read_event);
		if (c->kind == CONN_CONTROL)
			event_del(c->write_event);
		c->has_events = false;
	}
	list_del(&c->node);
	list_del(&c->unsent_node);
	list_del(&c->held_node);
	c->set = NULL;
}

static void
give_share(struct conn *c)
{
	if (c->has_share)
		fds_give(c->share);
	c->has_share = false;
}

void
conn_set_share(struct conn *c, enum fds_share s)
{
	give_share(c);
	c->share = s;
	c->has_share = true;
}

/* The session ended or was refused: let the acceptor subtract it. */
static void
post_gone(struct conn *c, struct conns *set)
{
	if (c->gone != NULL)
		set->session_gone(c->gone, set->arg);
	c->gone = NULL;
}

static void
session_is_gone(void *take_gone, void *arg)
{
	struct conns *set = arg;

	set->session_gone(take_gone, set->arg);
}

void
conns_on_session_gone(
    struct conns *set, struct session *s, struct message *take_gone)
{
	session_on_gone(s, session_is_gone, take_gone, set);
}

/* The session, if there is one, notifies the acceptor itself, because it may
 * linger with all its descriptors. */
static void
end_control(struct conn *c, struct conns *set, bool aborted)
{
	struct session *s = c->control == NULL ? NULL : c->control->session;

	if (s != NULL && c->gone != NULL) {
		conns_on_session_gone(set, s, c->gone);
		c->gone = NULL;
	}
	control_destroy(c->control, aborted);
	c->control = NULL;
}

void
conn_destroy(struct conn *c, bool aborted)
{
	struct conns *set;

	if (c == NULL)
		return;
	set = c->set;
	detach(c);
	end_control(c, set, aborted);
	ingest_destroy(c->ingest);
	if (set != NULL) {
		post_gone(c, set);
		account_sub(set->memory, c->charged);
	}
	close(c->fd);
	give_share(c);
	buf_free(&c->in);
	buf_free(&c->out);
	free(c->gone);
	free(c->peer);
	stats_connection_went(conn_port(c));
	free(c);
}

/* Count large buffers as packet memory. */
void
conn_charge(struct conn *c)
{
	uint64_t now = c->in.cap + c->out.cap;

	if (now <= CONN_UNCOUNTED)
		now = 0;
	/* Unsigned arithmetic: a negative difference is subtracted. */
	if (now != c->charged)
		account_add(c->set->memory, now - c->charged);
	c->charged = now;
}

static void
hand_over(struct conn *c)
{
	struct conns *set = c->set;

	detach(c);
	account_sub(set->memory, c->charged);
	c->charged = 0;
	set->handover(c, set->arg);
}

/* Send a last reply and ignore what the peer sends from now on. */
static void
begin_closing(struct conn *c)
{
	c->is_closing = true;
	end_control(c, c->set, true);
	post_gone(c, c->set);
	conn_set_busy(c, false);
	conn_set_busy(c, true);
	buf_consume(&c->in, buf_len(&c->in));
	buf_trim(&c->in);
	conn_charge(c);
}

bool
conn_fail(struct conn *c, enum status st)
{
	if (st == OK)
		return true;
	if (st == E_HANDOVER) {
		hand_over(c);
		return false;
	}
	if (!c->is_closing)
		stats_refused_by(conn_port(c), st);
	if (c->kind == CONN_CONTROL && !c->is_closing &&
	    st != E_REFUSED_CLOSE &&
	    (c->control == NULL || !c->control->has_logged_end))
		log_peer(log_level_of(st),
		    "peer=%s control connection closed: %s", c->peer,
		    status_text(st));
	/* Requests before the failure still get their replies. */
	if (!c->is_closing && (st == E_REFUSED_CLOSE || buf_len(&c->out) > 0)) {
		begin_closing(c);
		return true;
	}
	conn_destroy(c, true);
	return false;
}

/* Resume a connection that waited because too many replies were unsent: serve
 * the requests in its socket and those that it brought from another thread. */
static void
resume_requests(struct conn *c)
{
	if (c->kind != CONN_CONTROL || buf_len(&c->out) >= CONTROL_OUT_MAX ||
	    !list_empty(&c->held_node) ||
	    event_pending(&c->read_event, EV_READ, NULL))
		return;
	event_add(&c->read_event, NULL);
	event_active(&c->read_event, EV_READ, 0);
}

void
conn_lost(const struct conn *c)
{
	/* A killed peer is an ordinary end. */
	const enum log_level level = errno == ECONNRESET || errno == EPIPE
					 ? LOG_INFO
					 : LOG_WARN;
	const struct session *s = NULL;

	stats_refused(conn_port(c), REFUSAL_lost);
	if (c->control != NULL)
		s = c->control->session;
	else if (c->ingest != NULL)
		s = c->ingest->session;
	if (log_wants_peer(level))
		log_errno(level, "%s%s %s connection lost",
		    s != NULL ? "" : "peer=", s != NULL ? s->tag : c->peer,
		    c->kind == CONN_CONTROL ? "control" : "data");
}

/* The time limit of a peer that does not read its replies restarts when it has
 * read something. */
static void
watch_unread(struct conn *c, bool has_read)
{
	const bool was_unread = c->is_unread;

	c->is_unread = buf_len(&c->out) > 0;
	if (c->is_closing || (!was_unread && !c->is_unread))
		return;
	if (has_read)
		conn_set_busy(c, false);
	conn_set_busy(c, c->is_unread || conn_is_mid_message(c));
}

bool
conn_send_now(struct conn *c)
{
	const size_t before = buf_len(&c->out);
	ssize_t n = 0;

	list_del(&c->unsent_node);
	while (buf_len(&c->out) > 0) {
		n = send(c->fd, buf_data(&c->out), buf_len(&c->out),
		    MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		buf_consume(&c->out, (size_t)n);
	}
	if (n < 0 && errno != EAGAIN) {
		conn_lost(c);
		conn_destroy(c, true);
		return false;
	}
	watch_unread(c, buf_len(&c->out) < before);
	resume_requests(c);
	if (buf_len(&c->out) > 0) {
		event_add(c->write_event, NULL);
		return true;
	}
	buf_give_spare(&c->out, &c->set->spares);
	conn_charge(c);
	if (c->is_closing)
		shutdown(c->fd, SHUT_WR);
	return true;
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;

	loop_mark_busy(c->set->loop);
	(void)conn_send_now(c);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;

	loop_mark_busy(c->set->loop);
	if (published(&c->set->loop->leaves_input) == 0)
		conn_read(c);
}

static enum status
make_endpoint(struct conn *c, struct conns *set)
{
	enum status st = OK;

	if (c->kind == CONN_DATA && set->shard != NULL)
		return ingest_create(&c->ingest, set->shard, c->peer, c);
	if (c->kind == CONN_CONTROL && c->control == NULL)
		st = control_create(&c->control, set->control_config, c->peer);
	if (st == OK && c->kind == CONN_CONTROL) {
		c->control->shard = set->shard;
		c->control->conn = c;
	}
	return st;
}

enum status
conn_join(struct conn *c, struct conns *set)
{
	c->set = set;
	list_append(&set->conns, &c->node);
	if (event_assign(&c->read_event, set->loop->base, c->fd,
		EV_READ | EV_PERSIST, on_readable, c) != 0 ||
	    (c->kind == CONN_CONTROL &&
		event_assign(c->write_event, set->loop->base, c->fd, EV_WRITE,
		    on_writable, c) != 0) ||
	    event_add(&c->read_event, NULL) != 0)
		return E_NOMEM;
	c->has_events = true;
	return OK;
}

void
conn_attach(struct conn *c, struct conns *set)
{
	if (make_endpoint(c, set) != OK || conn_join(c, set) != OK) {
		log_error("peer=%s connection dropped: out of memory", c->peer);
		conn_destroy(c, true);
		return;
	}
	/* Serve the bytes that C has read, and those in its socket. */
	conn_read(c);
}

bool
conn_first_worker(const struct conn *c, unsigned *worker)
{
	struct reader r = reader_over(buf_data(&c->in), buf_len(&c->in));
	struct data_header h;

	if (data_header_decode(&r, &h) != OK)
		return false;
	*worker = ids_worker(h.stream);
	return true;
}

void
conn_flush(struct conn *c)
{
	if (buf_len(&c->out) > 0 && list_empty(&c->unsent_node) &&
	    !event_pending(c->write_event, EV_WRITE, NULL))
		list_append(&c->set->unsent, &c->unsent_node);
}
