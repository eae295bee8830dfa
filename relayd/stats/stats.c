/* SPDX-License-Identifier: MIT */
#include "relayd/stats/stats.h"

#include <assert.h>

#include "common/clock.h"
#include "common/compiler.h"

static struct stats workers[WORKERS_MAX];
static struct stats live_workers[LIVE_WORKERS_MAX];
static struct stats acceptor, retention;
static struct published refusals[STATS_PORTS][REFUSALS];
static struct published connections[STATS_PORTS];
static struct published restart_pause;

const char *const loss_names[LOSSES] = {
#define LOSS(name, text) #name,
#include "relayd/stats/reasons.tbl.h"
};
const char *const why_names[WHYS] = {
#define WHY(name, text) #name,
#include "relayd/stats/reasons.tbl.h"
};
const char *const why_texts[WHYS] = {
#define WHY(name, text) text,
#include "relayd/stats/reasons.tbl.h"
};
const char *const refusal_names[REFUSALS] = {
#define REASON(name, text) #name,
#include "relayd/stats/reasons.tbl.h"
};
const char *const stats_port_names[STATS_PORTS] = { "control", "data", "live",
	"http" };

/* A cycle that only answers takes tens of microseconds; one that reads its
 * share of many connections, milliseconds; what is longer is a slow disk. */
const uint64_t histogram_limits_ns[HISTOGRAM_BUCKETS - 1] = {
	NS_PER_MS / 10,
	NS_PER_MS / 2,
	2 * NS_PER_MS,
	10 * NS_PER_MS,
	50 * NS_PER_MS,
	250 * NS_PER_MS,
	NS_PER_S,
};

void
histogram_add(struct histogram *h, uint64_t ns)
{
	unsigned i = 0;

	while (
	    i < ARRAY_LEN(histogram_limits_ns) && ns > histogram_limits_ns[i])
		i++;
	published_count(&h->n[i], 1);
	published_count(&h->sum_ns, ns);
}

struct stats *
stats_worker(unsigned worker)
{
	assert(worker < WORKERS_MAX);
	return &workers[worker];
}

struct stats *
stats_live_worker(unsigned worker)
{
	assert(worker < LIVE_WORKERS_MAX);
	return &live_workers[worker];
}

struct stats *
stats_main(void)
{
	return &acceptor;
}

struct stats *
stats_retention(void)
{
	return &retention;
}

uint64_t
stats_sum(enum stats_row row)
{
	uint64_t n = published_word(&acceptor.n[row]) +
		     published_word(&retention.n[row]);

	for (unsigned i = 0; i < WORKERS_MAX; i++)
		n += published_word(&stats_worker(i)->n[row]);
	for (unsigned i = 0; i < LIVE_WORKERS_MAX; i++)
		n += published_word(&stats_live_worker(i)->n[row]);
	return n;
}

uint64_t
stats_sum_lost(void)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < LOSSES; i++)
		n += stats_sum((enum stats_row)(STAT_lost_gap + i));
	return n;
}

void
stats_refused(enum stats_port port, enum refusal why)
{
	published_add(&refusals[port][why], 1);
}

void
stats_refused_by(enum stats_port port, enum status st)
{
	static const enum refusal of[] = {
		[E_REFUSED] = REFUSAL_refused,
		[E_REFUSED_CLOSE] = REFUSAL_closed,
		[E_MALFORMED] = REFUSAL_malformed,
		[E_PROTOCOL] = REFUSAL_protocol,
		[E_LIMIT] = REFUSAL_limit,
		[E_EXISTS] = REFUSAL_protocol,
		[E_NOENT] = REFUSAL_protocol,
		[E_BUSY] = REFUSAL_closed,
		[E_NOMEM] = REFUSAL_memory,
		[E_IO] = REFUSAL_io,
		[E_NOSPC] = REFUSAL_io,
	};

	if (st == OK || st == E_MORE || st == E_HANDOVER)
		return;
	stats_refused(port, of[st]);
}

uint64_t
stats_refusals(enum stats_port port, enum refusal why)
{
	return published_word(&refusals[port][why]);
}

void
stats_connection_came(enum stats_port port)
{
	published_add(&connections[port], 1);
}

void
stats_connection_went(enum stats_port port)
{
	published_sub(&connections[port], 1);
}

uint64_t
stats_connections(enum stats_port port)
{
	return published_word(&connections[port]);
}

void
stats_set_restart_pause(uint64_t ns)
{
	publish(&restart_pause, ns);
}

uint64_t
stats_restart_pause(void)
{
	return published(&restart_pause);
}
