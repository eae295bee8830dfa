/* SPDX-License-Identifier: MIT */
#include "relayd/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <urcu.h>

#include "common/checksum.h"
#include "common/clock.h"
#include "common/log.h"
#include "relayd/http/http.h"
#include "relayd/process/listen_url.h"
#include "relayd/process/options.h"
#include "relayd/process/rundir.h"
#include "relayd/process/systemd.h"
#include "relayd/stats/stats.h"

#define MAGIC UINT64_C(0x5450525354415445) /* "TPRSTATE" */

static void
put_head(struct buf *b, const struct state_head *head)
{
	buf_u64(b, head->magic);
	buf_u32(b, head->version);
	buf_u32(b, head->oldest_reader);
	buf_u64(b, head->n_bytes);
	buf_u32(b, head->checksum);
	buf_u32(b, head->n_fds);
	buf_u32(b, head->n_objects);
	buf_u16(b, head->control);
	buf_u16(b, head->data);
	buf_u16(b, head->live);
	buf_u64(b, head->frozen_ns);
	buf_u32(b, head->n_sessions);
	buf_u32(b, head->n_conns);
}

enum status
state_head_decode(struct state_head *head, const uint8_t *p, size_t n)
{
	struct reader r = reader_over(p, n);

	head->magic = reader_u64(&r);
	head->version = reader_u32(&r);
	head->oldest_reader = reader_u32(&r);
	head->n_bytes = reader_u64(&r);
	head->checksum = reader_u32(&r);
	head->n_fds = reader_u32(&r);
	head->n_objects = reader_u32(&r);
	head->control = reader_u16(&r);
	head->data = reader_u16(&r);
	head->live = reader_u16(&r);
	head->frozen_ns = reader_u64(&r);
	head->n_sessions = reader_u32(&r);
	head->n_conns = reader_u32(&r);
	if (r.bad || head->magic != MAGIC)
		return E_MALFORMED;
	if (head->oldest_reader > STATE_VERSION || head->version < STATE_OLDEST)
		return E_NOENT;
	if (head->n_bytes != reader_left(&r) ||
	    head->checksum != checksum_crc32(0, r.p, (size_t)head->n_bytes))
		return E_MALFORMED;
	return OK;
}

void
handover_init(struct handover *h)
{
	*h = (struct handover){ .old = -1 };
	handoff_init(&h->from);
	handoff_init(&h->to);
}

/* A socket that listens on the port that U wants. One at another address is
 * closed, as it would be in the way. */
static void
take_listener(struct handover *h, struct listen_url *u, uint16_t port)
{
	for (unsigned i = 0; i < h->from.n_listeners; i++) {
		const int fd = h->from.listeners[i];

		if (fd < 0 || u->has_socket || listen_url_port(fd) != port ||
		    (u->port != 0 && u->port != port))
			continue;
		h->from.listeners[i] = -1;
		u->has_socket = listen_url_is_host(u, fd);
		if (u->has_socket) {
			u->socket_fd = fd;
			continue;
		}
		/* The service manager still has it; a relay that runs uses it.
		 */
		if (h->old < 0)
			(void)shutdown(fd, SHUT_RDWR);
		close(fd);
	}
}

static void
drop(struct handover *h)
{
	state_in_free(&h->in);
	if (h->bytes != NULL)
		(void)munmap((void *)(uintptr_t)h->bytes, h->n_bytes);
	h->bytes = NULL;
	handoff_close(&h->from);
}

static enum status
read_state(struct handover *h, struct options *o)
{
	enum status st = handoff_bytes(&h->from, &h->bytes, &h->n_bytes);
	int *fds;

	if (st == OK)
		st = state_head_decode(&h->head, h->bytes, h->n_bytes);
	if (st == OK)
		st = handoff_fds(&h->from, &fds, h->head.n_fds);
	if (st == OK)
		st = state_in_init(&h->in, h->bytes + STATE_HEAD_LEN,
		    (size_t)h->head.n_bytes, fds, h->head.n_fds,
		    h->head.n_objects);
	if (st == OK)
		st = acceptor_get_udp(&h->udp, &h->in);
	if (st != OK)
		return st;
	take_listener(h, &o->control, h->head.control);
	take_listener(h, &o->data, h->head.data);
	take_listener(h, &o->live, h->head.live);
	/* A stream's handle names its worker. */
	if (o->workers < h->udp.n_workers) {
		log_notice("%u workers instead of %u: as many as before the "
			   "restart",
		    h->udp.n_workers, o->workers);
		o->workers = h->udp.n_workers;
	}
	return OK;
}

static bool
is_other_port(const struct listen_url *u, uint16_t port)
{
	return u->port != 0 && u->port != port;
}

