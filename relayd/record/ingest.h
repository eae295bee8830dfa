/* SPDX-License-Identifier: MIT */
/*
 * The endpoint of the data port: it takes bytes and gives packets to streams.
 * It has no socket. The caller asks where to put the next bytes, so that a
 * large packet is read from the socket directly into its memory. The peer gets
 * no replies.
 *
 * A connection is bound to the session of the first stream that it names. A
 * packet for a stream of another session ends the connection (streaming 9.13).
 */
#ifndef RELAYD_RECORD_INGEST_H
#define RELAYD_RECORD_INGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "proto/data.h"
#include "relayd/record/session.h"

struct conn;
struct packet;
struct shard;
struct state_in;
struct state_out;

struct ingest {
	struct session_input input; /* in its session's inputs */
	struct shard *shard;
	struct session *session; /* NULL: not bound yet, or gone */
	char *peer;		 /* for logs; borrowed */
	struct conn *conn;	 /* whose endpoint this is; borrowed */
	uint8_t header[DATA_HEADER_LEN];
	uint32_t n_header;
	struct data_header h;  /* of the current packet */
	struct packet *packet; /* NULL: between packets */
	uint32_t last_size;    /* size of the previous packet */
	bool is_orphan;	       /* its session is gone: close it */
};

enum status ingest_create(struct ingest **out, struct shard *sh, char *peer,
    struct conn *conn) MUST_CHECK;
/* The connection is gone: a packet that is not whole is dropped. NULL is
 * fine. */
void ingest_destroy(struct ingest *in);

/* A restart (common/state.h), after the sessions of its shard. */
void ingest_put_state(struct state_out *o, const struct ingest *in);
enum status ingest_get_state(struct ingest **out, struct state_in *from,
    struct shard *sh, char *peer, struct conn *conn) MUST_CHECK;

/* Where to put the next bytes of the current packet, and how many. 0: there is
 * no current packet, or memory is short: use ingest_input(). */
size_t ingest_space(struct ingest *in, uint8_t **at);
/* N bytes were put where ingest_space() said. */
enum status ingest_filled(struct ingest *in, size_t n) MUST_CHECK;

/* Take the N bytes at P, which follow the previous ones. *USED may be less than
 * N if too many packets of the session wait (ingest_is_held()): pass the rest
 * again later. */
enum status ingest_input(
    struct ingest *in, const uint8_t *p, size_t n, size_t *used) MUST_CHECK;

/* How many bytes to read at once, in addition to the current packet. */
size_t ingest_read_max(const struct ingest *in);
/* Must the connection not be read because its session or the relay holds too
 * much? In the middle of a message only if the relay holds more than twice as
 * much as it may; never if the shard takes all. */
bool ingest_is_held(const struct ingest *in);
/* A connection that the worker must close because its session is gone; NULL:
 * none. */
struct ingest *ingest_orphan(const struct shard *sh);
/* Inside a header or a packet? */
bool ingest_is_mid_message(const struct ingest *in);
/* Memory of a packet that is not whole yet. */
uint64_t ingest_begun(const struct ingest *in);

#endif
