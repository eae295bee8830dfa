/* SPDX-License-Identifier: MIT */
#include "proto/frame.h"

#include "common/buf.h"
#include "proto/relay.h"

enum status
frame_relay(
    const uint8_t *p, size_t n, struct relay_header *hdr, struct reader *body)
{
	struct reader r = reader_over(p, n);

	(void)reader_u64(&r); /* circuit_id */
	hdr->size = reader_u64(&r);
	hdr->cmd = reader_u32(&r);
	(void)reader_u32(&r); /* cmd_version */
	if (reader_done(&r) != OK)
		return E_MORE;
	if (hdr->size > relay_row(hdr->cmd)->max_payload)
		return E_LIMIT;
	if (hdr->size > reader_left(&r))
		return E_MORE;
	*body = reader_over(r.p, (size_t)hdr->size);
	return OK;
}

void
frame_relay_encode(struct buf *b, uint32_t cmd, uint64_t size)
{
	buf_u64(b, 0);
	buf_u64(b, size);
	buf_u32(b, cmd);
	buf_u32(b, 0);
}
