/* SPDX-License-Identifier: MIT */
#include "ctf/index.h"

#include <endian.h>
#include <string.h>

#include "common/reader.h"

static uint8_t *
put_u32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

static uint8_t *
put_u64(uint8_t *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

void
index_header_encode(uint8_t out[INDEX_HEADER_LEN], unsigned minor)
{
	out = put_u32(out, INDEX_MAGIC);
	out = put_u32(out, 1);
	out = put_u32(out, minor);
	put_u32(out, index_record_len(minor));
}

enum status
index_header_decode(const uint8_t in[INDEX_HEADER_LEN], unsigned *minor)
{
	struct reader r = reader_over(in, INDEX_HEADER_LEN);
	uint32_t magic = reader_u32(&r);
	uint32_t major = reader_u32(&r);

	*minor = reader_u32(&r);
	if (magic != INDEX_MAGIC || major != 1 || *minor > 1 ||
	    reader_u32(&r) != index_record_len(*minor))
		return E_MALFORMED;
	return OK;
}

void
index_encode(uint8_t *out, const struct index_record *rec, unsigned minor)
{
	out = put_u64(out, rec->offset);
	out = put_u64(out, rec->packet_size);
	out = put_u64(out, rec->content_size);
	out = put_u64(out, rec->timestamp_begin);
	out = put_u64(out, rec->timestamp_end);
	out = put_u64(out, rec->events_discarded);
	out = put_u64(out, rec->ctf_stream);
	if (minor == 0)
		return;
	out = put_u64(out, rec->ctf_instance);
	put_u64(out, rec->packet_seq_num);
}

void
index_decode(const uint8_t *in, struct index_record *rec, unsigned minor)
{
	struct reader r = reader_over(in, index_record_len(minor));

	*rec = (struct index_record){ .offset = reader_u64(&r) };
	rec->packet_size = reader_u64(&r);
	rec->content_size = reader_u64(&r);
	rec->timestamp_begin = reader_u64(&r);
	rec->timestamp_end = reader_u64(&r);
	rec->events_discarded = reader_u64(&r);
	rec->ctf_stream = reader_u64(&r);
	if (minor == 0)
		return;
	rec->ctf_instance = reader_u64(&r);
	rec->packet_seq_num = reader_u64(&r);
}
