/* SPDX-License-Identifier: MIT */
/*
 * The sessions of one tracing session: kernel, 64-bit and 32-bit user space,
 * each with its own control connection, all with the same (peer UUID, peer
 * session id). They share trace chunks and the directory (streaming 5.5), so
 * they live on one worker. A session of a peer before 2.11 has no siblings.
 */
#ifndef RELAYD_RECORD_SIBLINGS_H
#define RELAYD_RECORD_SIBLINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/list.h"
#include "common/status.h"
#include "proto/relay.h"

struct chunk;
struct session;
struct stream_window;
struct shard;

struct siblings {
	struct list node; /* shard->siblings */
	unsigned refs;	  /* sessions, and chunks that still exist */
	struct shard *shard;
	bool is_single; /* before 2.11: no other may join */
	struct relay_uuid uuid;
	uint64_t peer_session;
	struct list sessions;	      /* struct session, by siblings_node */
	struct list chunks;	      /* struct chunk, by node */
	struct stream_window *window; /* --live-window; NULL: none */
};

/* Find or create the siblings of a new session; one reference. */
enum status siblings_join(struct siblings **out, struct shard *sh,
    const struct relay_create_session *c) MUST_CHECK;
void siblings_leave(struct siblings *s); /* NULL is fine */

/* Their chunk with that id, even while it is being deleted; NULL: none. */
struct chunk *siblings_chunk(const struct siblings *s, uint64_t id);

/* Bytes of memory that their chunks keep for closed streams. */
uint64_t siblings_names_bytes(const struct siblings *s);

/* A reference to C, for a session. */
struct chunk *siblings_take(struct chunk *c);
/* C, whose last reference is gone, needs no deletion any more: free it. */
void siblings_finish_chunk(struct chunk *take_c);
/* Drop kept chunks: those before the id NEXT; all if no session is alive. */
void siblings_let_go(struct siblings *s, uint64_t next);

#endif
