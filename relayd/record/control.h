/* SPDX-License-Identifier: MIT */
/*
 * The endpoint of the control port: it takes bytes of requests and makes bytes
 * of replies, without sockets (streaming 2, 3). An endpoint serves first on the
 * main thread, where it has no shard and CREATE_SESSION returns E_HANDOVER, and
 * then on the session's worker.
 */
#ifndef RELAYD_RECORD_CONTROL_H
#define RELAYD_RECORD_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/list.h"
#include "common/secret.h"
#include "common/status.h"
#include "proto/relay.h"

struct conn;
struct session;
struct shard;
struct state_in;
struct state_out;
struct stream;

/* Bytes of replies that may wait if a peer does not read. Above it, its
 * requests wait. One reply may be larger. */
#define CONTROL_OUT_MAX (256 * 1024)

struct control_config {
	bool allow_clear;
	bool has_udp;
};

struct control {
	const struct control_config *config;
	struct shard *shard;	 /* NULL on the main thread */
	struct session *session; /* NULL before CREATE_SESSION */
	unsigned minor;		 /* negotiated; 0 before VERSION */
	bool has_logged_end;	 /* the reason for its end was logged */
	/* Requests that were read wait for a later cycle. */
	bool is_waiting;
	uint32_t done; /* of the first of them: its parts that are done */
	/* For the log line of the current request: the reason for refusing it,
	 * and the stream that it names. */
	enum status why; /* OK: nothing to add */
	const struct stream *about;
	char *peer; /* for logs; borrowed */
	/* With E_HANDOVER: the ids of the peer's session. */
	bool has_peer_id;
	struct relay_uuid uuid;
	uint64_t peer_session;
	struct conn *conn; /* whose endpoint this is, on a worker; borrowed */
	struct list replaced_node; /* shard->work.replaced */
	bool may_resume;	   /* RESUME came, with KEY */
	struct secret key;
};

enum status control_create(struct control **out,
    const struct control_config *config, char *peer) MUST_CHECK;
/* The connection is gone; ABORTED: because of an error. NULL is fine. */
void control_destroy(struct control *c, bool aborted);

/* A connection that the worker must close because another one has its session
 * now; NULL: none. */
struct control *control_replaced(const struct shard *sh);

/* A restart (common/state.h), after the sessions of its shard. SHARD: NULL on
 * the main thread. */
void control_put_state(struct state_out *o, const struct control *c);
enum status control_get_state(struct control **out, struct state_in *in,
    const struct control_config *config, char *peer,
    struct shard *shard) MUST_CHECK;

/*
 * Serve every whole request in the N bytes at P, and append its reply to OUT,
 * until OUT has CONTROL_OUT_MAX bytes, or the shard's time slice has expired:
 * then is_waiting is set. *USED bytes were taken. The rest is the beginning of
 * a request, or requests that wait, and must be passed again, followed by more
 * bytes. E_HANDOVER: the request at P + *USED is for a worker. Other failures
 * end the connection; with E_REFUSED_CLOSE, OUT holds a last reply.
 */
enum status control_input(struct control *c, const uint8_t *p, size_t n,
    size_t *used, struct buf *out) MUST_CHECK;

#endif
