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

/* Do what the endpoint's outcome ST means for C. False: C is gone, or was
 * handed over. */
bool conn_fail(struct conn *c, enum status st);
void conn_handover(struct conn *c);
void conn_set_busy(struct conn *c, bool is_busy);
void conn_charge(struct conn *c);
/* Has a message begun whose bytes are not all here? */
bool conn_is_mid_message(const struct conn *c);
/* Replies will be sent at the end of the turn. */
void conn_flush(struct conn *c);
bool conn_send_now(struct conn *c);
/* Log that the socket failed; errno says why. */
void conn_lost(const struct conn *c);

#endif
