/* SPDX-License-Identifier: MIT */
#include "tools/capture/anon.h"

#include <arpa/inet.h>
#include <errno.h>
#include <nettle/aes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/bytes.h"
#include "tests/lib/fault.h"
#include "tests/lib/unit.h"
#include "tools/capture/record.h"

/* The key of the sample trace that is published with Crypto-PAn 1.0. */
static const uint8_t key[ANON_KEY_LEN] = { 21, 34, 23, 141, 51, 164, 207, 128,
	19, 10, 91, 22, 73, 144, 125, 16, 216, 152, 143, 131, 121, 121, 101, 39,
	98, 87, 76, 45, 42, 132, 34, 2 };

static struct anon *
sample(void)
{
	struct anon *a;

	ck_assert_int_eq(anon_create(&a, key), OK);
	return a;
}

static const struct {
	const char *in, *out;
} published[] = {
	{ "128.11.68.132", "135.242.180.132" },
	{ "129.118.74.4", "134.136.186.123" },
	{ "130.132.252.244", "133.68.164.234" },
	{ "152.163.225.39", "151.140.114.167" },
	{ "192.233.80.103", "252.25.108.8" },
	{ "198.36.213.5", "249.7.21.132" },
	{ "204.202.136.230", "243.178.4.198" },
	{ "207.105.49.5", "241.118.205.138" },
	{ "208.147.89.59", "227.237.98.191" },
	{ "209.246.74.109", "226.22.124.76" },
	{ "212.204.172.118", "228.71.195.169" },
	{ "216.254.18.172", "235.7.16.162" },
	{ "24.5.0.80", "100.9.15.210" },
	{ "63.195.241.44", "95.179.238.44" },
};

static void
v4(struct anon *a, const char *in, char out[INET_ADDRSTRLEN])
{
	uint8_t address[4];

	ck_assert_int_eq(inet_pton(AF_INET, in, address), 1);
	anon_ipv4(a, address);
	ck_assert_ptr_nonnull(
	    inet_ntop(AF_INET, address, out, INET_ADDRSTRLEN));
}

TEST_ROWS(published_addresses_come_out, ARRAY_LEN(published))
{
	struct anon *a = sample();
	char out[INET_ADDRSTRLEN];

	for (int i = 0; i < 2; i++) { /* computed, then remembered */
		v4(a, published[_i].in, out);
		ck_assert_str_eq(out, published[_i].out);
	}
	anon_destroy(a);
}

/* The scheme as the paper has it, a bit at a time. */
static void
by_the_paper(const uint8_t *in, uint8_t *out, unsigned bits)
{
	struct aes128_ctx aes;
	uint8_t pad[16], block[16];

	aes128_set_encrypt_key(&aes, key);
	aes128_encrypt(&aes, 16, pad, key + 16);
	for (unsigned i = 0; i < bits; i++) {
		memcpy(block, pad, sizeof(block));
		for (unsigned b = 0; b < i; b++) {
			const uint8_t mask = (uint8_t)(0x80 >> b % 8);

			block[b / 8] = (uint8_t)((block[b / 8] & ~mask) |
						 (in[b / 8] & mask));
		}
		aes128_encrypt(&aes, 16, block, block);
		if (i % 8 == 0)
			out[i / 8] = in[i / 8];
		out[i / 8] ^= (uint8_t)((block[0] >> 7) << (7 - i % 8));
	}
}

static uint64_t
next(uint64_t *state) /* xorshift64 (Marsaglia, 2003) */
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

TEST(random_addresses_as_by_the_paper)
{
	struct anon *a = sample();
	uint8_t in[16] = { 0 }, want[16], got[16];
	uint64_t state = 1;

	for (int i = 0; i < 2000; i++) {
		memcpy(got, in, sizeof(got));
		by_the_paper(in, want, 32);
		anon_ipv4(a, got);
		ck_assert_mem_eq(got, want, 4);
		memcpy(got, in, sizeof(got));
		by_the_paper(in, want, 128);
		anon_ipv6(a, got);
		ck_assert_mem_eq(got, want, 16);
		/* sometimes one half stays, or both are equal */
		for (int b = i % 3 == 0 ? 8 : 0; b < 16; b++)
			in[b] = (uint8_t)next(&state);
		if (i % 5 == 0)
			memcpy(in, in + 8, 8);
		if (i % 7 == 0)
			memset(in, 0, 8);
	}
	anon_destroy(a);
}

