/* SPDX-License-Identifier: MIT */
/*
 * What one ingest worker owns of the model: its sessions with their streams,
 * and lists of those that have work to do before the worker waits again. The
 * shard only keeps the lists: sessions and streams add themselves, turn.c does
 * the work.
 *
 * Everything reachable from a shard is touched by its thread only: endpoints,
 * sessions, streams and turns assert shard_is_mine() where they are entered.
 */
#ifndef RELAYD_RECORD_SHARD_H
#define RELAYD_RECORD_SHARD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "common/idmap.h"
#include "common/ids.h"
#include "common/list.h"
#include "common/publish.h"
#include "common/status.h"
#include "relayd/record/udp_count.h"

/*
 * How long a connection, or the commit at the end of a turn, keeps its worker:
 * then others are served, and the rest is done in a later turn. When a turn has
 * lasted for twice as long, those that are left get only SHARD_SLICE_SHORT_NS:
 * many who ask for much make a turn little longer. A neighbour's request waits
 * for about 5 ms then.
 */
#define SHARD_SLICE_NS (1 * NS_PER_MS)
#define SHARD_SLICE_SHORT_NS (NS_PER_MS / 4)
/* Sessions that begin in one turn; each makes directories, 0.3 ms on a fast
 * disk, and 10 ms for a deep path. The connections of others wait. */
#define SHARD_SESSIONS_A_TURN 1

struct chunk;
struct live_notifier;
struct stats;
struct store;
struct store_config;

struct shard_config {
	unsigned worker;    /* its number in stream handles */
	unsigned n_workers; /* of all; 0: not known */
	bool group_by_session;
	bool allow_clear;
	bool loses_when_full;		/* --on-full */
	uint64_t max_packet_size;	/* with padding, bytes */
	uint64_t max_memory;		/* limit of all workers' packets */
	struct published *memory;	/* in use by packets; borrowed */
	struct published *session_ids;	/* the last one given; borrowed */
	uint16_t data_port;		/* TCP */
	uint16_t udp_port;		/* 0: no UDP */
	struct live_notifier *notifier; /* to the viewers; borrowed, or NULL */
};

struct shard {
	pthread_t owner; /* the thread that may use it */
	struct shard_config config;
	struct store *store;
	struct stats *stats; /* of this worker; of the process */
	struct id_source ids;
	struct idmap streams;  /* handle -> struct stream */
	struct list sessions;  /* struct session, by shard_node */
	struct list siblings;  /* struct siblings */
	unsigned n_windows;    /* how many of these have a window */
	struct list old_roots; /* struct old_root */
	struct list dirty;     /* streams with something to commit */
	struct list locked;    /* streams whose records wait for a lock */
	struct list pending;   /* streams whose metadata waits for space */
	struct list gapped;    /* streams that wait for a missing number */
	struct list ending;    /* sessions whose control connection is gone */
	struct list doomed;    /* chunks being deleted */
	struct list orphans;   /* data connections whose session is gone */
	struct list sealed;    /* files of closed streams, waiting for a lock */
	bool is_stopping;      /* sessions end because the relay does */
	/* figures since the start, for the status line at the end */
	uint64_t gaps, packets_lost, packets_dropped, sessions_created;
	uint64_t records_corrected; /* their size was not the packet's */
	uint64_t packets_without_space;
	uint64_t n_streams;	/* of all sessions */
	uint64_t names_bytes;	/* of all sessions: traces without streams */
	struct list forgetting; /* sessions with old_traces */
	struct list old_traces; /* of sessions that are gone: to be freed */
	uint64_t file_bytes;	/* FILE_WEIGHT of the packets that wait */
	uint64_t last_loss_log, last_full_log;
	uint64_t pending_ns; /* when to try the next of PENDING */
	/* Memory is short: when to look again. */
	uint64_t relief_ns, last_relief_log;
	bool has_slices; /* is there a limit? Without a worker there is none */
	/* ns; 0: the turn did nothing yet; UINT64_MAX: there is no limit */
	uint64_t turn_began, slice_end;
	unsigned n_begun; /* sessions, in this turn */
	unsigned n_steps;
	/* With --sync=packet: the slice of this turn's commit is used up, and
	 * there is no second one. */
	bool has_waited;
	/* The daemon ends: requests that have begun are done, and packets that
	 * were read are taken. */
	bool takes_all;
	struct udp_counts udp;
	uint64_t last_udp_log, last_gap_log, gap_lines;
};

enum status shard_create(struct shard **out, const struct shard_config *config,
    const struct store_config *store_config) MUST_CHECK;
/* From now on the shard belongs to the calling thread; at first it belongs to
 * the one that created it. The previous thread must not use it any more. */
void shard_take_over(struct shard *sh);
static inline bool
shard_is_mine(const struct shard *sh)
{
	return pthread_equal(sh->owner, pthread_self()) != 0;
}

/* All sessions must be gone: call turn_last() before. NULL is fine. */
void shard_destroy(struct shard *sh);

/* From now on shard_is_late() tells when to stop. */
void shard_begin_slice(struct shard *sh);
/* The same, but the limit is UNTIL_NS. */
void shard_begin_slice_until(struct shard *sh, uint64_t until_ns);
/* May one more session begin in this turn? The call counts it. */
bool shard_may_begin_session(struct shard *sh);
/* From now on there is no limit. */
void shard_end_slice(struct shard *sh);
/* There will be no limit any more: the daemon ends. */
void shard_end_slices(struct shard *sh);
/* Is the time over? Who asks has done a part that is worth it: something is
 * done in each slice. */
bool shard_is_late(const struct shard *sh);
/* The same between the parts of one request: at the end all are done. */
bool shard_part_is_late(const struct shard *sh);
/* The same for parts that are short: only some of the calls read the clock. */
bool shard_step_is_late(struct shard *sh);
/* This part is not short, as it makes a file: the next call reads the clock. */
void shard_step_is_long(struct shard *sh);

/* Is more packet memory in use than TIMES the limit? */
static inline bool
shard_is_over(const struct shard *sh, unsigned times)
{
	return published(sh->config.memory) > sh->config.max_memory * times;
}

#endif
