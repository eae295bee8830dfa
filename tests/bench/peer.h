/* SPDX-License-Identifier: MIT */
/*
 * One session of the load: the tracer's side of one control and one data
 * connection, relay protocol 2.11, as a machine that never blocks. Each phase
 * begins when all that the phase before asked is answered (streaming 8.1).
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "tests/bench/feed.h"
#include "tests/bench/load.h"

enum phase {
	PHASE_HELLO,
	PHASE_CREATE,
	PHASE_CHUNK,
	PHASE_STREAMS,
	PHASE_RUN,  /* packets and their indexes */
	PHASE_HOLD, /* all is accepted; connections stay open */
	PHASE_ASK,  /* is data pending? */
	PHASE_WAIT, /* it is: ask again in a while */
	PHASE_CLOSE,
	PHASE_DONE,
};

/* A reply that will come; they come in the order of the requests. */
struct expected {
	uint8_t kind;	 /* of enum relay_cmd */
	uint32_t stream; /* of add_stream */
	uint64_t sent_ns;
};

#define PEER_MINOR 11

struct peer {
	const struct load_options *options;
	struct load_result *result;
	unsigned number;
	enum phase phase;
	int control, data;
	bool control_readable, control_writable, data_writable;
	struct buf in, out; /* of control */

	struct expected *expected; /* ring of n_ring */
	unsigned n_ring, first, n_expected;

	uint64_t session_id;
	uint64_t *handles; /* of the data streams, then of metadata */
	struct feed feed;
	uint64_t indexed;   /* packets whose index was sent */
	uint64_t began_ns;  /* PHASE_RUN */
	uint64_t wake_ns;   /* PHASE_HOLD, PHASE_WAIT */
	uint64_t beacon_ns; /* when the next is due */
	unsigned in_flight; /* indexes that are not answered */
	bool is_pending;    /* an answer of PHASE_ASK */
	unsigned n_waits;   /* times that it was */
};

/* Connects control. Both connections are watched with EPOLL; an event's data is
 * NUMBER * 2, + 1 for the data connection. */
void peer_start(struct peer *p, const struct load_options *o,
    struct load_result *r, unsigned number, int epoll);
/* EVENTS of epoll(7) on one of its two connections. */
void peer_event(struct peer *p, bool is_data, uint32_t events);
/* Do what can be done now; also when time has passed. */
void peer_step(struct peer *p, int epoll);

/* What is in p->in: the replies, as far as they are whole. */
void peer_take_replies(struct peer *p);

#endif
