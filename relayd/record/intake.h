/* SPDX-License-Identifier: MIT */
/*
 * Intake: how the packets of a stream become whole. Bytes come on data
 * connections or in datagrams, index records come in SEND_INDEX, in any order.
 * Both halves wait in the reorder heap until the packet is whole and its turn
 * has come.
 */
#ifndef RELAYD_RECORD_INTAKE_H
#define RELAYD_RECORD_INTAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "store/reorder.h"

struct stream_udp;
struct transport_ops;

struct intake {
	struct list gapped_node; /* shard->gapped */
	struct reorder reorder;
	const struct transport_ops *transport;
	struct stream_udp *udp; /* NULL: the transport is TCP */
	unsigned
	    counted_records;   /* of those that wait, in session->n_records */
	uint64_t held_bytes;   /* sum of intake_hold() of waiting packets */
	uint64_t gap_since_ns; /* TCP; 0: there is no gap */
	bool has_last;	       /* is last_seq set? */
	uint64_t last_seq;     /* the last net_seq_num, from CLOSE_STREAM */
};

#endif
