/* SPDX-License-Identifier: MIT */
/*
 * The sessions of one tracing session: kernel, 64-bit and 32-bit user space,
 * each with its own control connection, all with the same (peer UUID, peer
 * session id). They share trace chunks and the directory (streaming 5.5), so
 * they live on one worker. A session of a peer before 2.11 has no siblings, nor
 * has one that may be resumed.
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
struct state_in;
struct state_out;

struct siblings {
	struct list node; /* shard->siblings */
	unsigned refs;	  /* sessions, and chunks that still exist */
	struct shard *shard;
	bool is_single; /* no other may join */
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

/* For a restart: chunks move to where they would be after the last session. */
void siblings_settle(struct siblings *s);
/*
 * What they share, before their sessions. *OUT, and each of its chunks that is
 * not being deleted, has one reference until siblings_are_read() drops it: then
 * what no session has taken goes. On failure nothing is left. E_MALFORMED,
 * E_NOMEM.
 */
void siblings_put_state(struct state_out *o, const struct siblings *s);
enum status siblings_get_state(
    struct siblings **out, struct state_in *in, struct shard *sh) MUST_CHECK;
void siblings_are_read(struct siblings *s);
/* Names one of their chunks; NULL is fine. *OUT is a reference, or NULL. */
void siblings_put_chunk_name(struct state_out *o, const struct chunk *c);
enum status siblings_get_chunk_name(struct chunk **out, struct state_in *in,
    const struct siblings *s) MUST_CHECK;

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
