/* SPDX-License-Identifier: MIT */
#include "relayd/net/viewer_conn.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/state.h"
#include "relayd/live/open_files.h"
#include "relayd/live/viewers.h"
#include "relayd/net/loop.h"
#include "relayd/net/peer_name.h"
#include "relayd/stats/stats.h"

struct viewer_conn *
viewer_conn_create(
    int take_fd, const struct sockaddr *address, struct account *conns)
{
	struct viewer_conn *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		close(take_fd);
		account_sub(conns, 1);
		return NULL;
	}
	c->fd = take_fd;
	stats_connection_came(PORT_LIVE);
	c->conns = conns;
	list_init(&c->node);
	list_init(&c->held_node);
	c->peer = peer_name(address);
	if (c->peer == NULL) {
		viewer_conn_destroy(c);
		return NULL;
	}
	return c;
}

/* C must make progress: read its reply, or send the rest of a request. */
static void
count_busy(struct viewer_conn *c)
{
	const bool is_busy = c->is_sending || c->n_in > 0;

	if (c->is_busy != is_busy)
		c->set->n_busy += is_busy ? 1 : -1u;
	c->is_busy = is_busy;
}

static void
set_sending(struct viewer_conn *c, bool is_sending)
{
	if (c->is_sending == is_sending)
		return;
	c->is_sending = is_sending;
	count_busy(c);
	if (is_sending) {
		event_del(&c->read_event);
		event_add(&c->write_event, NULL);
	} else {
		event_add(&c->read_event, NULL);
	}
}

static void
count_unsent(struct viewer_conn *c, size_t unsent)
{
	if (c->unsent == unsent)
		return;
	account_add(&c->set->unsent, unsent - c->unsent);
	c->unsent = unsent;
}

void
viewer_conn_destroy(struct viewer_conn *c)
{
	if (c == NULL)
		return;
	if (c->is_busy)
		c->set->n_busy--;
	count_unsent(c, 0);
	if (c->has_events) {
		event_del(&c->read_event);
		event_del(&c->write_event);
	}
	list_del(&c->node);
	list_del(&c->held_node);
	viewer_destroy(c->viewer);
	live_list_free(&c->list);
	open_file_done(c->file);
	buf_free(&c->out);
	close(c->fd);
	account_sub(c->conns, 1);
	stats_connection_went(PORT_LIVE);
	free(c->peer);
	free(c);
}

/* What an unread reply costs: its memory times how long it has made no
 * progress. */
static uint64_t
unread_cost(const struct list *n)
{
	const struct viewer_conn *c = list_entry(n, struct viewer_conn, node);

	return c->unsent * ((clock_now_ns() - c->progress_ns) / NS_PER_MS + 1);
}

static void
close_unread(struct list *n)
{
	struct viewer_conn *c = list_entry(n, struct viewer_conn, node);

	log_peer(LOG_WARN,
	    "peer=%s viewer closed: it has not read %zu bytes, and memory for "
	    "replies is short (--max-memory)",
	    c->peer, c->unsent);
	viewer_conn_destroy(c);
}

static const struct account_owners unread = { unread_cost, close_unread };

/* Copy a small part of a file after its header, so that one send takes both. */
static bool
copy_small(struct viewer_conn *c)
{
	uint8_t *at;
	ssize_t n;

	if (c->file == NULL || c->length > VIEWER_COPY_MAX)
		return true;
	at = buf_reserve(&c->out, (size_t)c->length);
	if (at == NULL)
		return false;
	n = pread(c->file->data_fd, at, (size_t)c->length, (off_t)c->offset);
	if (n != (ssize_t)c->length)
		return false;
	buf_added(&c->out, (size_t)n);
	open_file_done(c->file);
	c->file = NULL;
	c->length = 0;
	return true;
}

