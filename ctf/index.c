/* SPDX-License-Identifier: MIT */
#include "ctf/index.h"

#include <endian.h>
#include <string.h>

_Static_assert(sizeof(struct index_record) == INDEX_RECORD_MAX,
    "a record has the fields of the file in its order");

void
index_header_encode(uint8_t out[INDEX_HEADER_LEN], unsigned minor)
{
	const uint32_t header[] = { htobe32(INDEX_MAGIC), htobe32(1),
		htobe32(minor), htobe32(index_record_len(minor)) };

	memcpy(out, header, INDEX_HEADER_LEN);
}

enum status
index_header_decode(const uint8_t in[INDEX_HEADER_LEN], unsigned *minor)
{
	uint32_t header[INDEX_HEADER_LEN / 4];

	memcpy(header, in, sizeof(header));
	*minor = be32toh(header[2]);
	if (be32toh(header[0]) != INDEX_MAGIC || be32toh(header[1]) != 1 ||
	    *minor > 1 || be32toh(header[3]) != index_record_len(*minor))
		return E_MALFORMED;
	return OK;
}

void
index_encode(uint8_t *out, const struct index_record *rec, unsigned minor)
{
	uint64_t words[INDEX_RECORD_MAX / 8];

	memcpy(words, rec, sizeof(words));
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		words[i] = htobe64(words[i]);
	memcpy(out, words, index_record_len(minor));
}

void
index_decode(const uint8_t *in, struct index_record *rec, unsigned minor)
{
	uint64_t words[INDEX_RECORD_MAX / 8] = { 0 };

	memcpy(words, in, index_record_len(minor));
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		words[i] = be64toh(words[i]);
	memcpy(rec, words, sizeof(words));
}

bool
index_is_whole(const struct index_record *rec,
    const struct index_record *before, uint64_t size)
{
	return rec->packet_size > 0 && rec->content_size <= rec->packet_size &&
	       rec->offset <= size &&
	       rec->packet_size / 8 <= size - rec->offset &&
	       (before == NULL || before->offset < rec->offset);
}
