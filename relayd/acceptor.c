/* SPDX-License-Identifier: MIT */
#include "relayd/acceptor.h"

#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/state.h"
#include "relayd/net/conn.h"
#include "relayd/record/control.h"
#include "relayd/net/admission.h"
#include "relayd/net/descriptors.h"
#include "relayd/net/listener.h"
#include "relayd/net/service.h"
#include "relayd/net/threads.h"
#include "relayd/live_worker.h"
#include "relayd/process/listen_url.h"
#include "relayd/process/options.h"
#include "relayd/placement.h"
#include "relayd/record/shard.h"
#include "relayd/net/udp_bind.h"
#include "relayd/net/udp_port.h"
#include "relayd/worker.h"
#include "store/store.h"

/* Packet memory that a busy worker keeps for reuse. */
#define MAX_CACHED (UINT64_C(16) << 20)

struct acceptor {
	const struct options *options;
	struct descriptors descriptors;
	struct loop loop;
	struct conns conns;
	struct control_config control_config;
	struct account memory, underway;
	struct published session_ids;
	int udp_fds[WORKERS_MAX];  /* until a worker has it; then -1 */
	struct daemon_ports ports; /* no UDP port: 0 */
	struct placement *placement;
	struct worker **workers;
	unsigned n_workers; /* started */
	struct listener *control, *data, *live;
	struct live_pool *live_pool;
	struct event *sigterm, *sigint;
};

/* Choose the worker of the session that C asks for, and count it. */
static enum status
claim(struct acceptor *a, struct conn *c)
{
	const struct control *control = c->control;
	struct message *gone;
	enum status st = message_create(&gone, MESSAGE_SESSION_GONE);

	if (st != OK)
		return st;
	gone->key = (struct placement_key){
		.host = c->host,
		.has_peer_id = control->has_peer_id,
		.uuid = control->uuid,
		.peer_session = control->peer_session,
	};
	st = placement_claim(a->placement, &gone->key);
	if (st != OK) {
		free(gone);
		return st;
	}
	c->gone = gone;
	return OK;
}

/* A control connection requests a session. */
static enum status
place_session(struct acceptor *a, struct conn *c, unsigned *worker)
{
	enum status st;

	if (!admission_new_session(&a->conns, c,
		placement_sessions(a->placement),
		placement_of_host(a->placement, &c->host)))
		return E_LIMIT;
	st = claim(a, c);
	if (st == OK)
		*worker = c->gone->key.worker;
	return st;
}

/* The first packet of a data connection names its worker. */
static enum status
find_worker(struct acceptor *a, struct conn *c, unsigned *worker)
{
	if (conn_first_worker(c, worker) && *worker < a->n_workers)
		return admission_take_session(&a->conns, c) ? OK : E_LIMIT;
	log_peer(LOG_WARN, "peer=%s data connection closed: unknown stream",
	    c->peer);
	return E_NOENT;
}

static void
on_handover(struct conn *take_c, void *arg)
{
	struct acceptor *a = arg;
	struct message *adopt;
	unsigned worker;
	enum status st = message_create(&adopt, MESSAGE_ADOPT);

	if (st == OK)
		st = take_c->kind == CONN_CONTROL
			 ? place_session(a, take_c, &worker)
			 : find_worker(a, take_c, &worker);
	if (st == OK) {
		adopt->conn = take_c;
		loop_post(worker_loop(a->workers[worker]), adopt);
		return;
	}
	if (st == E_NOMEM)
		log_error(
		    "peer=%s connection dropped: out of memory", take_c->peer);
	free(adopt);
	conn_destroy(take_c, true);
}

/* Forward a datagram that arrived on the socket of another worker. */
static void
forward_datagram(struct acceptor *a, struct forwarded_datagram *take_p)
{
	struct message *m = malloc(sizeof(*m));

	if (m == NULL || a->loop.is_stopping ||
	    take_p->worker >= a->n_workers) {
		free(m);
		forwarded_datagram_done(take_p, &a->underway);
		return;
	}
	*m = (struct message){ .kind = MESSAGE_DATAGRAM, .object = take_p };
	loop_post(worker_loop(a->workers[take_p->worker]), m);
}

