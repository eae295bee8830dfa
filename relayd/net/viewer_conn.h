/* SPDX-License-Identifier: MIT */
/*
 * A viewer's connection: requests are served one after the other. A reply is
 * sent in one call, a large packet after it by sendfile(2). A viewer that does
 * not read has at most one unread reply, and is closed when it makes no
 * progress, or earlier when all unread replies use too much memory. From
 * viewer_conn_attach() on it belongs to one live worker.
 */
#ifndef RELAYD_NET_VIEWER_CONN_H
#define RELAYD_NET_VIEWER_CONN_H

#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/account.h"
#include "common/buf.h"
#include "common/list.h"
#include "relayd/live/viewer.h"

struct loop;
struct live_notifier;
struct sockaddr;
struct state_in;
struct state_out;
struct viewers;

/* A packet up to this size is copied after its header, for one send. */
#define VIEWER_COPY_MAX (64 * 1024)
/* The time of one viewer's requests in one cycle; then others are served. More
 * than one request is rare, as viewers wait for each reply. */
#define VIEWER_CYCLE_NS (1 * NS_PER_MS)
/* Bytes that one viewer is sent before others are served: a viewer that reads
 * as fast as we send could take a packet of gigabytes, or ask for replies with
 * thousands of streams again and again. */
#define VIEWER_CYCLE_BYTES (4 * 1024 * 1024)
/* Memory of replies that the viewers of one live worker have not read; and the
 * part of --max-memory that all live workers share, if that is less. Above it,
 * viewers that read nothing are closed. One reply has LIVE_LIST_PIECE,
 * VIEWER_COPY_MAX or OPEN_KEPT_MAX bytes at most, and 8 of each stream or
 * session that it lists. */
#define VIEWER_UNSENT_MAX (64 * 1024 * 1024)
#define VIEWER_UNSENT_PART 4
/* A viewer is closed when it has read nothing of a reply, or sent no more of a
 * request, for this long. */
#define VIEWER_STALL_NS (30 * NS_PER_S)

/* What the viewers of one live worker share. */
struct viewer_conns {
	struct loop *loop;
	struct viewers *viewers;
	struct list conns;
	struct list held;  /* with a reply that waits for something new */
	uint64_t stall_ns; /* VIEWER_STALL_NS, or the user's socket timeout */
	unsigned n_busy;   /* that have to make progress, or are closed */
	struct account unsent; /* memory of these replies */
};

struct viewer_conn {
	struct list node, held_node;
	struct viewer_conns *set;
	int fd;
	char *peer;
	struct viewer *viewer;
	struct event read_event, write_event;
	bool has_events;
	/* One request, and whether another one follows. */
	uint8_t in[LIVE_HEADER_LEN + LIVE_PAYLOAD_MAX + 1];
	unsigned n_in;
	struct buf out;
	struct live_list list;	/* what it lists, encoded when OUT was sent */
	struct open_file *file; /* sent after OUT */
	uint64_t offset, length;
	bool is_sending, is_busy;
	size_t unsent;	       /* counted in set->unsent */
	struct account *conns; /* counts connections */
	bool is_last;	       /* close it when the reply is sent */
	uint64_t progress_ns;  /* last, of a reply or of a request */
	/* held */
	bool is_held;
	struct live_request request;
	struct live_how how;
	struct live_held what;
};

/* STALL_NS: how long a viewer may make no progress; 0: VIEWER_STALL_NS. The
 * caller may lower the limit of UNSENT afterwards. */
void viewer_conns_init(struct viewer_conns *set, struct loop *loop,
    struct viewers *viewers, uint64_t stall_ns);
void viewer_conns_destroy(struct viewer_conns *set); /* closes all */
/* SOURCE has something new: serve the requests that wait for it. NULL: serve
 * all held requests. */
void viewer_conns_wake(struct viewer_conns *set, const void *source);
/* After viewers_take_event(): the held requests of viewers with new events are
 * served again. Those of viewers of an ended session are answered now, unless
 * they are held because they are early; those that are early are served in any
 * case, as they may have waited for another session. */
void viewer_conns_serve_events(struct viewer_conns *set);
/* Serve held requests that reached their limit, and close stalled viewers.
 * Returns when to call it again, ns. */
uint64_t viewer_conns_tick(struct viewer_conns *set, uint64_t now_ns);

/* Takes FD (non-blocking), which counts in CONNS; NULL: out of memory, FD is
 * closed. Any thread. */
struct viewer_conn *viewer_conn_create(
    int take_fd, const struct sockaddr *address, struct account *conns);
void viewer_conn_attach(struct viewer_conn *c, struct viewer_conns *set);
void viewer_conn_destroy(struct viewer_conn *c); /* NULL is fine */

/* For a restart: all connections of SET, with their viewers, while no thread
 * runs its loop. A connection that cannot be read is closed, with a line in the
 * log. *TAKEN, *CLOSED: the numbers are added. See viewer_get_state().
 * E_MALFORMED: the rest cannot be read. */
void viewer_conns_put_state(struct state_out *o, struct viewer_conns *set);
enum status viewer_conns_get_state(struct viewer_conns *set,
    struct state_in *in, struct account *conns,
    const struct live_notifier *notifier, unsigned *taken,
    unsigned *closed) MUST_CHECK;
/* The set's thread begins, at first or again: serve what was held or read. */
void viewer_conns_begin(struct viewer_conns *set);

#endif
