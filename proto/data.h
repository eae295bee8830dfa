/* SPDX-License-Identifier: MIT */
/*
 * The data port's packet header (relay protocol 2.x, streaming 2.2): 32 bytes
 * before each trace packet, big-endian, the same in all versions.
 */
#ifndef PROTO_DATA_H
#define PROTO_DATA_H

#include <stdint.h>

#include "common/compiler.h"
#include "common/reader.h"
#include "common/status.h"

#define DATA_HEADER_LEN 32

struct data_header {
	uint64_t stream;  /* handle from ADD_STREAM */
	uint64_t net_seq; /* per stream, + 1 per packet */
	uint32_t size;	  /* bytes that follow */
	uint32_t padding; /* zero bytes to append on disk, not sent */
};

/* R holds exactly one header; its circuit_id is ignored. E_MALFORMED when it
 * is short. */
enum status data_header_decode(
    struct reader *r, struct data_header *out) MUST_CHECK;

struct buf;
/* Append the 32 bytes (senders and tests). */
void data_header_encode(struct buf *b, const struct data_header *h);

#endif
