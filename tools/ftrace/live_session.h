/* SPDX-License-Identifier: MIT */
/*
 * The relay's session of a recorder that is live: streams, metadata and packets
 * go to it in order. If the relay is not there, or no longer, another session
 * is tried after a pause; what waits stays. Part of live.c; the loop's thread.
 */
#ifndef TOOLS_FTRACE_LIVE_SESSION_H
#define TOOLS_FTRACE_LIVE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/list.h"
#include "tools/client/client.h"
#include "tools/client/retry.h"
#include "tools/ftrace/kernel_stream.h"
#include "tools/ftrace/live.h"
#include "tools/ftrace/live_offset.h"

#define SESSION_NAME_LEN 64

struct event;

struct live_cpu {
	struct live *live;
	struct kernel_stream *ctf; /* NULL: no page has come */
	bool is_added;		   /* to the client, with this number */
	unsigned number;
	uint64_t taken; /* acknowledged packets */
};

/* A packet that waits, or was sent and not acknowledged. */
struct item {
	struct list node;
	struct live_cpu *cpu;
	uint32_t n_events;
	struct client_packet packet;
};

struct live {
	struct live_options *config;
	struct event_base *base;
	const char *peer;
	uint32_t page_size, n_cpus;
	struct live_cpu *cpus;
	uint8_t *buffer; /* shared by all streams: each is flushed at once */
	struct dat *dat;
	struct kernel_settings settings;
	struct kernel_trace *trace; /* its metadata is consumed */
	struct live_clock clock;
	struct live_hold hold;
	uint64_t tick_ns; /* when beacons are due; 0: no page has come */
	bool has_begun;	  /* everything is sent from here on */
	bool has_ended;	  /* nothing more comes */
	struct live_offset offset;
	struct kernel_counts logged;
	uint64_t logged_ns;
	bool is_end_logged;

	/* The session of the relay. */
	char name[SESSION_NAME_LEN], host[DAT_NAME_MAX];
	struct client *client;
	struct event *timer, *sockets[CLIENT_POLLFDS];
	uint32_t n_streams, n_added; /* CPUs with pages, known to the client */
	bool has_unannounced;	     /* streams not announced to viewers */
	bool is_metadata_added;
	size_t metadata_sent; /* bytes */
	unsigned metadata_number;
	struct retry retry;
	uint64_t try_ns; /* without a client: when to try again */
	bool was_open, is_shown;
	struct list queue, sent; /* the client has the packets of SENT */
	uint64_t bytes;		 /* of the queue */
	uint64_t taken_events, taken_packets; /* acknowledged */
	uint64_t left;	 /* events not acknowledged at the end */
	uint64_t gone;	 /* events lost since the relay failed */
	uint64_t end_ns; /* time of live_end() */
	bool is_done, has_failed;
};

/* The memory of a packet of SIZE bytes. */
uint64_t live_item_memory(uint32_t size);
/* Opens the first session. */
void live_session_begin(struct live *l);
/* Sends what can be sent now, and watches the sockets or waits. */
void live_session_work(struct live *l);
/* Loses all that the relay has not acknowledged. */
void live_session_drop(struct live *l);

#endif