/* Why the relay that runs is none that O can take over; NULL: it is. */
static const char *
why_other(
    const struct take_over_hello *hello, const struct options *o, int base_fd)
{
	struct stat st;

	if (hello->oldest > STATE_VERSION || hello->version < STATE_OLDEST)
		return "its state is of another version";
	if (is_other_port(&o->control, hello->control) ||
	    is_other_port(&o->data, hello->data) ||
	    is_other_port(&o->live, hello->live))
		return "it has other ports";
	if (hello->ino != 0 &&
	    (fstat(base_fd, &st) != 0 || st.st_dev != hello->device ||
		st.st_ino != hello->ino))
		return "it has another output directory";
	return NULL;
}

static enum status
ask(struct handover *h, struct options *o, int base_fd)
{
	struct take_over_hello hello;
	const char *why;
	enum status st;

	h->old = take_over_connect(h->path, &hello);
	if (h->old < 0)
		return E_IO;
	why = why_other(&hello, o, base_fd);
	if (why != NULL) {
		log_error("the relay that runs cannot be taken over: %s", why);
		return E_REFUSED;
	}
	st = take_over_ask(h->old, &h->from);
	if (st == OK)
		st = read_state(h, o);
	if (st == E_MALFORMED || st == E_NOMEM)
		log_error(
		    "the state of the relay that runs: %s", status_text(st));
	return st;
}

/* The service manager starts the relay again when it crashes: with a state that
 * makes it crash this would never end. */
