/* SPDX-License-Identifier: MIT */
/* What the command line of viewgen says, and what a run came to. */
#ifndef TESTS_BENCH_VIEW_H
#define TESTS_BENCH_VIEW_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/bench/histogram.h"
#include "tests/bench/shape.h"

struct view_options {
	struct shape shape; /* the options of loadgen */
	const char *host;
	unsigned live;		  /* the port */
	struct sockaddr_in relay; /* of these */
	unsigned viewers;	  /* number N watches session N % sessions */
	bool is_last;		  /* seek LAST, else BEGINNING */
	unsigned piece;		  /* most bytes of one GET_PACKET; 0: all */
	unsigned pause_ms;	  /* after "nothing new" */
	unsigned stay_ms;	  /* go on asking after the last packet */
	unsigned stall_ms;	  /* stop in the middle of the first packet */
	const uint64_t *sent;	  /* loadgen --sent: when, by packet; or NULL */
	const char *sent_path;
	bool is_json;
};

enum view_time {
	VIEW_CONNECT,
	VIEW_LIST,
	VIEW_CREATE,
	VIEW_ATTACH,
	VIEW_METADATA,
	VIEW_INDEX,   /* answered with a packet, asked at once */
	VIEW_PACKET,  /* one GET_PACKET, whole */
	VIEW_BEGIN,   /* of one viewer: LIST, ATTACH and GET_METADATA */
	VIEW_LATENCY, /* index sent by loadgen until it arrived here */
	VIEW_TIMES,
};

struct view_result {
	uint64_t started_ns, ended_ns;
	uint64_t packets, bytes;
	uint64_t requests, nothing; /* all; answered with nothing new */
	uint64_t stalled_bytes;	    /* of the packet, lay unread meanwhile */
	struct histogram times[VIEW_TIMES]; /* ns */
};

/* Exits with 2 and a message if it is wrong, with 0 after --help. */
void view_options_parse(struct view_options *o, int argc, char **argv);
/* All viewers, from connect to close; every byte is checked. Exits with 1 and
 * a message when the relay gives anything but what loadgen sent. */
void view_run(const struct view_options *o, struct view_result *r);

#endif
