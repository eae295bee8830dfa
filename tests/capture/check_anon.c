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

/* Two addresses that must not be readable afterwards. */
#define A4 "0b16212c "
#define A6 "20010db8 aabbccdd 11223344 55667788 "
#define S6 "20010db8 00000000 00000000 00000001 "
/* Lengths of 0: up to the end. */
#define IPV4(fragment, protocol) \
	"45000000 0001 " fragment "40 " protocol " 0000 09090909 09090909 "
#define IPV4_OPTIONS(ihl) "4" ihl "000000 00010000 40110000 09090909 09090909 "
#define IPV6(next) "60000000 0000 " next " 40 " S6 S6
#define UDP(from, to) from to "0000 0000 "
#define TCP(offset) "00010002 00000003 00000004 " offset "0100064 00000000 "
#define INNER4 "45000024 00010000 40110000 " A4 A4 UDP("1388", "0009")
#define INNER6 "60000000 00081140 " A6 A6 UDP("1388", "0009")
#define QUOTE IPV4("0000", "11") UDP("1388", "0009")
#define MPLS IPV4("0000", "2f") "00008847 00010140 "
#define ZEROS100                                     \
	"00000000000000000000 00000000000000000000 " \
	"00000000000000000000 00000000000000000000 " \
	"00000000000000000000 00000000000000000000 " \
	"00000000000000000000 00000000000000000000 " \
	"00000000000000000000 00000000000000000000 "
#define INTERFACE "20000000 000c0204 00010000 " A4 /* RFC 5837 */