/* Computed with the openssl program, AES-128-ECB, from the scheme. */
static const struct {
	const char *in, *out;
} ipv6[] = {
	{ "::", "78ff:f001:9fc0:20df:8380:b1f1:704:ec" },
	{ "::1", "78ff:f001:9fc0:20df:8380:b1f1:704:ed" },
	{ "2001:db8::1", "4401:2bc:603f:d91d:27f:ff8e:e6f1:dc1e" },
	{ "2001:db8::2", "4401:2bc:603f:d91d:27f:ff8e:e6f1:dc1c" },
	{ "2001:db8:0:1::1", "4401:2bc:603f:d91c:e270:eff0:60f:1ffd" },
	{ "fe80::211:22ff:fe33:4455", "cf7f:c0e:1fc3:da1c:211:2d04:42cc:a575" },
	{ "ff02::1", "cef2:fc0c:1fff:dffe:ff8f:de7f:10f9:3f01" },
	{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	    "ce78:61ff:387e:8078:38c4:407:c3bf:f781" },
};

TEST_ROWS(ipv6_addresses_come_out, ARRAY_LEN(ipv6))
{
	struct anon *a = sample();
	uint8_t address[16];
	char out[INET6_ADDRSTRLEN];

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(inet_pton(AF_INET6, ipv6[_i].in, address), 1);
		anon_ipv6(a, address);
		ck_assert_ptr_nonnull(
		    inet_ntop(AF_INET6, address, out, sizeof(out)));
		ck_assert_str_eq(out, ipv6[_i].out);
	}
	anon_destroy(a);
}

/* Two rounds over as many as push one another out of the memory. */
TEST(more_addresses_than_are_remembered)
{
	struct anon *a = sample();
	uint8_t got[16], want[16];

	for (uint32_t i = 0; i < 60000; i++) {
		const uint32_t n = i % 30000;
		const uint8_t in[16] = { 10, (uint8_t)(n >> 10),
			(uint8_t)(n >> 4), (uint8_t)(n << 4), 0, 0, 0, 0, 0,
			(uint8_t)(n >> 8), (uint8_t)n };

		memcpy(got, in, sizeof(got));
		anon_ipv4(a, got);
		if (i % 500 == 0) {
			by_the_paper(in, want, 32);
			ck_assert_mem_eq(got, want, 4);
		}
		memcpy(got, in, sizeof(got));
		anon_ipv6(a, got);
		if (i % 500 == 0) {
			by_the_paper(in, want, 128);
			ck_assert_mem_eq(got, want, 16);
		}
	}
	anon_destroy(a);
}

TEST(no_memory_is_said)
{
	struct anon *a = NULL;
	enum status st;
	bool failed;

	fault_arm(1);
	st = anon_create(&a, key);
	failed = fault_disarm();
	ck_assert(failed);
	ck_assert_int_eq(st, E_NOMEM);
	anon_destroy(NULL);
}

static const struct {
	size_t n;
	mode_t mode;
	const char *why; /* NULL: it is good */
} files[] = {
	{ 32, 0600, NULL },
	{ 32, 0400, NULL },
	{ 32, 0640, "accessible to others (use chmod 600)" },
	{ 32, 0604, "accessible to others (use chmod 600)" },
	{ 32, 0620, "accessible to others (use chmod 600)" },
	{ 31, 0600, "not exactly 32 bytes" },
	{ 33, 0600, "not exactly 32 bytes" },
	{ 0, 0600, "not exactly 32 bytes" },
};

