/* SPDX-License-Identifier: MIT */
#include "common/checksum.h"

#include <libdeflate.h>

uint32_t
checksum_crc32(uint32_t crc, const void *p, size_t n)
{
	/* The library takes NULL for the start of a new checksum. */
	return n == 0 ? crc : libdeflate_crc32(crc, p, n);
}
