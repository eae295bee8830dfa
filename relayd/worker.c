/* SPDX-License-Identifier: MIT */
#include "relayd/worker.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <urcu.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/state.h"
#include "common/thread.h"
#include "relayd/net/conn.h"
#include "relayd/net/questions.h"
#include "relayd/net/threads.h"
#include "relayd/process/options.h"
#include "relayd/record/control.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/cycle.h"
#include "relayd/record/udp.h"
#include "relayd/net/udp_port.h"
#include "relayd/stats/stats.h"
#include "store/output.h"
#include "store/store.h"

/* Retry data connections that are not read because memory is short. */
#define HELD_RETRY_NS (20 * NS_PER_MS)
/* Free cached packet memory after this time without packets. */
#define REST_NS (5 * NS_PER_S)
/* Log cycles that take longer. */
#define SLOW_CYCLE_NS (250 * NS_PER_MS)

struct worker {
	pthread_t thread;
	struct message *stop; /* NULL: sent */
	bool has_thread;
	bool is_freezing; /* the thread ends, but nothing is closed */
	bool reads_all;	  /* before that; set before MESSAGE_FREEZE is posted */
	struct loop loop;
	struct shard *shard;
	struct conns conns;
	struct udp_port *udp; /* NULL: none */
	struct account *underway;
	struct questions questions;
	uint64_t last_work;
	uint64_t packets_seen; /* packets_written at last_work */
	uint64_t last_slow_log;
	struct loop *acceptor;
};

static void
on_session_gone(struct message *take_m, void *arg)
{
	struct worker *w = arg;

	loop_post(w->acceptor, take_m);
}

/* A datagram that arrived on the socket of another worker. */
static void
take_datagram(struct worker *w, struct forwarded_datagram *take_p)
{
	if (w->conns.scratch != NULL)
		(void)!udp_input(w->shard, take_p->bytes, take_p->n);
	forwarded_datagram_done(take_p, w->underway);
}

static void
on_message(struct message *m, void *arg)
{
	struct worker *w = arg;

	if (m->kind == MESSAGE_STOP)
		w->loop.is_stopping = true;
	else if (m->kind == MESSAGE_FREEZE)
		w->is_freezing = true;
	else if (m->kind == MESSAGE_ADOPT && w->conns.scratch != NULL)
		conn_attach(m->conn, &w->conns);
	else if (m->kind == MESSAGE_DATAGRAM)
		take_datagram(w, m->object);
	else if (m->kind == MESSAGE_INFO)
		questions_add(&w->questions, m);
	else
		conn_destroy(m->conn, false);
}

/* Free cached packet memory after REST_NS without packets. Returns when to call
 * it again. */
static uint64_t
rest(struct worker *w, uint64_t now)
{
	struct store *s = w->shard->store;

	if (s->packets_written != w->packets_seen) {
		w->packets_seen = s->packets_written;
		w->last_work = now;
	}
	if (s->packets.slab.cached == 0 && s->packets.n_free == 0)
		return UINT64_MAX;
	if (now - w->last_work < REST_NS)
		return w->last_work + REST_NS;
	packet_pool_trim(&s->packets);
	return UINT64_MAX;
}

static void
answer(void *shard, struct info *i)
{
	shard_answer(shard, i);
}

