/* SPDX-License-Identifier: MIT */
/* What the command line of loadgen says, and what a run came to. */
#ifndef TESTS_BENCH_LOAD_H
#define TESTS_BENCH_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/bench/histogram.h"
#include "tests/bench/shape.h"
#include "tools/client/packet.h"
#include "tools/client/url.h"

struct load_options {
	struct shape shape;
	const char *host;
	unsigned control, data; /* ports; 0: not given */
	unsigned raw;		/* no control: to a plain sink */
	struct url url;		/* of these */
	bool is_udp;		/* packets as datagrams, resent when lost */
	uint32_t fragment;	/* bytes of a datagram; 0: default */
	unsigned outstanding;	/* indexes sent, not answered */
	unsigned beacon_ms;	/* 0: not live */
	uint64_t rate;		/* packets/s of a session; 0: free */
	unsigned hold_ms;	/* wait before the end, connections open */
	/* Session 0's packets in the order of its data connection: when their
	 * index was sent, clock_now_ns(); 0: not yet. NULL: not wanted. */
	uint64_t *sent;
	const char *sent_path; /* the file that SENT is mapped from */
	bool is_asking;	       /* session 0 asks DATA_PENDING while it holds */
	bool is_json;
	const char *verify; /* the relay's output directory, or NULL */
};

struct load_result {
	uint64_t started_ns, ended_ns;
	uint64_t packets, bytes; /* bytes of packets, without headers */
	uint64_t beacons;
	uint64_t datagrams, resent;   /* with UDP only */
	struct histogram index_reply; /* ns from SEND_INDEX to its reply */
};

/* Exits with 2 and a message if it is wrong, with 0 after --help. */
void load_options_parse(struct load_options *o, int argc, char **argv);

/* All sessions, from connect to close. Exits with 1 and a message when the
 * relay does anything but what the protocol wants. */
void load_run(const struct load_options *o, struct load_result *r);
/* The bytes of session 0's data connection, to a sink; until it has closed. */
void load_run_raw(const struct load_options *o, struct load_result *r);
/* As it is sent, but for the stream's handle. Borrows bytes that stay. */
struct client_packet load_packet(
    const struct shape *s, const struct packet_id *id);
/* Does the tree hold exactly the load? Says on stderr what is wrong. */
bool load_verify(const struct load_options *o);

#endif
