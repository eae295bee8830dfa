/* SPDX-License-Identifier: MIT */
/*
 * The data port's endpoint: bytes in, packets to streams. No sockets: the
 * caller asks where the next bytes should go, so that a large packet is read
 * from the socket straight into its memory. The peer is never answered.
 *
 * Bound to the session of the first stream it names; a packet for another
 * session's stream ends the connection (streaming 9.13).
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

struct ingest {
	struct session_input input; /* in its session's list */
	struct shard *shard;
	struct session *session; /* NULL: not bound yet, or gone */
	bool is_orphan;		 /* its session is gone: to be closed */
	char *peer;		 /* for logs; borrowed */
	struct conn *conn;	 /* whose endpoint this is; borrowed */
	uint8_t header[DATA_HEADER_LEN];
	uint32_t n_header;
	struct data_header h;  /* of the packet at hand */
	struct packet *packet; /* NULL: between packets */
	uint32_t last_size;    /* of the packet before */
};

enum status ingest_create(struct ingest **out, struct shard *sh, char *peer,
    struct conn *conn) MUST_CHECK;
/* The connection is gone: what was only begun is dropped. NULL is fine. */
void ingest_destroy(struct ingest *in);

/* Where the next bytes of the packet at hand go; 0: between packets (or no
 * memory: use ingest_input()). */
size_t ingest_room(struct ingest *in, uint8_t **at);
/* N bytes were put there. */
enum status ingest_filled(struct ingest *in, size_t n) MUST_CHECK;

/*
 * N bytes at P, in order. *USED may be less than N when the session has too
 * much waiting (ingest_is_held()): offer the rest again later.
 */
enum status ingest_input(
    struct ingest *in, const uint8_t *p, size_t n, size_t *used) MUST_CHECK;

/* Between packets, and the session, or the whole relay, has enough. */
bool ingest_is_held(const struct ingest *in);
/* One that the worker is to close, its session being gone; NULL: none. */
struct ingest *ingest_orphan(const struct shard *sh);
/* Inside a header or a packet? */
bool ingest_is_mid_message(const struct ingest *in);

#endif
