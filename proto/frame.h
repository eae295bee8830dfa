/* SPDX-License-Identifier: MIT */
/*
 * Framing of the control port (streaming 2.1): a 24-byte header, then data_size
 * bytes. The functions only read bytes and keep no state.
 */
#ifndef PROTO_FRAME_H
#define PROTO_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/reader.h"
#include "common/status.h"

#define RELAY_HEADER_LEN 24
/* A larger data_size closes the connection without a reply, as lttng-relayd
 * does (streaming 2.1). */
#define RELAY_PAYLOAD_MAX (UINT64_C(128) << 20)
/* An unknown command's payload is read and ignored up to this size; then the
 * reply is 11. */
#define RELAY_UNKNOWN_MAX (UINT64_C(8) << 10)

struct relay_header {
	uint64_t size; /* payload bytes */
	uint32_t cmd;  /* as on the wire; may be unknown */
};

/*
 * Is a whole message at the front of the N bytes at P? OK: *HDR is filled and
 * *BODY covers its payload. E_MORE: the message is not whole yet; *HDR is valid
 * if N >= RELAY_HEADER_LEN. E_LIMIT: the header claims more bytes than the
 * command may have (relay.tbl.h; RELAY_UNKNOWN_MAX for an unknown command);
 * *HDR is filled, so that the caller can answer.
 */
enum status frame_relay(const uint8_t *p, size_t n, struct relay_header *hdr,
    struct reader *body) MUST_CHECK;

struct buf;
/* Append a header (senders and tests). */
void frame_relay_encode(struct buf *b, uint32_t cmd, uint64_t size);

#endif
