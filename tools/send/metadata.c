/* SPDX-License-Identifier: MIT */
#include "tools/send/metadata.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#define METADATA_MAGIC 0x75d11d57
/* magic 4, uuid 16, checksum 4, content size 4, packet size 4, compression,
 * encryption, checksum scheme, major, minor (CTF 1.8, 7.1). */
#define HEADER_LEN 37

static enum status
wrong(const char **why, enum status st, const char *text)
{
	*why = text;
	return st;
}

static uint32_t
u32(const uint8_t *p, bool is_little_endian)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return is_little_endian ? le32toh(v) : be32toh(v);
}

/* Unpack one packet; *LEN is its size. */
static enum status
unpack(struct buf *out, const uint8_t *p, uint64_t n, bool le, uint64_t *len,
    const char **why)
{
	uint32_t content;

	if (n < HEADER_LEN || u32(p, le) != METADATA_MAGIC)
		return wrong(why, E_MALFORMED, "metadata: no packet header");
	content = u32(p + 24, le) / 8;
	*len = u32(p + 28, le) / 8;
	if (p[32] != 0 || p[33] != 0)
		return wrong(why, E_REFUSED,
		    "metadata: compressed or encrypted packets");
	if (content < HEADER_LEN || content > *len || *len > n)
		return wrong(why, E_MALFORMED, "metadata: a broken packet");
	buf_bytes(out, p + HEADER_LEN, content - HEADER_LEN);
	return OK;
}

enum status
metadata_text(struct buf *out, const uint8_t *p, uint64_t n, const char **why)
{
	enum status st = OK;
	bool le;

	if (n == 0)
		return wrong(why, E_MALFORMED, "metadata: empty");
	if (*p == '{' || *p == '\x1e')
		return wrong(
		    why, E_REFUSED, "metadata: CTF 2 is not supported");
	le = n >= 4 && u32(p, true) == METADATA_MAGIC;
	if (!le && (n < 4 || u32(p, false) != METADATA_MAGIC)) {
		buf_bytes(out, p, n);
	} else {
		for (uint64_t len = 0; n > 0 && st == OK; p += len, n -= len) {
			len = 0;
			st = unpack(out, p, n, le, &len, why);
		}
	}
	if (st == OK && out->bad)
		st = wrong(why, E_NOMEM, "out of memory");
	return st;
}
