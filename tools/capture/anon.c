/* SPDX-License-Identifier: MIT */
#include "tools/capture/anon.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <nettle/aes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Entries of the caches, powers of 2: enough for the addresses that a link sees
 * within seconds; together about 1.3 MiB, which second-level caches hold. */
#define V4_BITS 16
#define V6_BITS 14
#define UPPER_BITS 12

#define BLOCK AES_BLOCK_SIZE

struct u128 {
	uint64_t hi, lo; /* host order */
};

struct v6_entry {
	struct u128 in, out;
};

/*
 * Caches, indexed by slot(). An entry of zeros means that 0 becomes 0, which is
 * wrong; only slot 0 is searched for 0, and anon_create() fills it. A slot of
 * IPv6 addresses has two entries, the most recently used one first: these
 * addresses cost most to compute.
 */
struct anon {
	struct aes128_ctx aes;
	struct u128 pad;
	struct {
		uint32_t in, out;
	} v4[1 << V4_BITS];
	struct v6_entry v6[1 << V6_BITS][2];
	struct {
		uint64_t in, out;
	} upper[1 << UPPER_BITS]; /* halves of IPv6 addresses */
};

/* Multiplicative hashing (Knuth, TAOCP 6.4), of all bits; 0 has slot 0. */
static size_t
slot(uint64_t x, unsigned bits)
{
	x ^= x >> 32;
	return (size_t)((x * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - bits));
}

/* The first N bits, N < 64. */
static uint64_t
upper_bits(unsigned n)
{
	return ~(~UINT64_C(0) >> n);
}

/*
 * The bits to XOR into N bits of an address, after the first FROM: all within
 * one half. For each bit, the prefix before it, padded with the pad, is
 * encrypted; the first bit of the result counts. No block depends on another,
 * so one call encrypts them all.
 */
static uint64_t
flips(const struct anon *a, struct u128 address, unsigned from, unsigned n)
{
	uint8_t blocks[64 * BLOCK];
	uint64_t flip = 0;

	assert(n <= 64 && from + n <= 128);
	for (unsigned i = 0; i < n; i++) {
		const unsigned len = from + i;
		const uint64_t hi = len < 64 ? upper_bits(len) : ~UINT64_C(0);
		const uint64_t lo = len < 64 ? 0 : upper_bits(len - 64);
		const uint64_t block[2] = {
			htobe64((address.hi & hi) | (a->pad.hi & ~hi)),
			htobe64((address.lo & lo) | (a->pad.lo & ~lo)),
		};

		memcpy(blocks + i * BLOCK, block, BLOCK);
	}
	aes128_encrypt(&a->aes, (size_t)n * BLOCK, blocks, blocks);
	for (unsigned i = 0; i < n; i++)
		flip = flip << 1 | blocks[i * BLOCK] >> 7;
	return flip;
}

static uint32_t
new_v4(const struct anon *a, uint32_t in)
{
	const struct u128 address = { (uint64_t)in << 32, 0 };

	return in ^ (uint32_t)flips(a, address, 0, 32);
}

static uint64_t
new_upper(const struct anon *a, uint64_t in)
{
	return in ^ flips(a, (struct u128){ in, 0 }, 0, 64);
}

static uint64_t
upper(struct anon *a, uint64_t in)
{
	const size_t i = slot(in, UPPER_BITS);

	if (a->upper[i].in != in) {
		a->upper[i].in = in;
		a->upper[i].out = new_upper(a, in);
	}
	return a->upper[i].out;
}

static struct v6_entry
new_v6(struct anon *a, struct u128 in)
{
	const struct u128 out = { upper(a, in.hi),
		in.lo ^ flips(a, in, 64, 64) };

	return (struct v6_entry){ in, out };
}

static bool
is_of(const struct v6_entry *entry, struct u128 in)
{
	return entry->in.hi == in.hi && entry->in.lo == in.lo;
}

static struct u128
v6(struct anon *a, struct u128 in)
{
	/* without the factor, equal halves would cancel each other */
	struct v6_entry *const set =
	    a->v6[slot(in.hi * UINT64_C(0xd6e8feb86659fd93) ^ in.lo, V6_BITS)];

	if (!is_of(&set[0], in)) {
		const struct v6_entry found = is_of(&set[1], in)
						  ? set[1]
						  : new_v6(a, in);

		set[1] = set[0];
		set[0] = found;
	}
	return set[0].out;
}

void
anon_ipv4(struct anon *a, uint8_t address[4])
{
	uint32_t in;
	size_t i;

	memcpy(&in, address, sizeof(in));
	in = be32toh(in);
	i = slot(in, V4_BITS);
	if (a->v4[i].in != in) {
		a->v4[i].in = in;
		a->v4[i].out = new_v4(a, in);
	}
	in = htobe32(a->v4[i].out);
	memcpy(address, &in, sizeof(in));
}

void
anon_ipv6(struct anon *a, uint8_t address[16])
{
	uint64_t raw[2];
	struct u128 out;

	memcpy(raw, address, sizeof(raw));
	out = v6(a, (struct u128){ be64toh(raw[0]), be64toh(raw[1]) });
	raw[0] = htobe64(out.hi);
	raw[1] = htobe64(out.lo);
	memcpy(address, raw, sizeof(raw));
}

enum status
anon_create(struct anon **out, const uint8_t key[ANON_KEY_LEN])
{
	struct anon *a = calloc(1, sizeof(*a));
	uint64_t pad[2];

	if (a == NULL)
		return E_NOMEM;
	aes128_set_encrypt_key(&a->aes, key);
	aes128_encrypt(&a->aes, BLOCK, (uint8_t *)pad, key + AES128_KEY_SIZE);
	a->pad = (struct u128){ be64toh(pad[0]), be64toh(pad[1]) };
	explicit_bzero(pad, sizeof(pad));
	a->v4[0].out = new_v4(a, 0);
	a->upper[0].out = new_upper(a, 0);
	a->v6[0][0] = a->v6[0][1] = new_v6(a, (struct u128){ 0, 0 });
	*out = a;
	return OK;
}

void
anon_destroy(struct anon *a)
{
	if (a == NULL)
		return;
	explicit_bzero(a, sizeof(*a));
	free(a);
}

enum status
anon_read_key(const char *file, uint8_t key[ANON_KEY_LEN], const char **why)
{
	/* neither wait for a FIFO nor make a terminal ours */
	const int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	uint8_t bytes[ANON_KEY_LEN + 1];
	struct stat st;
	ssize_t n = -1;
	int error;

	memset(key, 0, ANON_KEY_LEN);
	*why = "cannot open the key";
	if (fd < 0)
		return E_IO;
	*why = "cannot read the key";
	errno = 0;
	if (fstat(fd, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			*why = "not a regular file";
		else if (st.st_mode & (S_IRWXG | S_IRWXO))
			*why = "accessible to others (use chmod 600)";
		else if ((n = read(fd, bytes, sizeof(bytes))) >= 0)
			*why = "not exactly 32 bytes";
	}
	error = errno;
	if (n == ANON_KEY_LEN)
		memcpy(key, bytes, ANON_KEY_LEN);
	explicit_bzero(bytes, sizeof(bytes));
	(void)close(fd);
	errno = error;
	if (n == ANON_KEY_LEN)
		return OK;
	return error != 0 ? E_IO : E_REFUSED;
}
