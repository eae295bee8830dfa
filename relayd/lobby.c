/* SPDX-License-Identifier: MIT */
#include "relayd/lobby.h"

#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "relayd/net/conn.h"
#include "relayd/record/control.h"
#include "relayd/net/crowd.h"
#include "relayd/net/descriptors.h"
#include "relayd/net/listener.h"
#include "relayd/net/service.h"
#include "relayd/net/threads.h"
#include "relayd/live_worker.h"
#include "relayd/process/options.h"
#include "relayd/placement.h"
#include "relayd/record/shard.h"
#include "relayd/net/udp_bind.h"
#include "relayd/net/udp_port.h"
#include "relayd/worker.h"
#include "store/store.h"

/* Packet memory that each worker keeps for reuse while it is busy. */
#define MAX_CACHED (UINT64_C(16) << 20)

struct lobby {
	const struct options *options;
	struct descriptors descriptors;
	struct loop loop;
	struct desk desk;
	struct control_config control_config;
	struct published memory, session_ids, underway;
	int udp_fds[WORKERS_MAX]; /* until a worker has it; then -1 */
	uint16_t udp_port;	  /* 0: none */
	struct placement *placement;
	struct worker **workers;
	unsigned n_workers; /* started */
	struct listener *control, *data, *live;
	struct live_pool *live_pool;
	struct event *sigterm, *sigint, *sweep; /* that: in mid-message */
};

static void
post_adopt(struct lobby *l, struct message *take_m, struct conn *take_c,
    unsigned worker)
{
	take_m->conn = take_c;
	loop_post(worker_loop(l->workers[worker]), take_m);
}

static void
drop(struct conn *take_c, struct message *take_m, enum status st)
{
	if (st == E_NOMEM)
		log_error("peer=%s dropped: out of memory", take_c->peer);
	free(take_m);
	conn_destroy(take_c, true);
}

/* Choose the worker of the session that C asks for, and count it. */
static enum status
claim(struct lobby *l, struct conn *c)
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
	st = placement_claim(l->placement, &gone->key);
	if (st != OK) {
		free(gone);
		return st;
	}
	c->gone = gone;
	return OK;
}

/* A control connection asks for a session. */
static void
place_session(struct lobby *l, struct conn *take_c)
{
	struct message *adopt;
	enum status st = message_create(&adopt, MESSAGE_ADOPT);

	if (st == OK && !crowd_leave_for_new(&l->desk, take_c,
			    placement_sessions(l->placement),
			    placement_of_host(l->placement, &take_c->host)))
		st = E_LIMIT;
	if (st == OK)
		st = claim(l, take_c);
	if (st != OK)
		drop(take_c, adopt, st);
	else
		post_adopt(l, adopt, take_c, take_c->gone->key.worker);
}

/* The first packet of a data connection names its worker. */
static void
send_home(struct lobby *l, struct conn *take_c)
{
	struct message *adopt;
	unsigned worker;
	enum status st;

	if (!conn_first_worker(take_c, &worker) || worker >= l->n_workers) {
		log_peer(LOG_WARN,
		    "peer=%s data connection closed: no such stream here",
		    take_c->peer);
		conn_destroy(take_c, true);
		return;
	}
	st = message_create(&adopt, MESSAGE_ADOPT);
	if (st == OK && !crowd_leave(&l->desk, take_c))
		st = E_LIMIT;
	if (st != OK)
		drop(take_c, adopt, st);
	else
		post_adopt(l, adopt, take_c, worker);
}

static void
on_handover(struct conn *take_c, void *arg)
{
	if (take_c->kind == CONN_CONTROL)
		place_session(arg, take_c);
	else
		send_home(arg, take_c);
}

/* A datagram came to another worker's socket: pass it to its worker. */
static void
pass_parcel(struct lobby *l, struct udp_parcel *take_p)
{
	struct message *m = malloc(sizeof(*m));

	if (m == NULL || l->loop.is_stopping ||
	    take_p->worker >= l->n_workers) {
		free(m);
		udp_parcel_done(take_p, &l->underway);
		return;
	}
	*m = (struct message){ .kind = MESSAGE_DATAGRAM, .object = take_p };
	loop_post(worker_loop(l->workers[take_p->worker]), m);
}

static void
on_message(struct message *m, void *arg)
{
	struct lobby *l = arg;

	if (m->kind == MESSAGE_SESSION_GONE) {
		placement_release(l->placement, &m->key);
		crowd_gone(placement_sessions(l->placement));
	} else if (m->kind == MESSAGE_DATAGRAM)
		pass_parcel(l, m->object);
}

