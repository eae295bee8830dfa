/* SPDX-License-Identifier: MIT */
/*
 * Writer: takes whole packets in order, writes them to the tracefile, and then
 * writes their index records. Packets that cannot be written are lost, and the
 * writer accounts for them.
 */
#ifndef RELAYD_RECORD_WRITER_H
#define RELAYD_RECORD_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"

struct buf;
struct packet;
struct stream_unnoted;
struct tracefile;

struct writer {
	struct list locked_node; /* shard->locked */
	struct tracefile *tf;	 /* the current file; NULL: none */
	struct list sealed;	 /* past files whose records wait for a lock */
	struct {
		struct packet *first, **end;
		unsigned n;
		uint64_t bytes;
	} batch; /* packets out of the heap, not yet in the file */

	/* has_x: is x_seq set? */
	bool has_data, has_record, has_packet_seq;
	uint64_t data_seq;   /* net_seq_num of the last packet in the file */
	uint64_t record_seq; /* ... of the last one whose record is, too */
	uint64_t packet_seq; /* packet_seq_num of the last packet */

	uint64_t written_bytes, written_packets, lost; /* since it began */
	bool has_write_error; /* not yet reported to the peer */
	bool has_logged_drop, has_logged_size;
	struct stream_unnoted *unnoted; /* losses on a full disk; NULL: none */

	/* Metadata that waits for space on the disk: each request with its
	 * lengths before it. NULL: none. */
	struct buf *debt;
	struct list owing_node; /* shard->owing */
	bool has_lost_metadata; /* nothing can be written after it */
};

#endif