static void
on_message(struct message *m, void *arg)
{
	struct acceptor *a = arg;

	if (m->kind == MESSAGE_SESSION_GONE) {
		placement_release(a->placement, &m->key);
		admission_session_gone(placement_sessions(a->placement));
	} else if (m->kind == MESSAGE_DATAGRAM)
		forward_datagram(a, m->object);
}

static void
on_session_gone(struct message *take_m, void *arg)
{
	on_message(take_m, arg);
	free(take_m);
}

static void
accepted(struct acceptor *a, int take_fd, const struct sockaddr *peer,
    enum conn_kind kind)
{
	struct conn *c = conn_create(take_fd, kind, peer);

	loop_mark_busy(&a->loop);
	if (c == NULL) {
		log_error("connection dropped: out of memory");
		return;
	}
	log_debug("peer=%s %s connection", c->peer,
	    kind == CONN_CONTROL ? "control" : "data");
	if (admission_connect(&a->conns, c))
		conn_attach(c, &a->conns);
	else
		conn_destroy(c, false);
}

static void
on_control(int take_fd, const struct sockaddr *peer, void *arg)
{
	accepted(arg, take_fd, peer, CONN_CONTROL);
}

static void
on_data(int take_fd, const struct sockaddr *peer, void *arg)
{
	accepted(arg, take_fd, peer, CONN_DATA);
}

static void
on_live(int take_fd, const struct sockaddr *peer, void *arg)
{
	live_pool_adopt(((struct acceptor *)arg)->live_pool, take_fd, peer);
}

static void
on_signal(evutil_socket_t fd, short what, void *arg)
{
	struct acceptor *a = arg;

	log_notice("signal %d: shutting down", (int)fd);
	a->loop.is_stopping = true;
}

static enum status
make_events(struct acceptor *a)
{
	a->sigterm = evsignal_new(a->loop.base, SIGTERM, on_signal, a);
	a->sigint = evsignal_new(a->loop.base, SIGINT, on_signal, a);
	if (a->sigterm == NULL || a->sigint == NULL ||
	    event_add(a->sigterm, NULL) != 0 || event_add(a->sigint, NULL) != 0)
		return E_NOMEM;
	return OK;
}

static const enum store_sync sync_of[] = {
	[SYNC_NONE] = STORE_SYNC_NONE,
	[SYNC_CLOSE] = STORE_SYNC_CLOSE,
	[SYNC_PACKET] = STORE_SYNC_PACKET,
	[SYNC_TIME] = STORE_SYNC_TIME,
};

enum status
acceptor_prepare(struct acceptor *a, const struct acceptor_disk *disk)
{
	const struct options *o = a->options;
	struct store_config store = {
		.base_fd = disk->base_fd,
		.output = o->output,
		.max_files = a->descriptors.files,
		.index_lock_timeout_ns = o->index_lock_timeout_ns,
		.sync = sync_of[o->sync.mode],
		.has_no_reserve = o->on_full == ON_FULL_REFUSE,
		.syncer = disk->syncer,
		.registry = disk->registry,
		.stored = disk->stored,
		.max_cached = MAX_CACHED,
		.memory = &a->memory.used,
	};
	struct shard_config shard = {
		.n_workers = o->workers,
		.group_by_session = o->group_by_session,
		.allow_clear = !o->disallow_clear,
		.loses_when_full = o->on_full == ON_FULL_LOSE,
		.max_packet_size = o->max_packet_size,
		.memory = &a->memory,
		.session_ids = &a->session_ids,
		.data_port = a->ports.data,
		.udp_port = a->ports.udp,
		.resume_ns = o->resume_timeout_ns,
		.is_recovering = disk->is_recovering,
	};
	struct worker_config config = {
		.shard = &shard,
		.store = &store,
		.control = &a->control_config,
		.stall_ns = o->socket_timeout_ms * NS_PER_MS,
		.underway = &a->underway,
		.acceptor = &a->loop,
	};
	struct live_config live = {
		.n_workers = o->live_workers,
		.holds_replies = o->live_hold,
		.max_viewers = o->max_viewers,
		.max_conns = a->descriptors.viewers,
		.max_ended = a->descriptors.ended,
		.linger_ns = o->live_linger_ns,
		.stall_ns = o->socket_timeout_ms * NS_PER_MS,
		.max_memory = o->max_memory,
	};
	enum status st;

	st = live_pool_create(&a->live_pool, &live);
	if (st == OK)
		shard.notifier = live_pool_notifier(a->live_pool);
	for (; a->n_workers < o->workers && st == OK; a->n_workers++) {
		shard.worker = a->n_workers;
		config.udp_fd = a->udp_fds[a->n_workers];
		a->udp_fds[a->n_workers] = -1;
		st = worker_create(&a->workers[a->n_workers], &config);
		if (st != OK)
			break;
	}
	return st;
}