TEST_ROWS(a_key_file_is_its_owners_and_of_the_right_size, ARRAY_LEN(files))
{
	static const uint8_t zeros[ANON_KEY_LEN];
	char name[] = "check_anon.XXXXXX";
	uint8_t bytes[40], got[ANON_KEY_LEN];
	const int fd = mkstemp(name);
	const char *why = NULL;
	enum status st;

	ck_assert_int_ge(fd, 0);
	memcpy(bytes, key, ANON_KEY_LEN);
	memset(bytes + ANON_KEY_LEN, 7, sizeof(bytes) - ANON_KEY_LEN);
	ck_assert_int_eq(write(fd, bytes, files[_i].n), (ssize_t)files[_i].n);
	ck_assert_int_eq(fchmod(fd, files[_i].mode), 0);
	st = anon_read_key(name, got, &why);
	ck_assert_int_eq(errno, 0);
	close(fd);
	unlink(name);
	if (files[_i].why == NULL) {
		ck_assert_int_eq(st, OK);
		ck_assert_mem_eq(got, key, ANON_KEY_LEN);
	} else {
		ck_assert_int_eq(st, E_REFUSED);
		ck_assert_str_eq(why, files[_i].why);
		ck_assert_mem_eq(got, zeros, ANON_KEY_LEN);
	}
}

TEST(what_is_no_file_is_no_key)
{
	char name[] = "check_anon.XXXXXX";
	uint8_t got[ANON_KEY_LEN];
	const char *why = NULL;
	enum status st;

	ck_assert_ptr_nonnull(mkdtemp(name));
	st = anon_read_key(name, got, &why);
	rmdir(name);
	ck_assert_int_eq(st, E_REFUSED);
	ck_assert_str_eq(why, "not a regular file");
	ck_assert_int_eq(mkfifo(name, 0600), 0);
	st = anon_read_key(name, got, &why);
	unlink(name);
	ck_assert_int_eq(st, E_REFUSED);
	ck_assert_str_eq(why, "not a regular file");
	st = anon_read_key(name, got, &why);
	ck_assert_int_eq(st, E_IO);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_str_eq(why, "cannot open the key");
}

/* Link type, packet, and what becomes of it by ANON_MEND and ANON_BLANK. */
static const struct {
	uint16_t link_type;
	const char *in, *mended, *blanked;
} packets[] = {
	/* UDP from 128.11.68.132 to 129.118.74.4 */
	{ LINKTYPE_RAW,
	    "45000021000100004011eac1 800b4484 81764a04 03e80035000d27db"
	    "68656c6c6f",
	    "45000021000100004011fd50 87f2b484 8688ba7b 03e80035000d3a6a"
	    "68656c6c6f",
	    "450000210001000040110000 87f2b484 8688ba7b 03e80035000d0000"
	    "68656c6c6f" },
	/* without a checksum of UDP */
	{ LINKTYPE_RAW,
	    "45000021000100004011eac1 800b4484 81764a04 03e80035000d0000"
	    "68656c6c6f",
	    "45000021000100004011fd50 87f2b484 8688ba7b 03e80035000d0000"
	    "68656c6c6f",
	    "450000210001000040110000 87f2b484 8688ba7b 03e80035000d0000"
	    "68656c6c6f" },
	/* a checksum that would become 0, which UDP may not have */
	{ LINKTYPE_RAW,
	    "4500001c000100004011eac6 800b4484 81764a04 00000000 0008ed70",
	    "4500001c000100004011fd55 87f2b484 8688ba7b 00000000 0008ffff",
	    "4500001c0001000040110000 87f2b484 8688ba7b 00000000 00080000" },
	/* the target is cut off after two bytes */
	{ LINKTYPE_ETHERNET,
	    "ffffffffffff 020000000001 0806 0001080006040001 020000000001"
	    "800b4484 000000000000 8176",
	    "ffffffffffff 020000000001 0806 0001080006040001 020000000001"
	    "87f2b484 000000000000 0000",
	    NULL },
	/* a header that is cut off: its checksum would tell */
	{ LINKTYPE_RAW, "45000021000100004011eac1 800b4484 81764a",
	    "450000210001000040110000 87f2b484 000000", NULL },
	/* not IP, though Ethernet says so; a link type that is not known */
	{ LINKTYPE_RAW, "35000021000100004011eac1 800b4484 81764a04",
	    "35000021000100004011eac1 800b4484 81764a04", NULL },
	{ 9999, "45000021000100004011eac1 800b4484 81764a04",
	    "45000021000100004011eac1 800b4484 81764a04", NULL },
};

