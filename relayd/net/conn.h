/* SPDX-License-Identifier: MIT */
/*
 * A connection: a socket, bytes that are no whole message yet, replies that the
 * socket has not taken, and the endpoint that understands them. This is the
 * edge: here it is decided what an endpoint's failure means for the connection.
 *
 * A connection is on one desk at a time (the acceptor's, then a worker's), and
 * only the desk's thread touches it. No function here blocks.
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
#include "relayd/net/peer_name.h"

struct control;
struct control_config;
struct ingest;
struct shard;
struct sockaddr;

enum conn_kind { CONN_CONTROL, CONN_DATA };

/* One read takes at most this much; shared by all connections of a desk. */
#define CONN_SCRATCH (1024 * 1024)
/* In one wake-up a connection is served for at most this many bytes (4 ms at 1
 * GB/s); then the others are served. */
#define CONN_TURN_BYTES (4 * 1024 * 1024)
/* How long a peer may be silent in the middle of a message. */
#define CONN_STALL_NS (30 * NS_PER_S)
/* Bytes of buffers that a connection may have without being counted as packet
 * memory. */
#define CONN_UNCOUNTED (64 * 1024)
#define DESK_SWEEP_NS (1 * NS_PER_S)
/* Memory for replies that connections lend each other: how many connections may
 * use it in one turn of the loop, and the bytes for each, a hundred short
 * replies. */
#define DESK_SPARES BUF_SPARES_MAX
#define DESK_SPARE_BYTES 512
/* After a last reply the peer has this long to read it and close. */
#define CONN_LAST_WORDS_NS (2 * NS_PER_S)

/* What the connections of one thread share. */
struct desk {
	struct loop *loop;
	struct shard *shard; /* NULL: the acceptor */
	const struct control_config *control_config;
	struct published *memory; /* the account; borrowed */
	uint8_t *scratch;
	struct buf_spares spares; /* for replies */
	size_t unwritten;   /* bytes of packets read since the last commit */
	uint64_t stall_ns;  /* CONN_STALL_NS, or the user's socket timeout */
	struct list conns;  /* all */
	struct list unsent; /* with replies to send at the end of the turn */
	/* Not read, as memory is short, or as what is here comes first: tried
	 * again at the end of each turn. */
	struct list held;
	/* The acceptor's. */
	uint64_t last_admission_log, last_full_log, last_host_log;
	unsigned n_busy; /* in mid-message or closing: desk_sweep() */
	bool is_stopping;
	/* The acceptor's: a request of TAKE_C is for a worker. TAKE_C is on no
	 * desk. */
	void (*handover)(struct conn *take_c, void *arg);
	/* A session is gone, or was refused; TAKE_M has the key that it was
	 * placed with. */
	void (*session_gone)(struct message *take_m, void *arg);
	void *arg;
};

struct conn {
	struct list node, unsent_node, held_node;
	struct desk *desk; /* NULL: between two desks */
	int fd;
	bool has_share; /* of descriptors; given back with the connection */
	enum fds_share share;
	enum conn_kind kind;
	struct control *control; /* of a control connection */
	struct ingest *ingest;	 /* of a data connection on a worker */
	struct buf in, out;
	uint64_t charged; /* bytes of IN in the memory account */
	struct event read_event;
	bool has_events;
	bool is_closing;	/* a last reply is sent, input is ignored */
	bool is_unread;		/* the socket has not taken all replies */
	enum status failure;	/* found by conn_read_ahead() */
	uint64_t busy_since_ns; /* mid-message or closing; 0: neither */
	/* Of a connection with a session: the message that it is gone, with its
	 * key. It is made before the session is counted, as a count that it
	 * could not end would stay for ever. */
	struct message *gone;
	char *peer; /* "address:port" */
	struct peer_host host;
	struct event write_event[]; /* one, of a control connection */
};

/* STALL_NS: how long a peer may stop in mid-message; 0: CONN_STALL_NS. */
enum status desk_init(struct desk *d, struct loop *loop, struct shard *shard,
    const struct control_config *config, struct published *memory,
    uint64_t stall_ns) MUST_CHECK;
/* Closes every connection in order. */
void desk_destroy(struct desk *d);

/* At the end of a turn: commit, send replies, read held connections again,
 * close those that must be closed. */
void desk_turn_end(struct desk *d);
/* Commit before the end of the turn if much was read: while the CPU has it. */
void desk_commit_early(struct desk *d);
/* Close stalled connections. Every DESK_SWEEP_NS while n_busy > 0. */
void desk_sweep(struct desk *d, uint64_t now_ns);
/* Read what has arrived on all connections, before an ordered shutdown. */
void desk_read_all(struct desk *d);

/* Takes FD (non-blocking). NULL: out of memory, FD is closed. */
struct conn *conn_create(
    int take_fd, enum conn_kind kind, const struct sockaddr *address);
/* Put C on the desk D and serve the bytes that it brought. C may be gone on
 * return. */
void conn_attach(struct conn *c, struct desk *d);
/* The descriptor was taken from the share S. A share that C had before is given
 * back. */
void conn_set_share(struct conn *c, enum fds_share s);
/* ABORTED: by an error. NULL is fine. */
void conn_destroy(struct conn *c, bool aborted);

/* In the acceptor: the worker that the first packet header names; false: the
 * header is not whole. */
bool conn_first_worker(const struct conn *c, unsigned *worker);

#endif