static void
on_session_gone(struct message *take_m, void *arg)
{
	on_message(take_m, arg);
	free(take_m);
}

static void
accepted(struct lobby *l, int take_fd, const struct sockaddr *peer,
    enum conn_kind kind)
{
	struct conn *c = conn_create(take_fd, kind, peer);

	loop_is_busy(&l->loop);
	if (c == NULL) {
		log_error("connection dropped: out of memory");
		return;
	}
	log_debug("peer=%s %s connection", c->peer,
	    kind == CONN_CONTROL ? "control" : "data");
	if (crowd_admit(&l->desk, c))
		conn_attach(c, &l->desk);
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
	live_pool_adopt(((struct lobby *)arg)->live_pool, take_fd, peer);
}

static void
on_signal(evutil_socket_t fd, short what, void *arg)
{
	struct lobby *l = arg;

	log_notice("signal %d: shutting down", (int)fd);
	l->loop.is_stopping = true;
}

static void
on_sweep(evutil_socket_t fd, short what, void *arg)
{
	struct lobby *l = arg;

	loop_is_busy(&l->loop);
	desk_sweep(&l->desk, clock_now_ns());
}

static void
sweep_later(struct lobby *l)
{
	const struct timeval tv = { .tv_sec = DESK_SWEEP_NS / NS_PER_S };

	if (l->desk.n_busy > 0 && !evtimer_pending(l->sweep, NULL))
		evtimer_add(l->sweep, &tv);
}

