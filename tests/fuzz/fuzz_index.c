/* SPDX-License-Identifier: MIT */
/* An index file: what decodes must encode to the same bytes. */
#include <assert.h>
#include <string.h>

#include "ctf/index.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	uint8_t header[INDEX_HEADER_LEN], record[INDEX_RECORD_MAX];
	struct index_record rec;
	unsigned minor;

	if (n < sizeof(header) || index_header_decode(p, &minor) != OK)
		return 0;
	assert(minor <= 1);
	index_header_encode(header, minor);
	assert(memcmp(header, p, sizeof(header)) == 0);
	p += sizeof(header);
	n -= sizeof(header);
	for (; n >= index_record_len(minor); n -= index_record_len(minor)) {
		index_decode(p, &rec, minor);
		index_encode(record, &rec, minor);
		assert(memcmp(record, p, index_record_len(minor)) == 0);
		p += index_record_len(minor);
	}
	return 0;
}