/* Publish the figures that the shard and the store count. */
static void
show_figures(const struct worker *w)
{
	const struct shard *sh = w->shard;
	const struct store *s = sh->store;
	struct stats *stats = sh->stats;

	stats_set(stats, STAT_written_bytes, s->bytes_written);
	stats_set(stats, STAT_written_packets, s->packets_written);
	stats_set(stats, STAT_index_records, s->records_written);
	stats_set(stats, STAT_write_errors, s->write_errors);
	stats_set(stats, STAT_forced_locks, s->locks_forced);
	stats_set(stats, STAT_corrected_records, sh->figures.records_corrected);
	stats_set(stats, STAT_gaps, sh->figures.gaps);
	stats_set(stats, STAT_streams, sh->streams.n);
	stats_set(stats, STAT_files, s->n_open);
	stats_set(stats, STAT_disk_full, s->output->reserve.is_full);
	if (w->udp == NULL)
		return;
#define UDP_COUNT(name, text) \
	stats_set(stats, STAT_udp_##name, sh->udp.n[UDP_##name]);
#include "relayd/record/udp_count.tbl.h"
#undef UDP_COUNT
}

static void
end_cycle(struct worker *w)
{
	uint64_t now, began, next, pause;
	bool deletes, asked;

	conns_end_cycle(&w->conns);
	deletes = cycle_delete_some(w->shard);
	now = clock_now_ns();
	next = cycle_tick(w->shard, now);
	conns_end_cycle(&w->conns);
	if (!list_empty(&w->conns.held))
		next = clock_earlier(next, now + HELD_RETRY_NS);
	next = clock_earlier(next, rest(w, now));
	pause = store_tick(w->shard->store);
	if (pause != UINT64_MAX)
		next = clock_earlier(next, now + pause);
	began = published(&w->loop.busy_since);
	if (began != 0 && now - began > SLOW_CYCLE_NS &&
	    log_ratelimit(&w->last_slow_log, NS_PER_S))
		log_warn("worker %u: a cycle of the loop took %" PRIu64 " ms",
		    w->shard->config.worker, (now - began) / NS_PER_MS);
	show_figures(w);
	asked = questions_answer(&w->questions, answer, w->shard);
	loop_set_timer(&w->loop, deletes || asked ? now : next, now);
	if (began != 0)
		histogram_add(&w->shard->stats->cycles, clock_now_ns() - began);
	publish(&w->loop.busy_since, 0);
	shard_begin_cycle(w->shard);
}

static void
log_figures(const struct worker *w)
{
	const struct store *s = w->shard->store;
	const struct shard *sh = w->shard;
	char udp[1024];

	log_info("worker %u: sessions=%" PRIu64 " packets=%" PRIu64
		 " bytes=%" PRIu64 " records=%" PRIu64 " gaps=%" PRIu64
		 " lost=%" PRIu64 " dropped=%" PRIu64 " write_errors=%" PRIu64
		 " sync_errors=%" PRIu64 " locks_forced=%" PRIu64
		 " corrected=%" PRIu64,
	    sh->config.worker, sh->figures.sessions_created, s->packets_written,
	    s->bytes_written, s->records_written, sh->figures.gaps,
	    sh->figures.packets_lost, sh->figures.packets_dropped,
	    s->write_errors, s->sync_errors, s->locks_forced,
	    sh->figures.records_corrected);
	if (*udp_counts_text(&sh->udp, udp, sizeof(udp)) != '\0')
		log_info("worker %u:%s", sh->config.worker, udp);
}

static void
stop(struct worker *w)
{
	store_end(w->shard->store);
	udp_port_read_all(w->udp);
	conns_read_all(&w->conns);
	cycle_commit(w->shard);
	w->shard->is_stopping = true;
	conns_destroy(&w->conns);
	cycle_last(w->shard);
	log_figures(w);
}

/* The same for a restart: nothing is closed. */
static void
settle(struct worker *w)
{
	if (w->reads_all) {
		udp_port_read_all(w->udp);
		conns_read_all(&w->conns);
	}
	cycle_settle(w->shard);
	log_figures(w);
}

static void *
run(void *arg)
{
	struct worker *w = arg;

	shard_take_over(w->shard);
	rcu_register_thread();
	while (!w->loop.is_stopping && !w->is_freezing) {
		loop_run_cycle(&w->loop);
		end_cycle(w);
	}
	if (w->loop.is_stopping)
		stop(w);
	else
		settle(w);
	rcu_unregister_thread();
	return NULL;
}

static void
worker_free(struct worker *w)
{
	udp_port_destroy(w->udp);
	conns_destroy(&w->conns);
	cycle_last(w->shard);
	shard_destroy(w->shard);
	loop_destroy(&w->loop);
	questions_drop(&w->questions);
	free(w->stop);
	free(w);
}

enum status
worker_create(struct worker **out, const struct worker_config *config)
{
	struct worker *w = calloc(1, sizeof(*w));
	enum status st;

	*out = NULL;
	if (w == NULL) {
		if (config->udp_fd >= 0)
			close(config->udp_fd);
		return E_NOMEM;
	}
	w->acceptor = config->acceptor;
	w->underway = config->underway;
	list_init(&w->conns.conns);
	st = loop_init(&w->loop, on_message, w);
	if (st == OK)
		st = shard_create(&w->shard, config->shard, config->store);
	if (st == OK)
		st = conns_init(&w->conns, &w->loop, w->shard, config->control,
		    config->shard->memory, config->stall_ns);
	w->conns.session_gone = on_session_gone;
	w->conns.arg = w;
	if (st == OK)
		st = message_create(&w->stop, MESSAGE_STOP);
	if (st == OK && config->udp_fd >= 0)
		st = udp_port_create(&w->udp, config->udp_fd, &w->conns,
		    config->acceptor, config->underway);
	else if (config->udp_fd >= 0)
		close(config->udp_fd);
	if (st != OK) {
		worker_free(w);
		return st;
	}
	*out = w;
	return OK;
}

enum status
worker_run(struct worker *w)
{
	shard_limit_slices(w->shard);
	w->is_freezing = false;
	publish(&w->loop.leaves_input, 0);
	w->has_thread = thread_start(&w->thread, run, w) == 0;
	if (!w->has_thread)
		return E_NOMEM;
	/* What was restored, or read at the end, is served at once. */
	loop_wake(&w->loop);
	return OK;
}

int
worker_udp_fd(const struct worker *w)
{
	return w->udp == NULL ? -1 : udp_port_fd(w->udp);
}

void
worker_leave_files(struct worker *w)
{
	store_leave(w->shard->store);
}

unsigned
worker_conns(const struct worker *w)
{
	return conns_count(&w->conns);
}

struct loop *
worker_loop(struct worker *w)
{
	return &w->loop;
}

void
workers_threads(struct worker *const *workers, unsigned n, struct threads *out)
{
	for (unsigned i = 0; i < n; i++)
		threads_add(out, THREAD_WORKER, i, &workers[i]->loop);
}

bool
workers_are_alive(struct worker *const *workers, unsigned n)
{
	bool all = true;

	for (unsigned i = 0; i < n; i++)
		all &= loop_is_alive(&workers[i]->loop);
	return all;
}

/* The thread has got the message to end. W is this thread's then. */
static void
end_thread(struct worker *w)
{
	pthread_join(w->thread, NULL);
	w->has_thread = false;
	shard_take_over(w->shard);
}

enum status
workers_freeze(struct worker *const *workers, unsigned n, bool reads_all)
{
	struct message *freeze[WORKERS_MAX] = { NULL };
	enum status st = OK;

	for (unsigned i = 0; i < n && st == OK; i++)
		st = message_create(&freeze[i], MESSAGE_FREEZE);
	for (unsigned i = 0; i < n; i++)
		if (st == OK) {
			workers[i]->reads_all = reads_all;
			publish(&workers[i]->loop.leaves_input, !reads_all);
			loop_post(&workers[i]->loop, freeze[i]);
		} else {
			free(freeze[i]);
		}
	for (unsigned i = 0; i < n && st == OK; i++)
		end_thread(workers[i]);
	return st;
}

static const struct state_member members[] = {
	STATE_DROP(struct worker, thread),
	STATE_DROP(struct worker, stop),
	STATE_DROP(struct worker, has_thread),
	STATE_DROP(struct worker, is_freezing),
	STATE_DROP(struct worker, reads_all),
	STATE_DROP(struct worker, loop),
	STATE_CODE(struct worker, shard),
	STATE_CODE(struct worker, conns),
	STATE_DROP(struct worker, udp), /* acceptor.c: its socket */
	STATE_DROP(struct worker, underway),
	STATE_DROP(struct worker, questions), /* of the old HTTP thread */
	STATE_DROP(struct worker, last_work),
	STATE_DROP(struct worker, packets_seen),
	STATE_DROP(struct worker, last_slow_log),
	STATE_DROP(struct worker, acceptor),
};
static STATE_TABLE(worker_state, struct worker, members);

/* Sessions whose control connection is gone are placed, too. */
static void
put_ended(struct state_out *o, const struct worker *w)
{
	const struct message *gone;
	const struct session *s;

	list_each (s, &w->shard->sessions, struct session, shard_node) {
		gone = s->gone.what;
		if (gone == NULL)
			continue;
		state_put_bool(o, true);
		session_put_name(o, s);
		state_put(o, &placement_key_state, &gone->key);
	}
	state_put_bool(o, false);
}

void
worker_put_state(struct state_out *o, struct worker *w)
{
	state_put(o, &worker_state, w);
	shard_put_state(o, w->shard);
	put_ended(o, w);
	conns_put_state(o, &w->conns);
}

struct placed_in {
	void (*placed)(const struct placement_key *key, void *arg);
	void *arg;
};

static void
came(struct conn *c, void *arg)
{
	const struct placed_in *in = arg;

	if (c->gone != NULL)
		in->placed(&c->gone->key, in->arg);
}

static enum status
get_ended(struct worker *w, struct state_in *in, const struct placed_in *placed)
{
	enum status st = OK;
	struct message *gone;
	struct session *s;

	while (st == OK && state_get_bool(in)) {
		st = message_create(&gone, MESSAGE_SESSION_GONE);
		if (st != OK)
			return st;
		/* E_MALFORMED if the session alone could not be restored. */
		if (session_get_name(&s, in) != OK)
			s = NULL;
		in->r.bad = false;
		st = state_get(in, &placement_key_state, &gone->key);
		gone->key.worker = w->shard->config.worker;
		if (st != OK || s == NULL || s->gone.call != NULL) {
			free(gone);
			continue;
		}
		placed->placed(&gone->key, placed->arg);
		conns_on_session_gone(&w->conns, s, gone);
	}
	return st == OK ? state_in_status(in) : st;
}

/* A session whose control connection could not be restored ends. */
static enum status
end_abandoned(struct worker *w)
{
	struct idmap controlled = { 0 };
	struct session *s, *next;
	const struct conn *c;
	enum status st = OK;

	list_each (c, &w->conns.conns, struct conn, node) {
		s = c->control == NULL ? NULL : c->control->session;
		/* E_EXISTS: two cannot have one session. */
		if (s != NULL && st == OK)
			st = idmap_insert(&controlled, s->id, s);
	}
	list_each_safe (
	    s, next, &w->shard->sessions, struct session, shard_node)
		if (st == OK && !s->is_ended && s->parked_until_ns == 0 &&
		    idmap_find(&controlled, s->id) == NULL)
			session_close(s, true);
	idmap_free(&controlled);
	return st;
}

enum status
worker_get_state(struct worker *w, struct state_in *in,
    void (*placed)(const struct placement_key *key, void *arg), void *arg)
{
	struct placed_in to = { placed, arg };
	enum status st = state_get(in, &worker_state, w);

	if (st == OK)
		st = shard_get_state(w->shard, in);
	if (st == OK)
		st = get_ended(w, in, &to);
	if (st == OK)
		st = conns_get_state(&w->conns, in, came, &to);
	if (st == OK)
		st = end_abandoned(w);
	return st;
}

static void
post_stop(struct worker *w)
{
	if (w == NULL || w->stop == NULL || !w->has_thread)
		return;
	loop_post(&w->loop, w->stop);
	w->stop = NULL;
}

void
worker_stop(struct worker *w)
{
	if (w == NULL)
		return;
	post_stop(w);
	if (w->has_thread) {
		end_thread(w);
	} else {
		/* It was restored, or is frozen. */
		rcu_register_thread();
		stop(w);
		rcu_unregister_thread();
	}
	worker_free(w);
}

void
workers_stop(struct worker *const *workers, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		post_stop(workers[i]);
	for (unsigned i = 0; i < n; i++)
		worker_stop(workers[i]);
}
