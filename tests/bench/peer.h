/* SPDX-License-Identifier: MIT */
/*
 * One session of the load: a client (tools/client/client.h) that is given the
 * packets of the shape, never more at a time than may be outstanding.
 */
#ifndef TESTS_BENCH_PEER_H
#define TESTS_BENCH_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/bench/load.h"
#include "tools/client/client.h"

enum phase {
	PHASE_OPEN,
	PHASE_STREAMS,
	PHASE_RUN,  /* packets and their indexes */
	PHASE_HOLD, /* all is accepted; connections stay open */
	PHASE_FINISH,
	PHASE_DONE,
};

struct peer {
	const struct load_options *options;
	struct load_result *result;
	unsigned number;
	int epoll;
	enum phase phase;
	short control, data; /* events that the client does not know yet */
	struct client *client;
	struct client_watch watch;
	char name[SHAPE_NAME_MAX];

	unsigned added;	    /* streams, metadata's last */
	uint64_t given;	    /* packets */
	uint64_t began_ns;  /* PHASE_RUN */
	uint64_t wake_ns;   /* PHASE_HOLD */
	uint64_t beacon_ns; /* when the next beacons are due */
	unsigned beacon;    /* the stream of the next one now due */
};

/* Begins to connect. Both connections are watched with EPOLL; an event's data
 * is NUMBER * 2, + 1 for the data connection. P stays where it is. */
void peer_start(struct peer *p, const struct load_options *o,
    struct load_result *r, unsigned number, int epoll);
/* EVENTS of epoll(7) on one of its two connections; then step. */
void peer_event(struct peer *p, bool is_data, short events);
/* Do what can be done now; also when time has passed. */
void peer_step(struct peer *p);

#endif
