/* SPDX-License-Identifier: MIT */
#include "common/checksum.h"

#include <zlib.h>

uint32_t
checksum_crc32(uint32_t crc, const void *p, size_t n)
{
	return (uint32_t)crc32_z(crc, p, n);
}
