/* SPDX-License-Identifier: MIT */
/*
 * Trace packets over UDP (udp 1 - 4): the model and the endpoint, without
 * sockets. A session whose peer has sent UDP_OPEN takes packets over UDP only,
 * and none from data connections. Everything lives on the session's worker.
 */
#ifndef RELAYD_RECORD_UDP_H
#define RELAYD_RECORD_UDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

struct buf;
struct session;
struct session_udp;
struct shard;
struct stream;
struct udp_open;
struct udp_open_reply;

/* UDP_OPEN (10001). The reply's code says whether it succeeded.
 * udp_session.c */
void udp_open(
    struct session *s, const struct udp_open *q, struct udp_open_reply *a);
/* UDP_STATUS (10002): append the whole reply to OUT. udp_session.c */
void udp_status(const struct session *s, uint64_t handle, struct buf *out);
/* The session is destroyed: its figures are logged. NULL is fine.
 * udp_session.c */
void udp_session_destroy(const char *tag, struct session_udp *u);

/*
 * One datagram of N bytes, from anywhere. False: by its stream handle it is for
 * another worker (ids_worker()). udp_ingest.c
 */
bool udp_input(struct shard *sh, const uint8_t *p, size_t n) MUST_CHECK;

/* From its first packet on the stream takes datagrams. A metadata stream does
 * not change. E_NOMEM. udp_stream.c */
enum status udp_stream_create(struct stream *t) MUST_CHECK;

#endif
