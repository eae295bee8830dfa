/* SPDX-License-Identifier: MIT */
/* Between conn.c, conn_read.c and desk.c only. */
#ifndef RELAYD_NET_CONN_INTERNAL_H
#define RELAYD_NET_CONN_INTERNAL_H

#include "relayd/net/conn.h"

/* Read and serve what has arrived. The connection may be gone on return. */
void conn_read(struct conn *c);
/* The same, but an end or failure is only noted, for its own event. */
void conn_read_ahead(struct conn *c);

/* What an endpoint's outcome means. False: C is gone, or moved away. */
bool conn_fail(struct conn *c, enum status st);
void conn_handover(struct conn *c);
void conn_set_busy(struct conn *c, bool is_busy);
void conn_charge(struct conn *c);
/* Replies go out at the end of the turn. */
void conn_flush(struct conn *c);
bool conn_send_now(struct conn *c);
/* The socket failed, errno says why: one line of log. */
void conn_lost(const struct conn *c);

#endif
