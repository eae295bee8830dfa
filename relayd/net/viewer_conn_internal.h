/* SPDX-License-Identifier: MIT */
/* Only for viewer_conn.c and viewer_conn_send.c. */
#ifndef RELAYD_NET_VIEWER_CONN_INTERNAL_H
#define RELAYD_NET_VIEWER_CONN_INTERNAL_H

#include "relayd/net/viewer_conn.h"

/* Send of the reply of C as much as the socket takes and the turn allows: *LEFT
 * bytes, from which those that were sent are taken. E_MORE: the rest is sent
 * later. E_NOMEM, E_IO: the connection is of no more use. */
enum status viewer_conn_send(struct viewer_conn *c, size_t *left) MUST_CHECK;

#endif
