/* SPDX-License-Identifier: MIT */
#include "proto/data.h"

#include "common/buf.h"

enum status
data_header_decode(struct reader *r, struct data_header *out)
{
	(void)reader_u64(r); /* circuit_id */
	out->stream = reader_u64(r);
	out->net_seq = reader_u64(r);
	out->size = reader_u32(r);
	out->padding = reader_u32(r);
	return reader_done(r);
}

void
data_header_encode(struct buf *b, const struct data_header *h)
{
	buf_u64(b, 0);
	buf_u64(b, h->stream);
	buf_u64(b, h->net_seq);
	buf_u32(b, h->size);
	buf_u32(b, h->padding);
}