static const struct {
	const char *name;
	bool is_known;
	const char *packet;
} judged[] = {
	{ "fragment of IP in IP", false, IPV4("0001", "04") A4 },
	{ "fragment of GRE", false, IPV4("0001", "2f") A4 },
	{ "IPv6, fragment of IP", false, IPV6("2c") "29000008 00000007 " A6 },
	{ "fragment of TCP", true, IPV4("0001", "06") "70617274" },
	{ "fragment of ICMPv6", true, IPV6("2c") "3a000008 00000007 70617274" },
	{ "query", true, IPV6("3a") "82000000 00000000 " S6 },
	{ "query with sources", true,
	    IPV6("3a") "82000000 00000000 " S6 "00000002 " A6 A6 },
	{ "query with more", false,
	    IPV6("3a") "82000000 00000000 " S6 "00000001 " A6 A6 },
	{ "report", true,
	    IPV6("00") "3a00 0502 0000 0100 8f000000 00000001 04000000 " A6 },
	{ "report, auxiliary data", false,
	    IPV6("3a") "8f000000 00000001 04010000 " S6 A4 },
	{ "report, more", false,
	    IPV6("3a") "8f000000 00000001 04000000 " S6 A4 },
	{ "node information", false,
	    IPV6("3a") "8b000000 00030000 00000000 00000000 " A6 },
	{ "inverse solicitation", false,
	    IPV6("3a") "8d000000 00000000 09030000 00000000 " A6 },
	{ "home agents", false,
	    IPV6("3a") "91000000 00010000 00000000 00000000 " A6 },
	{ "RPL", false, IPV6("3a") "9b010000 01010001 08000000 " A6 },
	{ "echo 6", true, IPV6("3a") "80000000 00010001 64617461" },
	{ "solicitation", true,
	    IPV6("3a") "87000000 00000000 " A6 "0101020000000001 "
		       "0e01010203040506" },
	{ "advertisement", true,
	    IPV6("3a") "88000000 e0000000 " A6 "0201020000000001" },
	{ "routers 6", true,
	    IPV6("3a") "86000000 40000708 00000000 00000000 "
		       "0101020000000001 05010000000005dc "
		       "030440c0 00000e10 00000e10 00000000 " A6
		       "19030000 00000e10 " A6 },
	{ "routers 6, ABRO", false,
	    IPV6("3a") "86000000 40000000 00000000 00000000 "
		       "23030000 00000000 " A6 },
	{ "routers 6, half a prefix", false,
	    IPV6("3a") "86000000 40000000 00000000 00000000 "
		       "18024000 00000000 20010db8aabbccdd" },
	{ "RPL's routing header", false,
	    IPV6("2b") "11020101 00000000 " A6 UDP("1388", "0009") },
	{ "segments with more", false,
	    IPV6("2b") "11050401 00000000 " S6 "01120000 " A6
		       "00000000 " UDP("1388", "0009") },
	{ "MPL option", false,
	    IPV6("00") "11026d12 c001 " A6 "0100 " UDP("1388", "0009") },
	{ "the same to the destination", false,
	    IPV6("3c") "11026d12 c001 " A6 "0100 " UDP("1388", "0009") },
	{ "jumbo", true, IPV6("00") "1100 c204 00010000 " UDP("1388", "0009") },
	{ "no next header", true, IPV6("3b") },
	{ "no next header, more", false, IPV6("3b") INNER4 },
	{ "TCP's usual options", true,
	    IPV4("0000", "06") TCP("f") "020405b4 0402 0303 07 01 "
					"080a 00000001 00000002 "
					"050a 00000001 00000002 01 "
					"2202 00000000000000 64617461" },
	{ "multipath, capable", true,
	    IPV4("0000", "06") TCP("6") "1e040181 64617461" },
	{ "multipath, address", false,
	    IPV4("0000", "06") TCP("7") "1e083001 " A4 },
	{ "multipath, address 6", false, IPV6("06") TCP("a") "1e143001 " A6 },
	{ "TCP option", false, IPV4("0000", "06") TCP("7") "fd060000 " A4 },
	{ "after TCP's options", false,
	    IPV4("0000", "06") TCP("7") "00000000 " A4 },
	{ "router alert", true,
	    IPV4_OPTIONS("6") "94040000 " UDP("0001", "0002") },
	{ "IP option 82", false,
	    IPV4_OPTIONS("8") "520c0001 00000000 " A4 UDP("0001", "0002") },
	{ "IP option 149", false,
	    IPV4_OPTIONS("7") "9506 " A4 "0000 " UDP("0001", "0002") },
	{ "IP option of 1 byte", false,
	    IPV4_OPTIONS("6") "52010000 " UDP("0001", "0002") },
	{ "after IP's options", false,
	    IPV4_OPTIONS("7") "00000000 " A4 UDP("0001", "0002") },
	{ "echo", true, IPV4("0000", "01") "08000000 00010001 64617461" },
	{ "clock", true,
	    IPV4("0000", "01") "0d000000 00010001 00000001 00000000 00000000" },
	{ "extended echo", false,
	    IPV4("0000", "01") "2a000000 00010001 20000000 000c0303 "
			       "00010400 " A4 },
	{ "mobility agent", false,
	    IPV4("0000", "01") "09000000 0102003c 09090909 00000000 "
			       "100a0001 003c8000 " A4 },
	{ "error", true,
	    IPV4("0000", "01") "03010000 00000000 " QUOTE ZEROS100 },
	{ "error with extensions", false,
	    IPV4("0000", "01") "03010000 00200000 " QUOTE ZEROS100 INTERFACE },
	{ "error with extensions, old", false,
	    IPV4("0000", "01") "0b010000 00000000 " QUOTE ZEROS100 INTERFACE },
	{ "error 6 with extensions", false,
	    IPV6("3a") "03000000 06000000 " IPV6("11") UDP("1388", "0009")
		INTERFACE },
	{ "DHCP", true, IPV4("0000", "11") UDP("0044", "0043") "01010600" },
	{ "LISP", false, IPV4("0000", "11") UDP("1388", "10f5") INNER4 },
	{ "GUE", false, IPV4("0000", "11") UDP("1388", "17c0") INNER4 },
	{ "FOU", false, IPV4("0000", "11") UDP("1388", "15b3") INNER4 },
	{ "TZSP", false, IPV4("0000", "11") UDP("1388", "9090") INNER4 },
	{ "CAPWAP", false, IPV4("0000", "11") UDP("147f", "1388") INNER4 },
	{ "AMT", false, IPV4("0000", "11") UDP("08dc", "1388") INNER4 },
	{ "Teredo", false, IPV4("0000", "11") UDP("0dd8", "1388") INNER6 },
	{ "L2TP", false, IPV4("0000", "11") UDP("06a5", "1388") INNER4 },
	{ "GTP", false, IPV4("0000", "11") UDP("0868", "1388") INNER4 },
	{ "IPv4 over MPLS", true,
	    MPLS "4500001c 00010000 40110000 " A4 A4 UDP("0001", "0002") },
	{ "IPv4 over MPLS, cut", true,
	    MPLS "45000021 00010000 4011eac1 800b4484 81764a04" },
	{ "IPv6 over MPLS", true,
	    MPLS "60000000 00081140 " A6 A6 UDP("0001", "0002") },
	{ "IPv6 over MPLS, cut", false,
	    MPLS "60000000 00401140 " A6 A6 UDP("0001", "0002") },
	{ "Ethernet over MPLS, MAC 45", false,
	    MPLS "4500001e0001 000000060002 0800 " INNER4 },
	{ "Ethernet over MPLS, MAC 60", false,
	    MPLS "600000000001 000000060002 0800 " INNER4 },
	{ "trailer", true,
	    "4500001c 00010000 40110000 09090909 09090909 " UDP("0001", "0002")
		INNER4 },
	{ "trailer of IPv6", true,
	    "60000000 00081140 " S6 S6 UDP("0001", "0002") INNER6 },
	{ "trailer of ARP", true,
	    IPV4("0000", "2f") "00000806 0001080006040001 020000000001 " A4
			       "000000000000 " A4 A4 },
};

/* What is not understood is not passed on; of the rest no address is left. */
TEST_ROWS(packets_are_judged, ARRAY_LEN(judged))
{
	struct bytes secrets[] = { bytes_hex(A4), bytes_hex(A6) };
	struct bytes in = bytes_hex(judged[_i].packet);
	struct anon *a = sample();
	const bool is_known = anon_packet(
	    a, LINKTYPE_RAW, in.p, (uint32_t)in.n, ANON_MEND);

	ck_assert_msg(is_known == judged[_i].is_known, "%s", judged[_i].name);
	for (size_t i = 0; i < ARRAY_LEN(secrets); i++) {
		if (is_known)
			ck_assert_msg(memmem(in.p, in.n, secrets[i].p,
					  secrets[i].n) == NULL,
			    "%s", judged[_i].name);
		free(secrets[i].p);
	}
	free(in.p);
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