static enum status
make_events(struct lobby *l)
{
	l->sweep = evtimer_new(l->loop.base, on_sweep, l);
	l->sigterm = evsignal_new(l->loop.base, SIGTERM, on_signal, l);
	l->sigint = evsignal_new(l->loop.base, SIGINT, on_signal, l);
	if (l->sweep == NULL || l->sigterm == NULL || l->sigint == NULL ||
	    event_add(l->sigterm, NULL) != 0 || event_add(l->sigint, NULL) != 0)
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
lobby_start(struct lobby *l, const struct lobby_disk *disk)
{
	const struct options *o = l->options;
	struct store_config store = {
		.base_fd = disk->base_fd,
		.output = o->output,
		.max_files = l->descriptors.files,
		.index_lock_timeout_ns = o->index_lock_timeout_ns,
		.sync = sync_of[o->sync.mode],
		.has_no_reserve = o->on_full == ON_FULL_REFUSE,
		.syncer = disk->syncer,
		.registry = disk->registry,
		.stored = disk->stored,
		.max_cached = MAX_CACHED,
		.memory = &l->memory,
	};
	struct shard_config shard = {
		.n_workers = o->workers,
		.group_by_session = o->group_by_session,
		.allow_clear = !o->disallow_clear,
		.loses_when_full = o->on_full == ON_FULL_LOSE,
		.max_packet_size = o->max_packet_size,
		.max_memory = o->max_memory,
		.memory = &l->memory,
		.session_ids = &l->session_ids,
		.data_port = listener_port(l->data),
		.udp_port = l->udp_port,
	};
	struct worker_config config = {
		.shard = &shard,
		.store = &store,
		.control = &l->control_config,
		.stall_ns = o->socket_timeout_ms * NS_PER_MS,
		.underway = &l->underway,
		.lobby = &l->loop,
	};
	struct live_config live = {
		.n_workers = o->live_workers,
		.holds_replies = o->live_hold,
		.max_viewers = o->max_viewers,
		.max_conns = l->descriptors.viewers,
		.max_ended = l->descriptors.ended,
		.stall_ns = o->socket_timeout_ms * NS_PER_MS,
		.max_memory = o->max_memory,
	};
	enum status st;

	st = live_pool_start(&l->live_pool, &live);
	if (st == OK)
		shard.notifier = live_pool_notifier(l->live_pool);
	for (; l->n_workers < o->workers && st == OK; l->n_workers++) {
		shard.worker = l->n_workers;
		config.udp_fd = l->udp_fds[l->n_workers];
		l->udp_fds[l->n_workers] = -1;
		st = worker_start(&l->workers[l->n_workers], &config);
		if (st != OK)
			break;
	}
	return st;
}

static enum status
listen_all(struct lobby *l)
{
	const struct options *o = l->options;
	enum status st;

	st = listener_create(&l->control, l->loop.base, &o->control, "control",
	    &o->keepalive, on_control, l);
	if (st == OK)
		st = listener_create(&l->data, l->loop.base, &o->data, "data",
		    &o->keepalive, on_data, l);
	if (st == OK)
		st = listener_create(
		    &l->live, l->loop.base, &o->live, "live", NULL, on_live, l);
	return st;
}

enum status
lobby_create(struct lobby **out, struct options *o)
{
	struct lobby *l = calloc(1, sizeof(*l));
	enum status st;

	*out = NULL;
	if (l == NULL)
		return E_NOMEM;
	l->options = o;
	l->control_config.allow_clear = !o->disallow_clear;
	for (unsigned i = 0; i < WORKERS_MAX; i++)
		l->udp_fds[i] = -1;
	list_init(&l->desk.conns);
	l->workers = calloc(o->workers, sizeof(l->workers[0]));
	st = l->workers == NULL ? E_NOMEM
				: descriptors_divide(&l->descriptors, o);
	if (st == OK)
		st = placement_create(&l->placement, o->workers);
	if (st == OK)
		st = loop_init(&l->loop, on_message, l);
	if (st == OK)
		st = desk_init(&l->desk, &l->loop, NULL, &l->control_config,
		    &l->memory, o->socket_timeout_ms * NS_PER_MS);
	if (st == OK)
		st = make_events(l);
	/* No connection is accepted before lobby_run(). */
	if (st == OK)
		st = listen_all(l);
	if (st == OK)
		st = udp_bind_wanted(
		    l->udp_fds, o, listener_port(l->data), &l->udp_port);
	l->control_config.has_udp = l->udp_port != 0;
	if (st != OK) {
		lobby_destroy(l);
		return st;
	}
	l->desk.handover = on_handover;
	l->desk.session_gone = on_session_gone;
	l->desk.arg = l;
	*out = l;
	return OK;
}

struct daemon_ports
lobby_ports(const struct lobby *l)
{
	return (struct daemon_ports){
		.control = listener_port(l->control),
		.data = listener_port(l->data),
		.live = listener_port(l->live),
		.udp = l->udp_port,
	};
}

struct event_base *
lobby_base(struct lobby *l)
{
	return l->loop.base;
}

void
lobby_threads(struct lobby *l, struct threads *out)
{
	threads_add(out, THREAD_MAIN, 0, &l->loop);
	workers_threads(l->workers, l->n_workers, out);
	live_pool_threads(l->live_pool, out);
}

const struct published *
lobby_memory(const struct lobby *l)
{
	return &l->memory;
}

bool
lobby_has_turned(void *lobby)
{
	const struct lobby *l = lobby;
	const bool live = live_pool_has_turned(l->live_pool);

	return workers_have_turned(l->workers, l->n_workers) && live;
}

void
lobby_figures(struct service_figures *f, void *lobby)
{
	const struct lobby *l = lobby;

	f->sessions = placement_sessions(l->placement);
	f->viewers = live_pool_viewers(l->live_pool);
	f->held = published(&l->memory);
}

void
lobby_reload(const struct options *o, void *lobby)
{
	const struct lobby *l = lobby;

	live_pool_set_max_viewers(l->live_pool, o->max_viewers);
}

void
lobby_run(struct lobby *l)
{
	while (!l->loop.is_stopping) {
		loop_turn(&l->loop);
		desk_turn_end(&l->desk);
		sweep_later(l);
		publish(&l->loop.busy_since, 0);
	}
}

static void
close_events(struct lobby *l)
{
	struct event *const events[] = { l->sweep, l->sigterm, l->sigint };

	listener_destroy(l->control);
	listener_destroy(l->data);
	listener_destroy(l->live);
	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		if (events[i] != NULL)
			event_free(events[i]);
}

/* When the events are freed, a second signal must not end the shutdown. */
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
lobby_destroy(struct lobby *l)
{
	if (l == NULL)
		return;
	block_signals();
	l->loop.is_stopping = true;
	close_events(l);
	workers_stop(l->workers, l->n_workers);
	for (unsigned i = 0; i < WORKERS_MAX; i++)
		if (l->udp_fds[i] >= 0)
			close(l->udp_fds[i]);
	live_pool_stop(l->live_pool);
	desk_destroy(&l->desk);
	loop_destroy(&l->loop);
	placement_destroy(l->placement);
	free(l->workers);
	free(l);
}
