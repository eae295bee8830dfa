/* SPDX-License-Identifier: MIT */
/*
 * Framing of the control port (streaming 2.1): a 24-byte header, then
 * data_size bytes. Looks at bytes only; keeps no state.
 */
#ifndef PROTO_FRAME_H
#define PROTO_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/reader.h"
#include "common/status.h"

#define RELAY_HEADER_LEN 24
/* data_size above this closes without reply (as lttng-relayd, streaming 2.1) */
#define RELAY_PAYLOAD_MAX (UINT64_C(128) << 20)
/* An unknown command's payload is swallowed up to here before reply 11. */
#define RELAY_UNKNOWN_MAX (UINT64_C(8) << 10)

struct relay_header {
	uint64_t size; /* payload bytes */
	uint32_t cmd;  /* as on the wire; may be unknown */
};

/*
 * Is a whole message at the front of the N bytes at P? OK: *HDR is filled and
 * *BODY covers its payload. E_MORE: not yet; *HDR is valid if N >=
 * RELAY_HEADER_LEN. E_LIMIT: the size is above what the command may have
 * (relay.tbl.h), known at the header; an unknown command is measured with
 * RELAY_UNKNOWN_MAX and *HDR is filled, so the caller can answer it.
 */
enum status frame_relay(const uint8_t *p, size_t n, struct relay_header *hdr,
    struct reader *body) MUST_CHECK;

struct buf;
/* Append a header (senders and tests). */
void frame_relay_encode(struct buf *b, uint32_t cmd, uint64_t size);

#endif
