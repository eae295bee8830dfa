/* SPDX-License-Identifier: MIT */
/*
 * A connection: a socket, bytes that are no whole message yet, replies that
 * the socket has not taken, and the endpoint that understands them. The edge:
 * what an endpoint's failure means for the connection is decided here.
 *
 * A connection hangs on one desk at a time (the lobby's, then a worker's) and
 * is touched by its thread only. Nothing here ever blocks.
 */
#ifndef RELAYD_NET_CONN_H
#define RELAYD_NET_CONN_H

#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/fds.h"
#include "common/list.h"
#include "common/status.h"
#include "relayd/net/loop.h"

struct control;
struct control_config;
struct ingest;
struct shard;
struct sockaddr;

enum conn_kind { CONN_CONTROL, CONN_DATA };

/* One read takes at most this much; shared by all connections of a desk. */
#define CONN_SCRATCH (1024 * 1024)
/* A wake-up serves one connection for at most this many bytes, then the
 * others: at 1 GB/s, 4 ms. */
#define CONN_TURN_BYTES (4 * 1024 * 1024)
/* Replies that wait for a peer that does not read; then its requests wait. */
#define CONN_OUT_MAX (256 * 1024)
/* A peer that stops in the middle of a message. */
#define CONN_STALL_NS (30 * NS_PER_S)
#define DESK_SWEEP_NS (1 * NS_PER_S)
/* Memory for replies that connections lend each other: for so many in a turn of
 * the loop, a hundred short replies each. */
#define DESK_SPARES BUF_SPARES_MAX
#define DESK_SPARE_BYTES 512
/* After a last reply the peer has this long to read it and close. */
#define CONN_LAST_WORDS_NS (2 * NS_PER_S)

/* What the connections of one thread share. */
struct desk {
	struct loop *loop;
	struct shard *shard; /* NULL: the lobby */
	const struct control_config *control_config;
	struct published *memory; /* the account; borrowed */
	uint8_t *scratch;
	struct buf_spares spares; /* for replies */
	uint64_t stall_ns;  /* CONN_STALL_NS, or the user's socket timeout */
	struct list conns;  /* all */
	struct list unsent; /* with replies to send at the end of the turn */
	struct list held;   /* not read for want of memory */
	uint64_t last_crowd_log, last_full_log; /* the lobby's */
	unsigned n_busy; /* in mid-message, or closing: need the sweep */
	bool is_stopping;
	/* The lobby's: a request is for a worker. TAKE_C is detached. */
	void (*handover)(struct conn *take_c, void *arg);
	/* The session that was placed with KEY is gone, or was refused. */
	void (*session_gone)(const struct placement_key *key, void *arg);
	void *arg;
};

struct conn {
	struct list node, unsent_node, held_node;
	struct desk *desk; /* NULL: on its way */
	int fd;
	bool has_share; /* of descriptors; given back with the connection */
	enum fds_share share;
	enum conn_kind kind;
	struct control *control; /* by kind; the data port's comes with the */
	struct ingest *ingest;	 /* worker */
	struct buf in, out;
	uint64_t charged; /* bytes of IN in the memory account */
	struct event read_event, write_event;
	bool has_events;
	bool is_closing;	/* a last reply, then nothing is understood */
	enum status failure;	/* found outside its own event */
	uint64_t busy_since_ns; /* mid-message or closing; 0: neither */
	bool has_key;
	struct placement_key key; /* of its session */
	char *peer;		  /* "address:port" */
};

/* STALL_NS: how long a peer may stop in mid-message; 0: CONN_STALL_NS. */
enum status desk_init(struct desk *d, struct loop *loop, struct shard *shard,
    const struct control_config *config, struct published *memory,
    uint64_t stall_ns) MUST_CHECK;
/* Closes every connection in order. */
void desk_destroy(struct desk *d);

/* At the end of a turn: send replies, resume, close what is to be closed. */
void desk_turn_end(struct desk *d);
/* Close stalled connections. Every DESK_SWEEP_NS while n_busy > 0. */
void desk_sweep(struct desk *d, uint64_t now_ns);
/* Read what has arrived on all connections, before an ordered shutdown. */
void desk_read_all(struct desk *d);

/* Takes FD (non-blocking). NULL: no memory, FD is closed. */
struct conn *conn_create(
    int take_fd, enum conn_kind kind, const struct sockaddr *address);
/* Hang it on the desk and serve what it brought. It may be gone on return. */
void conn_attach(struct conn *c, struct desk *d);
/* The descriptor was taken from that share; what was taken before goes back. */
void conn_set_share(struct conn *c, enum fds_share s);
/* ABORTED: by an error. NULL is fine. */
void conn_destroy(struct conn *c, bool aborted);

/* In the lobby: the first packet header is here, and names this worker. */
bool conn_first_worker(const struct conn *c, unsigned *worker);

#endif
