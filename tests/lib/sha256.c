/* SPDX-License-Identifier: MIT */
#include "tests/lib/sha256.h"

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BLOCK 64

static uint32_t
rotate(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

/* The first 32 bits of the fractional part of the cube (or square) root of each
 * of the first primes. An integer search finds them, so that there is no table
 * with typing errors. */
static uint32_t
root_fraction(unsigned prime, bool cube)
{
	unsigned __int128 lo = 0, hi = (unsigned __int128)32 << 32, mid, power;
	const unsigned shift = cube ? 96 : 64;

	while (hi - lo > 1) {
		mid = (lo + hi) / 2;
		power = mid * mid;
		if (cube)
			power *= mid;
		if (power <= (unsigned __int128)prime << shift)
			lo = mid;
		else
			hi = mid;
	}
	return (uint32_t)lo;
}

static void
make_constants(uint32_t k[64], uint32_t h[8])
{
	unsigned prime = 2, d;

	for (unsigned i = 0; i < 64; prime++) {
		for (d = 2; d * d <= prime && prime % d != 0; d++)
			;
		if (d * d <= prime)
			continue;
		if (i < 8)
			h[i] = root_fraction(prime, false);
		k[i++] = root_fraction(prime, true);
	}
}

static void
add_block(const uint32_t k[64], uint32_t h[8], const uint8_t *p)
{
	uint32_t w[64], s[8], t1, t2;

	memcpy(w, p, BLOCK);
	for (unsigned i = 0; i < 16; i++)
		w[i] = be32toh(w[i]);
	for (unsigned i = 16; i < 64; i++)
		w[i] = w[i - 16] + w[i - 7] +
		       (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^
			   w[i - 15] >> 3) +
		       (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^
			   w[i - 2] >> 10);
	memcpy(s, h, sizeof(s));
	for (unsigned i = 0; i < 64; i++) {
		t1 = s[7] +
		     (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) +
		     ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
		t2 = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) +
		     ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
		memmove(s + 1, s, 7 * sizeof(s[0]));
		s[4] += t1;
		s[0] = t1 + t2;
	}
	for (unsigned i = 0; i < 8; i++)
		h[i] += s[i];
}

void
sha256(const void *p, size_t n, char out[65])
{
	uint8_t tail[2 * BLOCK] = { 0 };
	const uint8_t *from = p;
	uint32_t k[64], h[8];
	size_t left = n, size;
	uint64_t bits = htobe64((uint64_t)n * 8);

	make_constants(k, h);
	for (; left >= BLOCK; from += BLOCK, left -= BLOCK)
		add_block(k, h, from);
	if (left > 0)
		memcpy(tail, from, left);
	tail[left] = 0x80;
	size = left < BLOCK - 8 ? BLOCK : 2 * BLOCK;
	memcpy(tail + size - 8, &bits, sizeof(bits));
	for (size_t at = 0; at < size; at += BLOCK)
		add_block(k, h, tail + at);
	for (unsigned i = 0; i < 8; i++)
		(void)snprintf(out + 8 * i, 9, "%08x", h[i]);
}