TEST_ROWS(packets_come_out, ARRAY_LEN(packets))
{
	struct anon *a = sample();

	for (int i = 0; i < 2; i++) {
		struct bytes in = bytes_hex(packets[_i].in);
		struct bytes want = bytes_hex(
		    i == 1 && packets[_i].blanked != NULL ? packets[_i].blanked
							  : packets[_i].mended);

		(void)!anon_packet(a, packets[_i].link_type, in.p,
		    (uint32_t)in.n, i == 1 ? ANON_BLANK : ANON_MEND);
		ck_assert_uint_eq(in.n, want.n);
		ck_assert_mem_eq(in.p, want.p, in.n);
		free(in.p);
		free(want.p);
	}
	anon_destroy(a);
}

static const uint16_t link_types[] = { LINKTYPE_NULL, LINKTYPE_ETHERNET,
	LINKTYPE_PPP, LINKTYPE_RAW, LINKTYPE_C_HDLC, LINKTYPE_IEEE802_11,
	LINKTYPE_LOOP, LINKTYPE_LINUX_SLL, LINKTYPE_RADIOTAP, LINKTYPE_IPV4,
	LINKTYPE_IPV6, LINKTYPE_LINUX_SLL2 };

/* Bytes that lead into every corner. */
static const uint8_t likely[] = { 0, 1, 2, 3, 4, 5, 6, 8, 0x11, 0x29, 0x2b,
	0x2c, 0x2f, 0x33, 0x3a, 0x3c, 0x40, 0x44, 0x45, 0x46, 0x4f, 0x60, 0x65,
	0x58, 0x81, 0x83, 0x86, 0x87, 0x88, 0x89, 0x8f, 0xa8, 0xaa, 0xc9, 0xdd,
	0xff };

/* The memory has the exact size: a sanitizer sees what is touched beyond. */
TEST_ROWS(any_bytes_may_come, ARRAY_LEN(link_types))
{
	struct anon *a = sample();
	uint64_t state = 0x1234567 + (uint64_t)_i;
	uint8_t raw[200];

	for (int round = 0; round < 20000; round++) {
		const uint32_t n = (uint32_t)(next(&state) % sizeof(raw));
		struct bytes p;

		for (uint32_t i = 0; i < n; i++)
			raw[i] = likely[next(&state) % sizeof(likely)];
		/* behind Ethernet's types */
		if (round % 2 && n > 16)
			memcpy(raw + 12,
			    round % 4 == 1 ? "\x08\0\x45" : "\x86\xdd\x60", 3);
		p = bytes_copy(raw, n);
		(void)!anon_packet(a, link_types[_i], p.p, n,
		    round % 3 ? ANON_MEND : ANON_BLANK);
		free(p.p);
	}
	anon_destroy(a);
}

TEST(packets_within_packets_have_an_end)
{
	struct anon *a = sample();
	const uint32_t n = RECORD_LEN_MAX / 20 * 20;
	uint8_t *p = calloc(1, n), *before = malloc(n);
	uint32_t deep = (ANON_DEPTH + 1) * 20;

	ck_assert(p != NULL && before != NULL);
	for (uint32_t i = 0; i < n; i += 20) {
		p[i] = 0x45;
		p[i + 9] = 4; /* IP in IP */
		p[i + 12] = p[i + 16] = 10;
	}
	memcpy(before, p, n);
	ck_assert(!anon_packet(a, LINKTYPE_RAW, p, n, ANON_MEND));
	for (uint32_t i = 0; i < deep; i += 20)
		ck_assert_mem_ne(p + i, before + i, 20);
	ck_assert_mem_eq(p + deep, before + deep, n - deep);
	free(before);
	free(p);
	anon_destroy(a);
}
