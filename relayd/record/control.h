/* SPDX-License-Identifier: MIT */
/*
 * The control port's endpoint: bytes of requests in, bytes of replies out
 * (streaming 2, 3). No sockets. The same endpoint serves in the lobby, where
 * there is no shard yet and CREATE_SESSION is E_HANDOVER, and on the worker
 * that the session was placed on.
 */
#ifndef RELAYD_RECORD_CONTROL_H
#define RELAYD_RECORD_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/status.h"
#include "proto/relay.h"

struct relay_header;
struct session;
struct shard;
struct stream;

struct control_config {
	bool allow_clear;
	bool has_udp;
};

struct control {
	const struct control_config *config;
	struct shard *shard;	 /* NULL in the lobby */
	struct session *session; /* NULL before CREATE_SESSION */
	unsigned minor;		 /* negotiated; 0 before VERSION */
	bool has_told;		 /* a line of log says why it ends */
	/* Of the request at hand, for its line of log: why it is refused, and
	 * the stream that it is about. */
	enum status why; /* OK: no more to say */
	const struct stream *about;
	char *peer; /* for logs; borrowed */
	/* For the lobby, with E_HANDOVER: who asks for a session. */
	bool has_peer_id;
	struct relay_uuid uuid;
	uint64_t peer_session;
};

enum status control_create(struct control **out,
    const struct control_config *config, char *peer) MUST_CHECK;
/* The connection is gone; ABORTED: by an error. NULL is fine. */
void control_destroy(struct control *c, bool aborted);

/*
 * N bytes at P: every whole request in them is served, its reply appended to
 * OUT. *USED: bytes taken; the rest is the beginning of a request and must be
 * offered again, with more behind it. E_HANDOVER: the request at P + *USED is
 * for a worker. Other failures end the connection, after OUT was sent if it is
 * E_REFUSED_CLOSE.
 */
enum status control_input(struct control *c, const uint8_t *p, size_t n,
    size_t *used, struct buf *out) MUST_CHECK;

/* One request whose payload is whole: control_commands.c. */
enum status control_serve(struct control *c, const struct relay_header *hdr,
    struct reader *body, struct buf *out) MUST_CHECK;

#endif
