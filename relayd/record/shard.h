/* SPDX-License-Identifier: MIT */
/*
 * What one ingest worker owns: its sessions with their streams, and lists of
 * those that have work to do before the worker waits again. The shard only
 * keeps the lists. Sessions and streams add themselves, and cycle.c does the
 * work.
 *
 * Only the shard's thread touches what is reachable from it: endpoints,
 * sessions, streams and cycle.c assert shard_is_mine() where they are entered.
 */
#ifndef RELAYD_RECORD_SHARD_H
#define RELAYD_RECORD_SHARD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/account.h"
#include "common/clock.h"
#include "common/compiler.h"
#include "common/idmap.h"
#include "common/ids.h"
#include "common/list.h"
#include "common/publish.h"
#include "common/status.h"

/*
 * The time slice of a connection, or of the commit at the end of a cycle of the
 * loop. After it other connections are served, and the rest is done in a later
 * cycle. When a cycle has lasted for two slices, the remaining connections get
 * only SHARD_SLICE_SHORT_NS, so that many demanding peers hardly lengthen it:
 * the request of another peer then waits for about 5 ms.
 */
#define SHARD_SLICE_NS (1 * NS_PER_MS)
#define SHARD_SLICE_SHORT_NS (NS_PER_MS / 4)
/* Sessions that begin in one cycle. Each creates directories, which takes 0.3
 * ms on a fast disk, 10 ms for a deep path, while other connections wait. */
#define SHARD_SESSIONS_A_CYCLE 1

struct chunk;
struct live_notifier;
struct stats;
struct store;
struct store_config;

struct state_in;
struct state_out;

struct shard_config {
	unsigned worker;    /* its number in stream handles */
	unsigned n_workers; /* 0: not known */
	bool group_by_session;
	bool allow_clear;
	bool loses_when_full;		/* --on-full */
	uint64_t max_packet_size;	/* with padding, bytes */
	struct account *memory;		/* packets of all workers; borrowed */
	struct published *session_ids;	/* the last id; borrowed */
	uint16_t data_port;		/* TCP */
	uint16_t udp_port;		/* 0: no UDP */
	struct live_notifier *notifier; /* to the viewers; borrowed, or NULL */
	uint64_t resume_ns; /* --resume-timeout; 0: no session is kept */
	/* What a relay before this one has left is being cut, so nothing of it
	 * can be continued; borrowed, or NULL. */
	const struct published *is_recovering;
};

/* Counts of what happened to datagrams, per session and per worker. */
enum udp_count {
#define UDP_COUNT(name, text) UDP_##name,
#include "relayd/record/udp_count.tbl.h"
#undef UDP_COUNT
	UDP_COUNTS
};

struct udp_counts {
	uint64_t n[UDP_COUNTS];
};

/* Figures since the start. */
struct shard_figures {
	uint64_t gaps, packets_lost, packets_dropped, sessions_created;
	uint64_t records_corrected; /* with another size than the packet */
	uint64_t packets_without_space;
};

/* The time slices of connections and commits: shard.c. */
struct shard_slice {
	bool is_limited; /* without a worker there is no limit */
	/* ns; 0: the cycle has done nothing yet; UINT64_MAX: no limit */
	uint64_t cycle_began, end;
	unsigned n_sessions; /* that began in this cycle */
	unsigned n_steps;
	/* With --sync=packet: the commit of this cycle has used its slice, and
	 * gets no second one. */
	bool has_waited;
	/* The daemon stops: requests that have begun are completed, and packets
	 * that were read are taken. */
	bool takes_all;
};

/* What has work to do, or waits, at the end of a cycle: cycle.c. */
struct shard_work {
	struct list dirty;    /* streams with something to commit */
	struct list locked;   /* streams whose records wait for a lock */
	struct list pending;  /* streams whose metadata waits for space */
	struct list gapped;   /* streams that wait for a missing number */
	struct list ending;   /* sessions whose control connection is gone */
	struct list doomed;   /* chunks being deleted */
	struct list beacons;  /* sessions whose beacons are not in their file */
	struct list orphans;  /* data connections whose session is gone */
	uint64_t pending_ns;  /* when to retry the first of PENDING */
	uint64_t relief_ns;   /* memory is short: when to check again */
	struct list replaced; /* control connections whose session is taken */
	struct list parked;   /* sessions whose sender may come back */
};

