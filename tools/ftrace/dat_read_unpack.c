/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <libdeflate.h>
#include <string.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "tools/ftrace/dat_read.h"

static enum status
unpack_zlib(const uint8_t *p, size_t n, uint8_t *out, size_t out_size)
{
	struct libdeflate_decompressor *z = libdeflate_alloc_decompressor();
	enum libdeflate_result result;

	if (z == NULL)
		return E_NOMEM;
	/* Without a place for the real size it must be OUT_SIZE. */
	result = libdeflate_zlib_decompress(z, p, n, out, out_size, NULL);
	libdeflate_free_decompressor(z);
	return result == LIBDEFLATE_SUCCESS ? OK : E_MALFORMED;
}

static enum status
unpack_zstd(const uint8_t *p, size_t n, uint8_t *out, size_t out_size)
{
#ifdef HAVE_ZSTD
	return ZSTD_decompress(out, out_size, p, n) == out_size ? OK
								: E_MALFORMED;
#else
	(void)p;
	(void)n;
	(void)out;
	(void)out_size;
	return E_REFUSED;
#endif
}

enum status
dat_unpack(enum dat_packing packing, const uint8_t *p, size_t n, uint8_t *out,
    size_t out_size)
{
	switch (packing) {
	case DAT_ZLIB:
		return unpack_zlib(p, n, out, out_size);
	case DAT_ZSTD:
		return unpack_zstd(p, n, out, out_size);
	case DAT_PLAIN:
	case DAT_UNKNOWN:
		break;
	}
	return packing == DAT_PLAIN ? E_MALFORMED : E_REFUSED;
}
