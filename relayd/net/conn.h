/* SPDX-License-Identifier: MIT */
/*
 * A peer's connection: its socket, the bytes of an incomplete message, replies
 * that are not sent yet, and the endpoint that interprets the messages. Decides
 * what a failure of the endpoint means for the connection.
 *
 * A connection belongs to one set at a time (the acceptor's, then a worker's),
 * and only the thread of that set touches it. No function here blocks.
 */
#ifndef RELAYD_NET_CONN_H
#define RELAYD_NET_CONN_H

#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/account.h"
#include "common/buf.h"
#include "common/compiler.h"
#include "common/fds.h"
#include "common/list.h"
#include "common/status.h"
#include "relayd/net/loop.h"
#include "relayd/net/peer_name.h"
#include "relayd/stats/stats.h"

struct control;
struct control_config;
struct ingest;
struct session;
struct shard;
struct sockaddr;
struct state_in;
struct state_out;
struct state_table;

enum conn_kind { CONN_CONTROL, CONN_DATA };

/* Size of the read buffer that all connections of one set share. */
#define CONN_SCRATCH (1024 * 1024)
/* Bytes read from one connection per wake-up (4 ms at 1 GB/s), so that the
 * other connections are served too. */
#define CONN_CYCLE_BYTES (4 * 1024 * 1024)
/* A peer that is silent in the middle of a message for longer is closed. */
#define CONN_STALL_NS (30 * NS_PER_S)
/* Buffer space of a connection that does not count as packet memory. */
#define CONN_UNCOUNTED (64 * 1024)
/* Reply buffers that the connections of one set share: how many, and the bytes
 * of each (a hundred short replies). */
#define CONN_SPARES BUF_SPARES_MAX
#define CONN_SPARE_BYTES 512
/* A peer may take this long to read the last reply and close. */
#define CONN_LAST_WORDS_NS (2 * NS_PER_S)

/* What the connections of one thread share. */
struct conns {
	struct loop *loop;
	struct shard *shard; /* NULL: the acceptor */
	const struct control_config *control_config;
	struct account *memory; /* of packets; borrowed */
	uint8_t *scratch;
	struct buf_spares spares; /* for replies */
	size_t unwritten;	  /* packet bytes read since the last commit */
	uint64_t stall_ns;  /* CONN_STALL_NS, or the user's socket timeout */
	struct list conns;  /* all */
	struct list unsent; /* with replies to send at the end of the cycle */
	/* Not read because memory is short or an earlier message still waits;
	 * retried at the end of each cycle. */
	struct list held;
	/* The acceptor's. */
	uint64_t last_admission_log, last_full_log, last_host_log;
	unsigned n_busy;     /* in mid-message or closing */
	struct event *sweep; /* closes stalled ones, each second */
	bool is_stopping;
	/* On the acceptor: TAKE_C has left it and needs a worker. */
	void (*handover)(struct conn *take_c, void *arg);
	/* A session ended or was refused; TAKE_M has its placement key. */
	void (*session_gone)(struct message *take_m, void *arg);
	void *arg;
};

struct conn {
	struct list node, unsent_node, held_node;
	struct conns *set; /* NULL: between two sets */
	int fd;
	bool has_share; /* holds a descriptor of the share below */
	enum fds_share share;
	enum conn_kind kind;
	struct control *control; /* of a control connection */
	struct ingest *ingest;	 /* of a data connection on a worker */
	struct buf in, out;
	uint64_t charged; /* bytes of IN counted in the memory account */
	struct event read_event;
	bool has_events;
	bool is_closing;	/* sending the last reply, input is ignored */
	bool is_unread;		/* the socket has not taken all replies */
	enum status failure;	/* from conn_read_rest() */
	uint64_t busy_since_ns; /* mid-message or closing; 0: neither */
	/* The SESSION_GONE message of a connection with a session. Allocated
	 * before the session is counted, so that the count can always end. */
	struct message *gone;
	char *peer; /* "address:port" */
	struct peer_host host;
	struct event write_event[]; /* one for a control connection */
};

/* STALL_NS: how long a peer may be silent in mid-message; 0: CONN_STALL_NS. */
enum status conns_init(struct conns *set, struct loop *loop,
    struct shard *shard, const struct control_config *config,
    struct account *memory, uint64_t stall_ns) MUST_CHECK;
/* Closes every connection. */
void conns_destroy(struct conns *set);

/* At the end of a cycle: send replies, commit, resume held connections, close
 * connections if packets use too much memory. */
void conns_end_cycle(struct conns *set);
/* Commit early if many bytes were read, while they are in the CPU's cache. */
void conns_commit_early(struct conns *set);
/* Before an ordered shutdown: read what has arrived on all connections. */
void conns_read_all(struct conns *set);

enum stats_port conn_port(const struct conn *c);
/* Takes FD (non-blocking). NULL: out of memory, FD is closed. */
struct conn *conn_create(
    int take_fd, enum conn_kind kind, const struct sockaddr *address);
/* Add C to SET and serve the bytes that it has read. C may be destroyed
 * on return. */
void conn_attach(struct conn *c, struct conns *set);
/* C's descriptor counts in share S, and no longer in its previous share. */
void conn_set_share(struct conn *c, enum fds_share s);
/* ABORTED: because of an error. C may be NULL. */
void conn_destroy(struct conn *c, bool aborted);

/*
 * A restart (common/state.h). put: all connections, after the sessions of their
 * shard. get: those of SET, whose loop does not run yet; CAME is called for
 * each. One that cannot be restored is closed, and logged. E_MALFORMED: the
 * rest cannot be read.
 */
void conns_put_state(struct state_out *o, const struct conns *set);
enum status conns_get_state(struct conns *set, struct state_in *in,
    void (*came)(struct conn *c, void *arg), void *arg) MUST_CHECK;
unsigned conns_count(const struct conns *set);
extern const struct state_table placement_key_state;
/* S, whose control connection is gone, gives TAKE_GONE to SET's session_gone
 * when it is destroyed. */
void conns_on_session_gone(
    struct conns *set, struct session *s, struct message *take_gone);

/* On the acceptor: the worker that the first packet header names. False: the
 * header is incomplete. */
bool conn_first_worker(const struct conn *c, unsigned *worker);

#endif
