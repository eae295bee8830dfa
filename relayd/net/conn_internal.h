/* SPDX-License-Identifier: MIT */
/* Only for conn.c, conn_read.c and conns.c. */
#ifndef RELAYD_NET_CONN_INTERNAL_H
#define RELAYD_NET_CONN_INTERNAL_H

#include "relayd/net/conn.h"

/* A connection without a peer; NULL: no memory, FD is closed. */
struct conn *conn_alloc(int take_fd, enum conn_kind kind);
/* C, which has its endpoint, becomes one of SET. E_NOMEM: it is not ready. */
enum status conn_join(struct conn *c, struct conns *set) MUST_CHECK;

/* Read and serve what has arrived. C may be destroyed on return. */
void conn_read(struct conn *c);
/* The same for the bytes that the socket holds now. A failure is stored for the
 * next conn_read(). COMMITS: an ordered shutdown. */
void conn_read_rest(struct conn *c, bool commits);
/* At an ordered shutdown (shard->slice.takes_all): take packets that were read
 * but held back; finish a request that has begun, and none after it. */
void conn_serve_kept(struct conn *c);
/* Bytes that the socket holds now. */
size_t conn_in_socket(const struct conn *c);

/* Do what the endpoint's status ST means for C. False: C was destroyed or
 * handed over. */
bool conn_fail(struct conn *c, enum status st);
void conn_set_busy(struct conn *c, bool is_busy);
void conn_charge(struct conn *c);
/* True if C has read part of a message. */
bool conn_is_mid_message(const struct conn *c);
/* The bytes of that message that C has read. */
uint64_t conn_holds(const struct conn *c);
/* Send the replies at the end of the cycle. */
void conn_flush(struct conn *c);
/* Send what the socket takes. False: C was destroyed. */
bool conn_send_now(struct conn *c);
/* Log that the socket failed; errno says why. */
void conn_lost(const struct conn *c);

#endif
