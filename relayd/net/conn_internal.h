/* SPDX-License-Identifier: MIT */
/* Only for conn.c, conn_read.c and desk.c. */
#ifndef RELAYD_NET_CONN_INTERNAL_H
#define RELAYD_NET_CONN_INTERNAL_H

#include "relayd/net/conn.h"

/* Read and serve what has arrived. The connection may be gone on return. */
void conn_read(struct conn *c);
/* The same for the bytes that the socket holds now, however many follow them. A
 * failure is only noted: the next conn_read() acts on it. */
void conn_read_ahead(struct conn *c);
/* The same at an ordered end; what was read is committed in between. */
void conn_read_last(struct conn *c);
/* Packets that were read, but wait because their session or the relay holds too
 * much, are taken all the same (shard->takes_all). */
void conn_take_kept(struct conn *c);
/* A request that has begun is done; those behind it are not. */
void conn_end_request(struct conn *c);
/* Bytes that the socket holds now. */
size_t conn_in_socket(const struct conn *c);

/* Do what the endpoint's outcome ST means for C. False: C is gone, or was
 * handed over. */
bool conn_fail(struct conn *c, enum status st);
void conn_handover(struct conn *c);
void conn_set_busy(struct conn *c, bool is_busy);
void conn_charge(struct conn *c);
/* Has a message begun whose bytes are not all here? */
bool conn_is_mid_message(const struct conn *c);
/* Bytes of that message which are here. */
uint64_t conn_holds(const struct conn *c);
/* Replies will be sent at the end of the turn. */
void conn_flush(struct conn *c);
bool conn_send_now(struct conn *c);
/* Log that the socket failed; errno says why. */
void conn_lost(const struct conn *c);

#endif