/* As send(2) or sendfile(2): at most MOST bytes, those of the file last. */
static ssize_t
send_once(struct viewer_conn *c, size_t most)
{
	const size_t len = buf_len(&c->out);
	off_t at = (off_t)c->offset;
	ssize_t n;

	if (len > 0) {
		n = send(c->fd, buf_data(&c->out), len < most ? len : most,
		    MSG_NOSIGNAL | MSG_DONTWAIT |
			(c->file != NULL ? MSG_MORE : 0));
		if (n > 0)
			buf_consume(&c->out, (size_t)n);
		return n;
	}
	n = sendfile(c->fd, c->file->data_fd, &at,
	    (size_t)(c->length < most ? c->length : most));
	if (n > 0) {
		c->offset += (uint64_t)n;
		c->length -= (uint64_t)n;
	}
	return n;
}

/* Is there something to send? Encodes the next part of the list when all before
 * it is sent. */
static bool
has_more(struct viewer_conn *c)
{
	if (buf_len(&c->out) == 0)
		(void)live_list_encode(&c->list, &c->out);
	return buf_len(&c->out) > 0 || c->length > 0;
}

/* Send as much of the reply of C as the socket takes, at most *LEFT bytes,
 * which it decreases. E_MORE: the rest is sent later. E_NOMEM, E_IO: close the
 * connection. */