enum status
acceptor_start(struct acceptor *a)
{
	enum status st = live_pool_run(a->live_pool);

	a->loop.is_stopping = false;
	for (unsigned i = 0; i < a->n_workers && st == OK; i++)
		st = worker_run(a->workers[i]);
	/* Connections that were restored are served at once. */
	loop_wake(&a->loop);
	return st;
}

void
acceptor_pause(struct acceptor *a)
{
	a->loop.is_stopping = true;
}

enum status
acceptor_freeze(struct acceptor *a, bool reads_all)
{
	enum status st = workers_freeze(a->workers, a->n_workers, reads_all);

	if (st == OK)
		st = live_pool_freeze(a->live_pool);
	return st;
}

static const struct state_member members[] = {
	STATE_DROP(struct acceptor, options),
	STATE_DROP(struct acceptor, descriptors),
	STATE_DROP(struct acceptor, loop),
	STATE_CODE(struct acceptor, conns),
	STATE_DROP(struct acceptor, control_config),
	STATE_DROP(struct acceptor, memory), /* counted again */
	STATE_DROP(struct acceptor, underway),
	STATE_PUBLISHED(struct acceptor, session_ids),
	STATE_CODE(struct acceptor, udp_fds), /* of the workers */
	STATE_DROP(struct acceptor, ports),
	STATE_CODE(struct acceptor, placement), /* with each session */
	STATE_CODE(struct acceptor, workers),
	STATE_DROP(struct acceptor, n_workers),
	STATE_DROP(struct acceptor, control),
	STATE_DROP(struct acceptor, data),
	STATE_DROP(struct acceptor, live),
	STATE_CODE(struct acceptor, live_pool),
	STATE_DROP(struct acceptor, sigterm),
	STATE_DROP(struct acceptor, sigint),
};
static STATE_TABLE(acceptor_state, struct acceptor, members);

void
acceptor_put_state(struct state_out *o, struct acceptor *a)
{
	size_t part;

	state_put_u32(o, a->n_workers);
	state_put_u32(o, a->ports.udp);
	for (unsigned i = 0; i < a->n_workers; i++)
		state_put_fd(o, worker_udp_fd(a->workers[i]));
	state_put(o, &acceptor_state, a);
	live_pool_put_ids(o, a->live_pool);
	for (unsigned i = 0; i < a->n_workers; i++) {
		part = state_begin(o);
		worker_put_state(o, a->workers[i]);
		state_end(o, part);
	}
	conns_put_state(o, &a->conns);
	live_pool_put_state(o, a->live_pool);
}

unsigned
acceptor_sessions(const struct acceptor *a)
{
	return placement_sessions(a->placement);
}

unsigned
acceptor_conns(const struct acceptor *a)
{
	unsigned n = conns_count(&a->conns);

	for (unsigned i = 0; i < a->n_workers; i++)
		n += worker_conns(a->workers[i]);
	return n;
}

void
acceptor_leave_files(struct acceptor *a)
{
	for (unsigned i = 0; i < a->n_workers; i++)
		worker_leave_files(a->workers[i]);
}