static bool
is_first_attempt(const struct handover *h)
{
	const int fd = open(
	    h->attempt, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	else if (errno == EEXIST)
		(void)unlink(h->attempt);
	return fd >= 0 || errno != EEXIST;
}

enum status
handover_begin(struct handover *h, struct options *o, int base_fd)
{
	enum status st;

	rundir_path(h->path, o->run_dir, "take-over");
	rundir_path(h->attempt, o->run_dir, "restoring");
	if (o->take_over)
		return ask(h, o, base_fd);
	if (h->from.state < 0 || h->from.pack < 0)
		return OK;
	st = read_state(h, o);
	if (st == OK && !is_first_attempt(h))
		st = E_LIMIT;
	if (st == OK)
		return OK;
	log_error("sessions cut by this restart: %" PRIu32
		  ", as their state %s; create them again",
	    h->head.n_sessions,
	    st == E_NOENT   ? "is of a version that this one cannot read"
	    : st == E_LIMIT ? "was not restored by the last start, which "
			      "was killed or has crashed"
			    : "cannot be read");
	drop(h);
	handoff_unstore();
	return OK;
}

enum status
handover_restore(struct handover *h, struct acceptor *a)
{
	enum status st;

	if (h->bytes == NULL)
		return OK;
	/* Viewers' objects are read and freed under RCU. */
	rcu_register_thread();
	st = acceptor_get_state(a, &h->in, h->udp.n_workers, &h->moved);
	rcu_unregister_thread();
	if (st == OK)
		st = stats_get_state(&h->in);
	if (st != OK)
		log_error("the restart cannot restore everything: %s",
		    status_text(st));
	if (h->old < 0 && st != OK) {
		handoff_unstore();
		(void)unlink(h->attempt);
	}
	if (st != OK)
		return st;
	if (h->old >= 0 && take_over_taken(h->old) != OK)
		return E_IO;
	return OK;
}

void
handover_restore_http(struct handover *h, struct http *http)
{
	enum status st;

	if (h->bytes == NULL)
		return;
	st = http_get_state(http, &h->in);
	if (st != OK)
		log_warn("http: the restart has forgotten earlier events: %s",
		    status_text(st));
	/* The references that it holds are of objects of other threads, which
	 * do not run yet. */
	state_in_free(&h->in);
}

static void
report(const struct acceptor_moved *m, uint32_t n_conns, uint64_t pause_ns)
{
	const unsigned closed = n_conns > m->conns ? n_conns - m->conns : 0;
	struct stats *s = stats_main();

	log_notice("taken over from the process before: %u sessions, %u "
		   "connections, %u viewers, after a pause of %" PRIu64 " ms",
	    m->sessions, m->conns, m->viewers, pause_ns / NS_PER_MS);
	if (closed > 0 || m->closed_viewers > 0)
		log_warn("the restart has closed %u connections and %u viewers",
		    closed, m->closed_viewers);
	stats_set(s, STAT_restored_sessions, m->sessions);
	stats_set(s, STAT_restored_connections, m->conns);
	stats_set(s, STAT_restored_viewers, m->viewers);
	stats_set(s, STAT_unrestored_connections, closed);
	stats_set(s, STAT_unrestored_viewers, m->closed_viewers);
	stats_set_restart_pause(pause_ns);
}

void
handover_done(struct handover *h)
{
	if (h->bytes == NULL)
		return;
	report(&h->moved, h->head.n_conns, clock_now_ns() - h->head.frozen_ns);
	if (h->old >= 0)
		close(h->old);
	else
		handoff_unstore();
	(void)unlink(h->attempt);
	h->old = -1;
	drop(h);
}

static void
asked(void *acceptor)
{
	acceptor_pause(acceptor);
}

void
handover_prepare(
    struct handover *h, struct acceptor *a, const struct options *o)
{
	const struct daemon_ports ports = acceptor_ports(a);
	struct take_over_config config = {
		.path = h->path,
		.hello = { .version = STATE_VERSION,
		    .oldest = STATE_OLDEST_READER,
		    .control = ports.control,
		    .data = ports.data,
		    .live = ports.live,
		    .udp = ports.udp },
		.output = o->output,
		.asked = asked,
		.arg = a,
	};

	if (take_over_create(&h->server, acceptor_base(a), &config) != OK)
		h->server = NULL;
	if (systemd_has_manager())
		(void)!handoff_prepare(&h->to);
}

/* Write the state into TO. */
static enum status
fill(struct handoff *to, struct acceptor *a, struct http *http,
    uint64_t frozen_ns)
{
	const struct daemon_ports ports = acceptor_ports(a);
	struct state_head head = {
		.magic = MAGIC,
		.version = STATE_VERSION,
		.oldest_reader = STATE_OLDEST_READER,
		.control = ports.control,
		.data = ports.data,
		.live = ports.live,
		.frozen_ns = frozen_ns,
		.n_sessions = acceptor_sessions(a),
		.n_conns = acceptor_conns(a),
	};
	struct state_out o = { 0 };
	struct buf all = { 0 };
	enum status st = E_NOMEM;

	acceptor_put_state(&o, a);
	stats_put_state(&o);
	http_put_state(&o, http);
	if (!state_out_is_bad(&o)) {
		head.n_bytes = buf_len(&o.buf);
		head.checksum = checksum_crc32(
		    0, buf_data(&o.buf), buf_len(&o.buf));
		head.n_fds = o.n_fds;
		head.n_objects = o.n_objects;
		put_head(&all, &head);
		buf_bytes(&all, buf_data(&o.buf), buf_len(&o.buf));
		if (!all.bad)
			st = handoff_fill(to, &all, o.fds, o.n_fds);
	}
	if (st == E_NOMEM)
		log_error("no memory for the state");
	to->n_listeners = acceptor_listeners(
	    a, to->listeners, HANDOFF_LISTENERS_MAX);
	buf_free(&all);
	state_out_free(&o);
	return st;
}

/* A process has asked for it. */
static enum status
give_to_next(struct handover *h, struct acceptor *a, struct http *http,
    struct handoff *to)
{
	const uint64_t frozen_ns = clock_now_ns();
	enum status st = acceptor_freeze(a, false);

	if (st == OK)
		st = fill(to, a, http, frozen_ns);
	if (st == OK && take_over_ready(h->server) &&
	    take_over_yours(h->server)) {
		log_notice("the next process has taken over");
		return OK;
	}
	log_warn("the process that asked did not take over; this one goes on");
	take_over_refuse(h->server);
	return E_LATER;
}

/* The service manager keeps it for the next process. */
static enum status
give_to_manager(struct handover *h, struct acceptor *a, struct http *http)
{
	const uint64_t frozen_ns = clock_now_ns();
	/* It may never be started: what the peers' systems have accepted is
	 * stored. */
	enum status st = acceptor_freeze(a, true);

	if (st == OK)
		st = fill(&h->to, a, http, frozen_ns);
	if (st == OK && !handoff_store(&h->to))
		st = E_IO;
	/* The listening sockets are those of the acceptor. */
	h->to.n_listeners = 0;
	if (st != OK)
		return E_NOENT;
	log_notice("sessions given to the service manager: %u; unless it "
		   "starts the relay again, they end, and must be created "
		   "again",
	    acceptor_sessions(a));
	return OK;
}

enum status
handover_give(struct handover *h, struct acceptor *a, struct http *http)
{
	struct handoff *to = take_over_handoff(h->server);

	if (to != NULL)
		return give_to_next(h, a, http, to);
	if (h->to.state < 0)
		return E_NOENT;
	return give_to_manager(h, a, http);
}

void
handover_end(struct handover *h)
{
	take_over_destroy(h->server);
	h->server = NULL;
	handoff_close(&h->to);
	if (h->old < 0) {
		drop(h);
		return;
	}
	/* It goes on. What was read shares its locks with it, so nothing is
	 * dropped but by the end of this process. */
	close(h->old);
	h->old = -1;
}