static enum status
viewer_conn_send(struct viewer_conn *c, size_t *left)
{
	ssize_t n;

	if (!copy_small(c))
		return E_IO;
	/* The first records are sent together with what precedes them. */
	if (c->list.next == 0)
		(void)live_list_encode(&c->list, &c->out);
	while (has_more(c)) {
		if (*left == 0)
			return E_MORE;
		n = send_once(c, *left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 && errno == EAGAIN ? E_MORE : E_IO;
		*left -= (size_t)n;
		stats_add(c->set->viewers->stats, STAT_sent_bytes, (uint64_t)n);
		c->progress_ns = clock_now_ns();
	}
	return c->out.bad ? E_NOMEM : OK;
}

/* False: the connection is gone. */
static bool
send_reply(struct viewer_conn *c, size_t *left)
{
	enum status st = viewer_conn_send(c, left);

	if (st == E_MORE) {
		set_sending(c, true);
		count_unsent(c, c->out.cap + live_list_memory(&c->list));
		account_close_largest(
		    &c->set->unsent, &c->set->conns, &unread, &c->node, 0);
		return true;
	}
	count_unsent(c, 0);
	live_list_free(&c->list);
	open_file_done(c->file);
	c->file = NULL;
	if (st == E_NOMEM)
		log_error("peer=%s viewer closed: out of memory", c->peer);
	buf_trim(&c->out);
	if (st != OK || c->is_last) {
		viewer_conn_destroy(c);
		return false;
	}
	set_sending(c, false);
	return true;
}

/* Count the reply in OUT by command and status. */
static void
count_reply(struct viewer_conn *c)
{
	const uint32_t cmd = c->request.cmd;
	const uint32_t status = live_reply_status(
	    cmd, buf_data(&c->out), buf_len(&c->out));

	if (cmd < STATS_LIVE_COMMANDS && status < STATS_LIVE_STATUSES)
		published_count(
		    &c->set->viewers->stats->live_requests[cmd][status], 1);
}

/* Serve the current request, and send as much of its reply as *LEFT allows.
 * False: the connection is gone. */
static bool
serve_one(struct viewer_conn *c, size_t *left)
{
	struct live_reply reply = { .out = &c->out };
	const struct live_row *row = live_row(c->request.cmd);

	switch (
	    viewer_serve(c->viewer, &c->request, &c->how, &reply, &c->what)) {
	case LIVE_HOLD:
		c->is_held = true;
		if (list_empty(&c->held_node))
			list_append(&c->set->held, &c->held_node);
		return true;
	case LIVE_CLOSE:
		log_peer(LOG_WARN,
		    "peer=%s viewer closed: %s (%" PRIu32
		    ") is not allowed in this state",
		    c->peer, row->name == NULL ? "unknown command" : row->name,
		    c->request.cmd);
		stats_refused(PORT_LIVE, REFUSAL_protocol);
		viewer_conn_destroy(c);
		return false;
	case LIVE_REPLY_LAST:
		log_peer(LOG_WARN,
		    "peer=%s viewer closed: unknown command %" PRIu32, c->peer,
		    c->request.cmd);
		c->is_last = true;
		stats_refused(PORT_LIVE, REFUSAL_protocol);
		break;
	case LIVE_REPLY:
		count_reply(c);
		break;
	}
	c->is_held = false;
	list_del(&c->held_node);
	if (c->out.bad) {
		log_error("peer=%s viewer closed: out of memory", c->peer);
		open_file_done(reply.file);
		live_list_free(&reply.list);
		viewer_conn_destroy(c);
		return false;
	}
	c->list = reply.list;
	c->file = reply.file;
	c->offset = reply.offset;
	c->length = reply.length;
	c->progress_ns = clock_now_ns();
	return send_reply(c, left);
}

/* Take the next complete request. False: there is none. */
static bool
next_request(struct viewer_conn *c)
{
	size_t used;

	if (live_request_decode(c->in, c->n_in, &c->request, &used) != OK)
		return false;
	c->n_in -= (unsigned)used;
	memmove(c->in, c->in + used, c->n_in);
	count_busy(c);
	/* A request is not held if another one follows it (live 4.8). */
	c->how = (struct live_how){ .arrived_ns = clock_now_ns(),
		.may_hold = c->n_in == 0,
		.is_interrupted = c->n_in > 0 };
	return true;
}

/* Serve the complete requests that were read. False: the connection is gone. */
static bool
serve_buffered(struct viewer_conn *c, size_t *left)
{
	while (!c->is_sending && !c->is_held && next_request(c))
		if (!serve_one(c, left))
			return false;
	return true;
}

/* Serve a held request again because the viewer sent more, or its limit is
 * reached. */
static bool
release(struct viewer_conn *c, bool is_interrupted, size_t *left)
{
	c->how.may_hold = !is_interrupted && c->what.is_early &&
			  clock_now_ns() - c->how.arrived_ns < VIEWER_EARLY_NS;
	c->how.is_interrupted = is_interrupted;
	c->how.was_held = true;
	return serve_one(c, left);
}

static void
serve_all(struct viewer_conn *c)
{
	const uint64_t until = clock_now_ns() + VIEWER_CYCLE_NS;
	size_t space, left = VIEWER_CYCLE_BYTES;
	bool is_all = false;
	ssize_t n;

	/* A read that does not fill the buffer has read everything. */
	while (!c->is_sending && !is_all && clock_now_ns() <= until) {
		space = sizeof(c->in) - c->n_in;
		n = recv(c->fd, c->in + c->n_in, space, MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			viewer_conn_destroy(c);
			return;
		}
		is_all = (size_t)n < space;
		c->n_in += (unsigned)n;
		count_busy(c);
		c->progress_ns = clock_now_ns();
		if (c->is_held && !release(c, true, &left))
			return;
		if (!serve_buffered(c, &left))
			return;
	}
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct viewer_conn *c = arg;

	loop_mark_busy(c->set->loop);
	if (published(&c->set->loop->leaves_input) == 0)
		serve_all(c);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct viewer_conn *c = arg;
	size_t left = VIEWER_CYCLE_BYTES;

	loop_mark_busy(c->set->loop);
	if (!send_reply(c, &left))
		return;
	if (c->is_sending) {
		event_add(&c->write_event, NULL);
		return;
	}
	(void)serve_buffered(c, &left);
}

/* The events of C, which waits until it can send (IS_SENDING), or read. */
static enum status
add_events(struct viewer_conn *c)
{
	struct event_base *base = c->set->loop->base;

	if (event_assign(&c->read_event, base, c->fd, EV_READ | EV_PERSIST,
		on_readable, c) != 0 ||
	    event_assign(
		&c->write_event, base, c->fd, EV_WRITE, on_writable, c) != 0 ||
	    event_add(c->is_sending ? &c->write_event : &c->read_event, NULL) !=
		0)
		return E_NOMEM;
	c->has_events = true;
	return OK;
}

void
viewer_conn_attach(struct viewer_conn *c, struct viewer_conns *set)
{
	c->set = set;
	c->progress_ns = clock_now_ns();
	list_append(&set->conns, &c->node);
	if (viewer_create(&c->viewer, set->viewers, c->peer) != OK ||
	    add_events(c) != OK) {
		log_error("peer=%s viewer dropped: out of memory", c->peer);
		viewer_conn_destroy(c);
		return;
	}
	serve_all(c);
}

void
viewer_conns_init(struct viewer_conns *set, struct loop *loop,
    struct viewers *viewers, uint64_t stall_ns)
{
	*set = (struct viewer_conns){ .loop = loop,
		.viewers = viewers,
		.unsent.hard = VIEWER_UNSENT_MAX,
		.stall_ns = stall_ns != 0 ? stall_ns : VIEWER_STALL_NS };
	list_init(&set->conns);
	list_init(&set->held);
}

void
viewer_conns_destroy(struct viewer_conns *set)
{
	while (!list_empty(&set->conns))
		viewer_conn_destroy(
		    list_first(&set->conns, struct viewer_conn, node));
}

/* Must the held request be served again? SOURCE has an event; NULL: any. */
static bool
is_woken(struct viewer_conn *c, const void *source)
{
	c->how.may_hold = true;
	if (source == NULL || c->what.is_any || c->what.source == source)
		return true;
	c->how.may_hold = false;
	return c->what.is_turn && viewer_is_its_turn(c->viewer, source);
}

static bool
has_news(struct viewer_conn *c, const void *unused)
{
	bool has_ended;
	const bool has = viewer_has_news(c->viewer, &has_ended);

	c->how.may_hold = !has_ended || c->what.is_early;
	return has || c->what.is_early;
}

/* Requests that are held again are appended to the list, so move those that are
 * due to another list first. */
static void
serve_held(struct viewer_conns *set,
    bool (*is_due)(struct viewer_conn *c, const void *source),
    const void *source)
{
	struct list todo, *n, *tmp;
	struct viewer_conn *c;
	size_t left;

	list_init(&todo);
	list_for_each (n, tmp, &set->held) {
		c = list_entry(n, struct viewer_conn, held_node);
		if (!is_due(c, source))
			continue;
		list_del(n);
		list_append(&todo, n);
	}
	while (!list_empty(&todo)) {
		c = list_first(&todo, struct viewer_conn, held_node);
		list_del(&c->held_node);
		left = VIEWER_CYCLE_BYTES;
		(void)serve_one(c, &left);
	}
}

void
viewer_conns_wake(struct viewer_conns *set, const void *source)
{
	serve_held(set, is_woken, source);
}

void
viewer_conns_serve_events(struct viewer_conns *set)
{
	serve_held(set, has_news, NULL);
}

static void
close_marked(struct viewer_conns *set)
{
	struct list *n, *tmp;
	struct viewer_conn *c;
	unsigned n_streams, n_sessions;

	set->viewers->has_to_be_closed = false;
	list_for_each (n, tmp, &set->conns) {
		c = list_entry(n, struct viewer_conn, node);
		if (!viewer_is_to_be_closed(c->viewer, &n_streams, &n_sessions))
			continue;
		log_peer(LOG_WARN,
		    "peer=%s viewer closed: it left too much unread: %u ended "
		    "streams, and parts of %u ended sessions",
		    c->peer, n_streams, n_sessions);
		viewer_conn_destroy(c);
	}
	viewers_limit_sessions(set->viewers);
}

uint64_t
viewer_conns_tick(struct viewer_conns *set, uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;
	struct list *n, *tmp;
	struct viewer_conn *c;
	size_t left;

	if (set->viewers->has_to_be_closed)
		close_marked(set);
	if (set->viewers->has_to_be_closed)
		next = now_ns;

	list_for_each (n, tmp, &set->held) {
		c = list_entry(n, struct viewer_conn, held_node);
		if (c->what.until_ns > now_ns) {
			if (c->what.until_ns < next)
				next = c->what.until_ns;
			continue;
		}
		left = VIEWER_CYCLE_BYTES;
		if (release(c, false, &left) && c->is_held &&
		    c->what.until_ns < next)
			next = c->what.until_ns;
	}
	if (set->n_busy == 0)
		return next;
	list_for_each (n, tmp, &set->conns) {
		c = list_entry(n, struct viewer_conn, node);
		/* progress_ns may be a little later than NOW_NS. */
		if (!c->is_busy || now_ns < c->progress_ns + set->stall_ns)
			continue;
		log_peer(LOG_WARN,
		    "peer=%s viewer closed: %s for %" PRIu64 " s", c->peer,
		    c->is_sending ? "it has read no reply"
				  : "it stopped within a request",
		    (now_ns - c->progress_ns) / NS_PER_S);
		stats_refused(PORT_LIVE, REFUSAL_stalled);
		viewer_conn_destroy(c);
	}
	return next < now_ns + NS_PER_S ? next : now_ns + NS_PER_S;
}

static const struct state_member members[] = {
	STATE_DROP(struct viewer_conn, node),
	STATE_DROP(struct viewer_conn, held_node),
	STATE_DROP(struct viewer_conn, set),
	STATE_CODE(struct viewer_conn, fd),
	STATE_TEXT(struct viewer_conn, peer),
	STATE_CODE(struct viewer_conn, viewer),
	STATE_DROP(struct viewer_conn, read_event),
	STATE_DROP(struct viewer_conn, write_event),
	STATE_DROP(struct viewer_conn, has_events),
	STATE_CODE(struct viewer_conn, in),
	STATE_MOST(
	    struct viewer_conn, n_in, sizeof(((struct viewer_conn *)NULL)->in)),
	STATE_BUF(struct viewer_conn, out),
	STATE_CODE(struct viewer_conn, list),
	STATE_CODE(struct viewer_conn, file),
	STATE_KEEP(struct viewer_conn, offset),
	STATE_KEEP(struct viewer_conn, length),
	STATE_DROP(struct viewer_conn, is_sending), /* as OUT, LIST, LENGTH */
	STATE_DROP(struct viewer_conn, is_busy),    /* the same */
	STATE_DROP(struct viewer_conn, unsent),	    /* counted again */
	STATE_DROP(struct viewer_conn, conns),
	STATE_KEEP(struct viewer_conn, is_last),
	STATE_KEEP(struct viewer_conn, progress_ns),
	STATE_KEEP(struct viewer_conn, is_held),
	STATE_STRUCT(struct viewer_conn, request, live_request_state),
	STATE_STRUCT(struct viewer_conn, how, live_how_state),
	STATE_STRUCT(struct viewer_conn, what, live_held_state),
};
static STATE_TABLE(viewer_conn_state, struct viewer_conn, members);

/* Only its connections are written. */
static const struct state_member set_members[] = {
	STATE_DROP(struct viewer_conns, loop),
	STATE_DROP(struct viewer_conns, viewers),
	STATE_CODE(struct viewer_conns, conns),
	STATE_CODE(struct viewer_conns, held), /* those that say so */
	STATE_DROP(struct viewer_conns, stall_ns),
	STATE_DROP(struct viewer_conns, n_busy),
	STATE_DROP(struct viewer_conns, unsent),
};
static STATE_TABLE(viewer_conns_state, struct viewer_conns, set_members);

static void
put_conn(struct state_out *o, struct viewer_conn *c)
{
	state_put(o, &viewer_conn_state, c);
	state_put_fd(o, c->fd);
	state_put_bytes(o, c->in, c->n_in);
	viewer_put_state(o, c->viewer);
	live_list_put_state(o, &c->list);
	/* After the viewer, which may have the same file. */
	open_file_put_state(o, c->file);
}

void
viewer_conns_put_state(struct state_out *o, struct viewer_conns *set)
{
	struct viewer_conn *c;
	size_t part;

	state_put(o, &viewer_conns_state, set);
	list_each (c, &set->conns, struct viewer_conn, node) {
		state_put_bool(o, true);
		part = state_begin(o);
		put_conn(o, c);
		state_end(o, part);
	}
	state_put_bool(o, false);
}

static enum status
get_reply(struct viewer_conn *c, struct state_in *in,
    const struct live_notifier *notifier)
{
	struct open_file *file = NULL;
	enum status st = live_list_get_state(&c->list, in, notifier);

	if (st == OK)
		st = open_file_get_state(
		    &c->set->viewers->files, &file, in, NULL);
	if (file != NULL)
		c->file = open_file_use(file);
	open_file_put(file);
	if (st == OK && c->file == NULL && c->length != 0)
		st = E_MALFORMED;
	return st;
}

/* All but its place in the lists and the loop. */
static enum status
get_parts(struct viewer_conn *c, struct state_in *in,
    const struct live_notifier *notifier)
{
	enum status st = state_get(in, &viewer_conn_state, c);
	struct span bytes;

	c->fd = state_get_fd(in);
	bytes = state_get_bytes(in);
	if (st == OK && (c->fd < 0 || c->peer == NULL || bytes.n != c->n_in))
		st = E_MALFORMED;
	if (st != OK)
		return st;
	if (bytes.n > 0)
		memcpy(c->in, bytes.p, bytes.n);
	st = viewer_get_state(
	    &c->viewer, in, c->set->viewers, c->peer, notifier);
	if (st == OK)
		st = get_reply(c, in, notifier);
	return st;
}

static enum status
get_conn(struct viewer_conn *c, struct state_in *in,
    const struct live_notifier *notifier)
{
	const enum status st = get_parts(c, in, notifier);

	if (st != OK)
		return st;
	c->is_sending = buf_len(&c->out) > 0 || c->list.n > 0 || c->length > 0;
	if (c->is_sending && c->is_held)
		return E_MALFORMED;
	count_busy(c);
	if (c->is_sending)
		count_unsent(c, c->out.cap + live_list_memory(&c->list));
	if (c->is_held)
		list_append(&c->set->held, &c->held_node);
	return add_events(c);
}

static struct viewer_conn *
alloc_conn(struct viewer_conns *set, struct account *conns)
{
	struct viewer_conn *c;

	if (!account_take(conns, 1))
		return NULL;
	c = calloc(1, sizeof(*c));
	if (c == NULL) {
		account_sub(conns, 1);
		return NULL;
	}
	c->set = set;
	c->fd = -1;
	c->conns = conns;
	list_init(&c->held_node);
	list_append(&set->conns, &c->node);
	stats_connection_came(PORT_LIVE);
	return c;
}

static enum status
get_one(struct viewer_conns *set, struct state_in *in, struct account *conns,
    const struct live_notifier *notifier)
{
	const struct reader rest = state_part(in);
	struct viewer_conn *c = alloc_conn(set, conns);
	enum status st = c == NULL ? E_LIMIT : get_conn(c, in, notifier);

	state_part_end(in, &rest);
	if (st == OK)
		return OK;
	log_warn("peer=%s viewer closed: it cannot go on after the restart: %s",
	    c == NULL || c->peer == NULL ? "?" : c->peer, status_text(st));
	viewer_conn_destroy(c);
	return st;
}

enum status
viewer_conns_get_state(struct viewer_conns *set, struct state_in *in,
    struct account *conns, const struct live_notifier *notifier,
    unsigned *taken, unsigned *closed)
{
	const enum status st = state_get(in, &viewer_conns_state, set);

	while (st == OK && state_get_bool(in))
		++*(get_one(set, in, conns, notifier) == OK ? taken : closed);
	return state_in_status(in);
}

void
viewer_conns_begin(struct viewer_conns *set)
{
	viewer_conns_serve_events(set);
	viewer_conns_wake(set, NULL);
}