unsigned
acceptor_listeners(const struct acceptor *a, int *out, unsigned most)
{
	const struct listener *const all[] = { a->control, a->data, a->live };
	unsigned n = 0;

	for (size_t i = 0; i < ARRAY_LEN(all) && n < most; i++)
		out[n++] = listener_fd(all[i]);
	return n;
}

enum status
acceptor_get_udp(struct acceptor_udp *out, struct state_in *in)
{
	out->n_workers = state_get_u32(in, WORKERS_MAX);
	out->port = (uint16_t)state_get_u32(in, UINT16_MAX);
	for (unsigned i = 0; i < out->n_workers; i++)
		out->fds[i] = state_get_fd(in);
	return state_in_status(in);
}

struct restoring {
	struct acceptor *acceptor;
	struct acceptor_moved *moved;
};

static void
placed(const struct placement_key *key, void *arg)
{
	const struct restoring *r = arg;

	/* Without memory the worker seems to have fewer sessions. */
	(void)!placement_restore(r->acceptor->placement, key);
	r->moved->sessions++;
}

static void
came(struct conn *c, void *arg)
{
	((struct restoring *)arg)->moved->conns++;
}

enum status
acceptor_get_state(struct acceptor *a, struct state_in *in, unsigned n_workers,
    struct acceptor_moved *moved)
{
	struct restoring r = { a, moved };
	enum status st = state_get(in, &acceptor_state, a);
	struct reader rest;

	*moved = (struct acceptor_moved){ 0 };
	if (st == OK)
		st = live_pool_get_ids(a->live_pool, in);
	for (unsigned i = 0; i < n_workers && st == OK; i++) {
		rest = state_part(in);
		st = i < a->n_workers
			 ? worker_get_state(a->workers[i], in, placed, &r)
			 : E_LIMIT;
		state_part_end(in, &rest);
		if (st == OK)
			moved->conns += worker_conns(a->workers[i]);
	}
	if (st == OK)
		st = conns_get_state(&a->conns, in, came, &r);
	live_pool_drain(a->live_pool);
	if (st == OK)
		st = live_pool_get_state(
		    a->live_pool, in, &moved->viewers, &moved->closed_viewers);
	admission_session_gone(placement_sessions(a->placement));
	return st;
}

static enum status
listen_all(struct acceptor *a)
{
	const struct options *o = a->options;
	const struct {
		struct listener **out;
		const struct listen_url *url;
		const char *name;
		const struct keepalive *keepalive;
		void (*accepted)(
		    int take_fd, const struct sockaddr *peer, void *arg);
		uint16_t *port;
	} all[] = {
		{ &a->control, &o->control, "control", &o->keepalive,
		    on_control, &a->ports.control },
		{ &a->data, &o->data, "data", &o->keepalive, on_data,
		    &a->ports.data },
		{ &a->live, &o->live, "live", NULL, on_live, &a->ports.live },
	};
	enum status st = OK;

	for (size_t i = 0; i < ARRAY_LEN(all) && st == OK; i++) {
		const int fd = listener_open(
		    all[i].url, all[i].name, LOG_ERROR);

		*all[i].port = listen_url_port(fd);
		st = listener_create(all[i].out, a->loop.base, fd, all[i].name,
		    all[i].keepalive, all[i].accepted, a);
	}
	return st;
}

/* The sockets keep their places in the group, and what they have received. */
static void
take_sockets(struct acceptor *a, struct acceptor_udp *take_udp)
{
	const struct options *o = a->options;
	const uint16_t wanted = o->has_udp_port ? o->udp_port : o->data.port;
	const bool is_same = o->has_udp &&
			     (wanted == 0 || wanted == take_udp->port);

	for (unsigned i = 0; i < take_udp->n_workers; i++) {
		if (is_same && i < o->workers)
			a->udp_fds[i] = take_udp->fds[i];
		else if (take_udp->fds[i] >= 0)
			close(take_udp->fds[i]);
		take_udp->fds[i] = -1;
	}
}

enum status
acceptor_create(
    struct acceptor **out, struct options *o, struct acceptor_udp *take_udp)
{
	struct acceptor *a = calloc(1, sizeof(*a));
	enum status st;

