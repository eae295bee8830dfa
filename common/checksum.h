/* SPDX-License-Identifier: MIT */
/* The CRC-32 of zlib, gzip and Ethernet, by libdeflate. Any thread. */
#ifndef COMMON_CHECKSUM_H
#define COMMON_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of the bytes that have the checksum CRC (0: no bytes), followed
 * by the N bytes at P. */
uint32_t checksum_crc32(uint32_t crc, const void *p, size_t n);

#endif
