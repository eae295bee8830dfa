/* SPDX-License-Identifier: MIT */
#include "proto/udp.h"

#include <assert.h>

#include "common/buf.h"
#include "common/checksum.h"
#include "proto/frame.h"
#include "proto/relay.h"

#define FLAG_RESEND 1

enum status
udp_header_decode(const uint8_t *p, size_t n, struct udp_header *out)
{
	struct reader r = reader_over(p, n);
	const uint32_t magic = reader_u32(&r);
	const uint8_t version = reader_u8(&r);
	const uint8_t flags = reader_u8(&r);
	const uint16_t header_size = reader_u16(&r);

	out->is_resend = (flags & FLAG_RESEND) != 0;
	reader_copy(&r, out->token.b, sizeof(out->token.b));
	out->stream = reader_u64(&r);
	out->net_seq = reader_u64(&r);
	out->size = reader_u32(&r);
	out->padding = reader_u32(&r);
	out->offset = reader_u32(&r);
	out->crc = reader_u32(&r);
	if (reader_done(&r) != OK || magic != UDP_MAGIC ||
	    version != UDP_VERSION || header_size < UDP_HEADER_LEN ||
	    header_size > n || n > UDP_DATAGRAM_MAX)
		return E_MALFORMED;
	out->payload = p + header_size;
	out->payload_len = (uint32_t)(n - header_size);
	out->head = NULL;
	out->head_len = 0;
	return OK;
}

/* The field of the checksum is taken as zero. */
static uint32_t
crc_of(const uint8_t *p, size_t n)
{
	static const uint8_t zero[4];
	uint32_t crc;

	assert(n >= UDP_HEADER_LEN);
	crc = checksum_crc32(0, p, UDP_CRC_AT);
	crc = checksum_crc32(crc, zero, sizeof(zero));
	return checksum_crc32(crc, p + UDP_HEADER_LEN, n - UDP_HEADER_LEN);
}

bool
udp_crc_matches(const uint8_t *p, size_t n)
{
	struct reader r = reader_over(p + UDP_CRC_AT, 4);

	return crc_of(p, n) == reader_u32(&r);
}

bool
udp_fragment_fits(const struct udp_header *h, uint32_t fragment_size)
{
	const uint64_t end = (uint64_t)h->offset + h->payload_len;

	if (h->offset % fragment_size != 0 || end > h->size)
		return false;
	if (end < h->size)
		return h->payload_len == fragment_size;
	/* The last fragment is empty only when the packet is empty. */
	return h->payload_len <= fragment_size &&
	       (h->payload_len > 0 || h->size == 0);
}

void
udp_header_encode(uint8_t out[UDP_HEADER_LEN], const struct udp_header *h)
{
	static const uint8_t zero[4];
	struct buf b = { .mem = out, .cap = UDP_HEADER_LEN };
	uint32_t crc;

	buf_u32(&b, UDP_MAGIC);
	buf_u8(&b, UDP_VERSION);
	buf_u8(&b, h->is_resend ? FLAG_RESEND : 0);
	buf_u16(&b, UDP_HEADER_LEN);
	buf_bytes(&b, h->token.b, sizeof(h->token.b));
	buf_u64(&b, h->stream);
	buf_u64(&b, h->net_seq);
	buf_u32(&b, h->size);
	buf_u32(&b, h->padding);
	buf_u32(&b, h->offset);
	crc = checksum_crc32(0, out, UDP_CRC_AT);
	crc = checksum_crc32(crc, zero, sizeof(zero));
	if (h->head_len > 0)
		crc = checksum_crc32(crc, h->head, h->head_len);
	crc = checksum_crc32(crc, h->payload, h->payload_len);
	buf_u32(&b, crc);
}

enum status
udp_open_decode(struct reader *r, struct udp_open *out)
{
	out->version = reader_u32(r);
	out->fragment_size = reader_u32(r);
	out->window = reader_u32(r);
	out->flags = reader_u32(r);
	out->gap_timeout_us = reader_u64(r);
	return reader_done(r);
}

void
udp_open_request(struct buf *b, const struct udp_open *q)
{
	frame_relay_encode(b, RELAY_CMD_udp_open, 24);
	buf_u32(b, q->version);
	buf_u32(b, q->fragment_size);
	buf_u32(b, q->window);
	buf_u32(b, q->flags);
	buf_u64(b, q->gap_timeout_us);
}

void
udp_open_reply(struct buf *b, const struct udp_open_reply *a)
{
	buf_u32(b, a->code);
	buf_u16(b, a->port);
	buf_u16(b, 0);
	buf_u32(b, a->fragment_size);
	buf_u32(b, a->window);
	buf_u64(b, a->window_bytes);
	buf_u32(b, a->flags);
	buf_bytes(b, a->token.b, sizeof(a->token.b));
}

enum status
udp_open_reply_decode(struct reader *r, struct udp_open_reply *out)
{
	out->code = reader_u32(r);
	out->port = reader_u16(r);
	(void)reader_u16(r);
	out->fragment_size = reader_u32(r);
	out->window = reader_u32(r);
	out->window_bytes = reader_u64(r);
	out->flags = reader_u32(r);
	reader_copy(r, out->token.b, sizeof(out->token.b));
	return reader_done(r);
}

void
udp_status_head(struct buf *b, uint32_t code, uint32_t streams)
{
	buf_u32(b, code);
	buf_u32(b, streams);
}

void
udp_status_put(struct buf *b, const struct udp_status *s)
{
	buf_u64(b, s->stream);
	buf_u64(b, s->next);
	buf_u64(b, s->end);
	buf_u64(b, s->lost);
	buf_u32(b, s->ranges);
}

void
udp_range_put(struct buf *b, const struct udp_range *g)
{
	buf_u64(b, g->net_seq);
	buf_u32(b, g->first_fragment);
	buf_u32(b, g->fragment_count);
}

enum status
udp_status_head_decode(struct reader *r, uint32_t *code, uint32_t *streams)
{
	*code = reader_u32(r);
	*streams = reader_u32(r);
	return reader_done(r);
}

enum status
udp_status_decode(struct reader *r, struct udp_status *out)
{
	out->stream = reader_u64(r);
	out->next = reader_u64(r);
	out->end = reader_u64(r);
	out->lost = reader_u64(r);
	out->ranges = reader_u32(r);
	return reader_done(r);
}

enum status
udp_range_decode(struct reader *r, struct udp_range *out)
{
	out->net_seq = reader_u64(r);
	out->first_fragment = reader_u32(r);
	out->fragment_count = reader_u32(r);
	return reader_done(r);
}