	*out = NULL;
	if (a == NULL)
		return E_NOMEM;
	a->options = o;
	a->underway.hard = UDP_FORWARD_MAX;
	account_init(&a->memory, o->max_memory, 2 * o->max_memory,
	    o->max_memory / ACCOUNT_FAIR_PART);
	a->control_config.allow_clear = !o->disallow_clear;
	for (unsigned i = 0; i < WORKERS_MAX; i++)
		a->udp_fds[i] = -1;
	list_init(&a->conns.conns);
	take_sockets(a, take_udp);
	a->workers = calloc(o->workers, sizeof(a->workers[0]));
	st = a->workers == NULL ? E_NOMEM
				: descriptors_divide(&a->descriptors, o);
	if (st == OK)
		st = placement_create(&a->placement, o->workers);
	if (st == OK)
		st = loop_init(&a->loop, on_message, a);
	if (st == OK)
		st = conns_init(&a->conns, &a->loop, NULL, &a->control_config,
		    &a->memory, o->socket_timeout_ms * NS_PER_MS);
	if (st == OK)
		st = make_events(a);
	/* No connection is accepted before acceptor_run(). */
	if (st == OK)
		st = listen_all(a);
	if (st == OK)
		st = udp_bind_wanted(
		    a->udp_fds, o, a->ports.data, &a->ports.udp);
	a->control_config.has_udp = a->ports.udp != 0;
	if (st != OK) {
		acceptor_destroy(a);
		return st;
	}
	a->conns.handover = on_handover;
	a->conns.session_gone = on_session_gone;
	a->conns.arg = a;
	*out = a;
	return OK;
}

struct daemon_ports
acceptor_ports(const struct acceptor *a)
{
	return a->ports;
}

struct event_base *
acceptor_base(struct acceptor *a)
{
	return a->loop.base;
}

void
acceptor_threads(struct acceptor *a, struct threads *out)
{
	threads_add(out, THREAD_MAIN, 0, &a->loop);
	workers_threads(a->workers, a->n_workers, out);
	live_pool_threads(a->live_pool, out);
}

const struct account *
acceptor_memory(const struct acceptor *a)
{
	return &a->memory;
}

bool
acceptor_is_alive(void *acceptor)
{
	const struct acceptor *a = acceptor;
	const bool live = live_pool_is_alive(a->live_pool);

	return workers_are_alive(a->workers, a->n_workers) && live;
}

void
acceptor_figures(struct service_figures *f, void *acceptor)
{
	const struct acceptor *a = acceptor;

	f->sessions = placement_sessions(a->placement);
	f->viewers = live_pool_viewers(a->live_pool);
	f->held = account_used(&a->memory);
}

void
acceptor_reload(const struct options *o, void *acceptor)
{
	const struct acceptor *a = acceptor;

	live_pool_set_max_viewers(a->live_pool, o->max_viewers);
}

void
acceptor_run(struct acceptor *a)
{
	while (!a->loop.is_stopping) {
		loop_run_cycle(&a->loop);
		conns_end_cycle(&a->conns);
		publish(&a->loop.busy_since, 0);
	}
}

static void
close_events(struct acceptor *a)
{
	struct event *const events[] = { a->sigterm, a->sigint };

	listener_destroy(a->control);
	listener_destroy(a->data);
	listener_destroy(a->live);
	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		if (events[i] != NULL)
			event_free(events[i]);
}

/* A second signal must not end the shutdown after the events are freed. */
static void
block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

void
acceptor_destroy(struct acceptor *a)
{
	if (a == NULL)
		return;
	block_signals();
	a->loop.is_stopping = true;
	close_events(a);
	workers_stop(a->workers, a->n_workers);
	for (unsigned i = 0; i < WORKERS_MAX; i++)
		if (a->udp_fds[i] >= 0)
			close(a->udp_fds[i]);
	live_pool_stop(a->live_pool);
	conns_destroy(&a->conns);
	loop_destroy(&a->loop);
	placement_destroy(a->placement);
	free(a->workers);
	free(a);
}