/* Traces without streams, of all sessions: trace.c. */
struct shard_traces {
	uint64_t names_bytes;	/* their memory */
	struct list forgetting; /* sessions with old traces */
	struct list old;	/* of sessions that are gone: to be freed */
};

/* When each kind of line was last logged. */
struct shard_logs {
	uint64_t last_loss, last_full, last_relief, last_udp;
};

struct shard {
	pthread_t owner; /* the thread that may use it */
	struct shard_config config;
	struct store *store;
	struct stats *stats; /* of this worker; borrowed */
	struct id_source ids;
	struct idmap streams;  /* handle -> struct stream */
	struct list sessions;  /* struct session, by shard_node */
	struct list siblings;  /* struct siblings */
	unsigned n_windows;    /* of these, those with a window */
	struct list old_roots; /* struct old_root */
	bool is_stopping;      /* sessions end because the relay does */
	uint64_t n_streams;    /* of all sessions */
	uint64_t file_bytes;   /* FILE_WEIGHT of the packets that wait */
	struct shard_work work;
	struct shard_traces traces;
	struct udp_counts udp;
	struct shard_figures figures;
	struct shard_slice slice;
	struct shard_logs logs;
};

enum status shard_create(struct shard **out, const struct shard_config *config,
    const struct store_config *store_config) MUST_CHECK;
/* The shard belongs to the calling thread from now on; at first it belongs to
 * the one that created it. The previous thread must not use it any more. */
void shard_take_over(struct shard *sh);
static inline bool
shard_is_mine(const struct shard *sh)
{
	return pthread_equal(sh->owner, pthread_self()) != 0;
}

/* All sessions must be gone: call cycle_last() before. NULL is fine. */
void shard_destroy(struct shard *sh);

/*
 * All that the shard has, after cycle_settle(), and before the connections,
 * which name its sessions (session_put_name()). SH is new when it is read, and
 * the calling thread's. A session that cannot go on is closed and logged; then
 * those who name it get a failure. E_MALFORMED, E_NOMEM: nothing can be used of
 * what follows for this worker, but cycle_last() works.
 */
void shard_put_state(struct state_out *o, const struct shard *sh);
enum status shard_get_state(struct shard *sh, struct state_in *in) MUST_CHECK;

/* Begin a time slice: shard_is_late() says when it has expired. */
void shard_begin_slice(struct shard *sh);
/* The same, with the limit UNTIL_NS. */
void shard_begin_slice_until(struct shard *sh, uint64_t until_ns);
/* A new cycle of the loop begins. */
static inline void
shard_begin_cycle(struct shard *sh)
{
	sh->slice.cycle_began = 0;
	sh->slice.n_sessions = 0;
	sh->slice.has_waited = false;
}
/* May one more session begin in this cycle? The call counts it. */
bool shard_may_begin_session(struct shard *sh);
/* There is no limit from now on. */
void shard_end_slice(struct shard *sh);
/* There will be no limit any more: the daemon stops. */
void shard_end_slices(struct shard *sh);
/* There are limits, at first and after a stop that did not take place. */
void shard_limit_slices(struct shard *sh);
/* Has the time slice expired? Call it after each unit of work, so that each
 * slice gets something done. */
bool shard_is_late(const struct shard *sh);
/* The same between the parts of one request: all are done when the daemon
 * stops. */
bool shard_part_is_late(const struct shard *sh);
/* The same for short parts: only some of the calls read the clock. */
bool shard_step_is_late(struct shard *sh);
/* This part creates a file and is not short: the next call reads the clock. */
void shard_step_is_long(struct shard *sh);

#endif
