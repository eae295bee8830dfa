/* SPDX-License-Identifier: MIT */
/*
 * The state of the relay as the HTTP thread knows it without asking a thread:
 * numbers that threads publish, options, and figures of the system about the
 * process and its disk. HTTP thread only.
 */
#ifndef RELAYD_HTTP_VIEW_H
#define RELAYD_HTTP_VIEW_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "relayd/net/threads.h"
#include "relayd/stats/stats.h"
#include "relayd/stats/stored_info.h"

/* As long as the graphs on the status page. */
#define HISTORY_S 300

/* The metrics with a rate. */
enum view_rate {
	RATE_received_bytes,
	RATE_received_packets,
	RATE_written_bytes,
	RATE_sent_bytes,
	RATE_lost_packets,
	RATES
};

struct history {
	/* Per second, rounded up, so that a small rate is not 0. */
	uint64_t ring[HISTORY_S][RATES];
	uint64_t total; /* seconds */
};

/* How many of them are remembered. */
static inline unsigned
history_count(const struct history *h)
{
	return h->total < HISTORY_S ? (unsigned)h->total : HISTORY_S;
}

void history_add(struct history *h, const double rates[RATES]);
/* The I-th, counted from the oldest. */
uint64_t history_at(const struct history *h, unsigned i, enum view_rate rate);

/* A thread whose loop has not waited for this long is stuck. */
#define VIEW_STUCK_NS (5 * NS_PER_S)
/* The disk is full when it has less free space than this. */
#define VIEW_DISK_FULL (UINT64_C(1) << 20)
/* How often the disk is queried, and the time that rates are measured over. */
#define VIEW_DISK_NS (5 * NS_PER_S)
#define VIEW_RATE_S 5

struct account;
struct options;

enum view_phase { VIEW_STARTING, VIEW_SERVING, VIEW_DRAINING };

extern const char *const view_rate_names[RATES];

struct view {
	const struct options *options;
	/* Empty while draining: they are about to be freed. */
	struct threads threads;
	const struct account *memory;
	uint16_t control, data, live, http; /* ports, host order */
	unsigned own_descriptors;
	unsigned session_descriptors; /* that one session may use */
	enum view_phase phase;
	uint64_t started_s, started_ns;
	int statm_fd; /* /proc/self/statm; -1: not available */
	/* The disk, when it was last queried. */
	bool has_disk;
	bool asked_full; /* a worker had no space at that time */
	uint64_t disk_free, disk_total, disk_asked_ns;
	/* One sample per second, the newest last. */
	struct {
		uint64_t ns, n[RATES];
	} samples[VIEW_RATE_S + 1];
	unsigned n_samples;
	double rates[RATES]; /* per second */
	struct history history;
	char hostname[HOST_NAME_MAX + 1];
	/* What is stored, as the retention thread last answered. */
	bool has_stored;
	struct stored_figures stored;
	char *oldest_path; /* of what has ended; NULL: none */
	uint64_t oldest_ended_ns, oldest_bytes;
	const char *admin_path; /* borrowed; "": none */
};

void view_open(struct view *v, const struct options *o);
void view_close(struct view *v);
/* Once a second. */
void view_tick(struct view *v);

/* What is counted since the start, and some gauges: a metric, and a member of
 * "totals" of the same name. */
struct total {
	const char *metric, *help;
	bool is_gauge;
	struct {
		const char *name, *value;
	} labels[2]; /* of which some are NULL */
	uint64_t n;
};
/* Call EACH for all; those of one metric and label follow each other. */
void view_totals(void (*each)(void *arg, const struct total *t), void *arg);

/* In how many seconds the disk is full at the rate of the last minutes. False:
 * nothing is written, or it is not known. */
bool view_full_in(const struct view *v, uint64_t *seconds);

uint64_t view_resident(const struct view *v); /* bytes */
double view_cpu_seconds(void);
uint64_t view_descriptors(const struct view *v);
uint64_t view_memory(const struct view *v); /* of packets, bytes */

/* Is no thread stuck? */
bool view_is_healthy(const struct view *v);
/* Is the disk full, or did a worker just fail to get space? */
bool view_is_disk_full(const struct view *v);

/* Is the relay ready for new sessions? */
struct view_state {
	const char *reason; /* why not, in a few words; NULL: it is */
	const char *name;   /* "ready", "losing", "starting", ... */
	const char *text;   /* a sentence */
};
const struct view_state *view_state(const struct view *v);

#endif
