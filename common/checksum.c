/* SPDX-License-Identifier: MIT */
#include "common/checksum.h"

#include <stdbool.h>
#include <zlib.h>

#if defined(__x86_64__)
#include <smmintrin.h>
#include <wmmintrin.h>

/*
 * Half of what a datagram costs its sender is its checksum. Carry-less
 * multiplication folds 64 bytes at a time into 64 (V. Gopal and others, "Fast
 * CRC Computation for Generic Polynomials Using PCLMULQDQ"); the constants are
 * powers of x modulo the polynomial, bits reversed.
 */
#define FOLD_TARGET __attribute__((target("pclmul,sse4.1")))
#define BLOCK 16
#define STRIDE (4 * BLOCK)

FOLD_TARGET static inline __m128i
load(const uint8_t *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* X, so many bytes further on as K says, and what stands there. */
FOLD_TARGET static inline __m128i
fold(__m128i x, __m128i k, __m128i there)
{
	const __m128i low = _mm_clmulepi64_si128(x, k, 0x00);
	const __m128i high = _mm_clmulepi64_si128(x, k, 0x11);

	return _mm_xor_si128(_mm_xor_si128(low, high), there);
}

/* 128 bits to the 32 of the remainder. */
FOLD_TARGET static uint32_t
reduce(__m128i x, __m128i k)
{
	const __m128i mask = _mm_setr_epi32(-1, 0, -1, 0);
	const __m128i k5 = _mm_set_epi64x(0, 0x163cd6124);
	const __m128i poly = _mm_set_epi64x(0x1f7011641, 0x1db710641);
	__m128i y = _mm_clmulepi64_si128(x, k, 0x10);

	x = _mm_xor_si128(_mm_srli_si128(x, 8), y);
	y = _mm_srli_si128(x, 4);
	x = _mm_clmulepi64_si128(_mm_and_si128(x, mask), k5, 0x00);
	x = _mm_xor_si128(x, y);
	y = _mm_clmulepi64_si128(_mm_and_si128(x, mask), poly, 0x10);
	y = _mm_clmulepi64_si128(_mm_and_si128(y, mask), poly, 0x00);
	return (uint32_t)_mm_extract_epi32(_mm_xor_si128(x, y), 1);
}

/* N is a multiple of BLOCK, and STRIDE at least. */
FOLD_TARGET static uint32_t
folded(uint32_t crc, const uint8_t *p, size_t n)
{
	const __m128i by_stride = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
	const __m128i by_block = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
	__m128i x[4];

	for (int i = 0; i < 4; i++)
		x[i] = load(p + i * BLOCK);
	x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128((int)~crc));
	for (p += STRIDE, n -= STRIDE; n >= STRIDE; p += STRIDE, n -= STRIDE)
		for (int i = 0; i < 4; i++)
			x[i] = fold(x[i], by_stride, load(p + i * BLOCK));
	for (int i = 1; i < 4; i++)
		x[0] = fold(x[0], by_block, x[i]);
	for (; n >= BLOCK; p += BLOCK, n -= BLOCK)
		x[0] = fold(x[0], by_block, load(p));
	return ~reduce(x[0], by_block);
}

static bool
can_fold(void)
{
	return __builtin_cpu_supports("pclmul") &&
	       __builtin_cpu_supports("sse4.1");
}

uint32_t
checksum_crc32(uint32_t crc, const void *p, size_t n)
{
	const size_t whole = n - n % BLOCK;
	const uint8_t *at = p;

	if (whole >= STRIDE && can_fold()) {
		crc = folded(crc, at, whole);
		at += whole;
		n -= whole;
	}
	return n == 0 ? crc : (uint32_t)crc32_z(crc, at, n);
}

#else

uint32_t
checksum_crc32(uint32_t crc, const void *p, size_t n)
{
	return (uint32_t)crc32_z(crc, p, n);
}

#endif
