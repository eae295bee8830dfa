/* SPDX-License-Identifier: MIT */
/*
 * What the relay counts. Each thread has a block that it alone writes, so
 * counting is a plain addition; the HTTP thread reads all blocks and adds them
 * up. A reader may see one number newer than another. The blocks are static, as
 * the account in common/fds.h: nothing has to be created or passed down.
 */
#ifndef RELAYD_STATS_STATS_H
#define RELAYD_STATS_STATS_H

#include <stdint.h>

#include "common/compiler.h"
#include "common/publish.h"
#include "common/status.h"
#include "common/thread.h"

/* More than commands of the viewer port, and values of their status. */
#define STATS_LIVE_COMMANDS 10
#define STATS_LIVE_STATUSES 8

enum stats_row {
#define STAT(id, kind, metric, label, value, help) STAT_##id,
#include "relayd/stats/stats.tbl.h"
#undef STAT
	STATS
};

/* Why packets are lost. */
enum loss {
#define LOSS(name, text) LOSS_##name,
#include "relayd/stats/reasons.tbl.h"
	LOSSES
};

/* Why a session ended. */
enum why_ended {
#define WHY(name, text) WHY_##name,
#include "relayd/stats/reasons.tbl.h"
	WHYS
};

enum refusal {
#define REASON(name, text) REFUSAL_##name,
#include "relayd/stats/reasons.tbl.h"
	REFUSALS
};

enum stats_port { PORT_CONTROL, PORT_DATA, PORT_LIVE, PORT_HTTP, STATS_PORTS };

extern const char *const loss_names[LOSSES];
extern const char *const why_names[WHYS];
extern const char *const why_texts[WHYS];
extern const char *const refusal_names[REFUSALS];
extern const char *const stats_port_names[STATS_PORTS];

/* How long something took: one count for each bucket, up to its limit; the
 * last bucket has no limit. */
#define HISTOGRAM_BUCKETS 8
struct histogram {
	struct published n[HISTOGRAM_BUCKETS];
	struct published sum_ns;
};
extern const uint64_t histogram_limits_ns[HISTOGRAM_BUCKETS - 1];
void histogram_add(struct histogram *h, uint64_t ns);

struct stats {
	_Alignas(64) struct published n[STATS];
	struct histogram cycles;  /* of the loop, without the wait */
	struct histogram commits; /* that had something to write */
	/* By the number of the command, and the status in the reply; 0: a reply
	 * without a status. Of live workers. */
	struct published live_requests[STATS_LIVE_COMMANDS]
				      [STATS_LIVE_STATUSES];
};

struct stats *stats_worker(unsigned worker);
struct stats *stats_live_worker(unsigned worker);
struct stats *stats_main(void);
struct stats *stats_retention(void);

/* The block's thread only. */
static inline void
stats_add(struct stats *s, enum stats_row what, uint64_t n)
{
	published_count(&s->n[what], n);
}
static inline void
stats_set(struct stats *s, enum stats_row what, uint64_t n)
{
	published_set_word(&s->n[what], n);
}
static inline void
stats_lost(struct stats *s, enum loss cause, uint64_t n)
{
	stats_add(s, (enum stats_row)(STAT_lost_gap + (unsigned)cause), n);
}

/* A row, of all threads. Any thread. */
uint64_t stats_sum(enum stats_row row);
/* All packets that were lost. */
uint64_t stats_sum_lost(void);

/* What many threads count; any thread. */
void stats_refused(enum stats_port port, enum refusal why);
/* The same for an outcome that ends a connection, or a request. */
void stats_refused_by(enum stats_port port, enum status st);
uint64_t stats_refusals(enum stats_port port, enum refusal why);
void stats_connection_came(enum stats_port port);
void stats_connection_went(enum stats_port port);
uint64_t stats_connections(enum stats_port port);

/* How long the restart served nobody; 0: nothing was taken over. Set before
 * threads start. */
void stats_set_restart_pause(uint64_t ns);
uint64_t stats_restart_pause(void);

/* A restart (common/state.h): the sums of all counters go on as those of the
 * main thread. Gauges are not in it. E_MALFORMED. */
struct state_in;
struct state_out;
void stats_put_state(struct state_out *o);
enum status stats_get_state(struct state_in *in) MUST_CHECK;

#endif
