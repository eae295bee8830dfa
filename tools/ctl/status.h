/* SPDX-License-Identifier: MIT */
/* The state of the relay: /api/v1/status. Main thread. */
#ifndef TOOLS_CTL_STATUS_H
#define TOOLS_CTL_STATUS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ctl/answer.h"
#include "tools/ctl/ctl.h"

#define STATUS_CAUSES_MAX 256

struct relay_status {
	json_t *answer; /* owns the texts below */
	const char *version, *hostname, *output;
	const char *admin_socket; /* path; empty: there is none */
	bool is_ready, is_healthy;
	char reasons[256]; /* why it is not ready */
	unsigned threads, busy_threads;
	uint64_t started, uptime; /* seconds */
	uint64_t sessions, streams, viewers;
	uint64_t received_bytes, received_packets, written_bytes, sent_bytes,
	    lost_packets;
	json_int_t
	    cut_sessions; /* when the relay last ended; 0 or less: none */
	const json_t *lost_by_cause;
	/* Per second. */
	double received_rate, packet_rate, written_rate, sent_rate, lost_rate;
	uint64_t disk_free, disk_total; /* bytes; total 0: not known */
	double full_in;	 /* seconds, at this rate; below 0: not soon */
	uint64_t stored; /* bytes of traces; 0: not known */
	const json_t *stored_limits;
	uint64_t memory, memory_limit, resident; /* bytes */
	uint64_t descriptors, descriptors_limit;
	const json_t *listeners;
};

/* Fails as fetch_json() does, with fetch_error(). */
enum status status_load(struct ctl *c, struct relay_status *s) MUST_CHECK;
void status_free(struct relay_status *s);

/* Free space of the disk; below 0: not known. */
double status_disk_percent(const struct relay_status *s);

/* Print a line with the limits of stored traces, if there are any. */
void status_print_limits(const struct ctl *c, const json_t *limits);

/* "gap 3, write 1"; BY_CAUSE may be NULL. It is not escaped. */
void status_causes(char out[STATUS_CAUSES_MAX], const json_t *by_cause);

#endif
