/* SPDX-License-Identifier: MIT */
#include "tools/capture/headers.h"

#include <stdio.h>
#include <string.h>

#include "common/compiler.h"
#include "tests/lib/bytes.h"
#include "tests/lib/unit.h"
#include "tools/capture/record.h"

#define MACS "020000000001 020000000002 "
#define ADDRESSES "0a000001 0a000002 "
#define IPV4(total, fragment, protocol) \
	"4500" total "1234" fragment "40" protocol "0000" ADDRESSES
#define IPV6(len, next)                    \
	"60000000" len next "40"           \
	"20010db8000000000000000000000001" \
	"20010db8000000000000000000000002"
#define TCP "3039 0050 01020304 05060708 5018 0100 abcd 0000"
#define UDP "0035 c350 000a 1234 "
#define ICMP "0800 f7ff 00000001"

#define V4 NETWORK_IPV4, 0x0800
#define V6 NETWORK_IPV6, 0x86dd
#define NONE NETWORK_UNKNOWN
#define UNKNOWN TRANSPORT_UNKNOWN

/* Where headers are, from the start of the bytes. */
static const struct {
	uint16_t link_type;
	const char *hex;
	enum network_type network;
	uint16_t ether_type;
	unsigned network_at, network_len;
	enum transport_type transport;
	unsigned transport_at, transport_len;
	uint8_t protocol, n_vlans;
	bool is_fragment;
} found[] = {
	/* Link layers. */
	{ LINKTYPE_ETHERNET, MACS "0800" IPV4("0028", "4000", "06") TCP, V4, 14,
	    40, TRANSPORT_TCP, 34, 20, .protocol = 6 },
	{ LINKTYPE_ETHERNET,
	    MACS "8100 0001 0800" IPV4("001c", "0000", "11") UDP, V4, 18, 28,
	    TRANSPORT_UDP, 38, 8, .protocol = 17, .n_vlans = 1 },
	{ LINKTYPE_ETHERNET,
	    MACS "88a8 0001 8100 0002 8100 0003 8100 0004 "
		 "86dd" IPV6("0008", "11") UDP,
	    V6, 30, 48, TRANSPORT_UDP, 70, 8, .protocol = 17, .n_vlans = 4 },
	{ LINKTYPE_ETHERNET,
	    MACS "8100 0001 8100 0001 8100 0001 8100 0001 "
		 "8100 0001 0800" IPV4("001c", "0000", "11") UDP,
	    V4, 34, 28, TRANSPORT_UDP, 54, 8, .protocol = 17, .n_vlans = 4 },
	{ LINKTYPE_ETHERNET, MACS "8100 00", NONE, .ether_type = 0x8100 },
	{ LINKTYPE_ETHERNET, MACS "001c" IPV4("001c", "0000", "11") UDP, NONE,
	    .ether_type = 0x001c },
	{ LINKTYPE_ETHERNET,
	    MACS "0024 aaaa03000000 0800" IPV4("001c", "0000", "11") UDP,
	    NETWORK_IPV4, 0x0024, 22, 28, TRANSPORT_UDP, 42, 8,
	    .protocol = 17 },
	{ LINKTYPE_ETHERNET,
	    MACS "8847 00001000 00002140" IPV4("001c", "0000", "11") UDP,
	    NETWORK_IPV4, 0x8847, 22, 28, TRANSPORT_UDP, 42, 8,
	    .protocol = 17 },
	{ LINKTYPE_ETHERNET,
	    MACS "9100 0001 8100 0002 86dd" IPV6("0008", "11") UDP, V6, 22, 48,
	    TRANSPORT_UDP, 62, 8, .protocol = 17, .n_vlans = 2 },
	{ LINKTYPE_ETHERNET,
	    MACS "0024 aaaa030000f8 8100 0001 0800" IPV4("001c", "0000", "11")
		UDP,
	    V4, 26, 28, TRANSPORT_UDP, 46, 8, .protocol = 17, .n_vlans = 1 },
	{ LINKTYPE_ETHERNET,
	    MACS "0024 aaaa03000000 8847 00002140" IPV6("0008", "11") UDP,
	    NETWORK_IPV6, 0x0024, 26, 48, TRANSPORT_UDP, 66, 8,
	    .protocol = 17 },
	{ LINKTYPE_ETHERNET, MACS "001f 060603" IPV4("001c", "0000", "11") UDP,
	    NETWORK_IPV4, 0x001f, 17, 28, TRANSPORT_UDP, 37, 8,
	    .protocol = 17 },
	{ LINKTYPE_ETHERNET, MACS "0026 424203" IPV4("001c", "0000", "11") UDP,
	    NONE, .ether_type = 0x0026 },
	{ LINKTYPE_ETHERNET, MACS "0024 aaaa0300000c 0800" IPV6("0008", "11"),
	    NONE, .ether_type = 0x0024 },
	{ LINKTYPE_ETHERNET,
	    MACS "8100 0001 8864 1100 0000 0032 0057" IPV6("0008", "11") UDP,
	    NETWORK_IPV6, 0x8864, 26, 48, TRANSPORT_UDP, 66, 8, .protocol = 17,
	    .n_vlans = 1 },
	{ LINKTYPE_ETHERNET,
	    MACS "8864 1100 0000 0022 0281 00001000 00002140" IPV4(
		"001c", "0000", "11") UDP,
	    NETWORK_IPV4, 0x8864, 30, 28, TRANSPORT_UDP, 50, 8,
	    .protocol = 17 },
	{ LINKTYPE_ETHERNET, MACS "0806 00010800", NONE, .ether_type = 0x0806 },
	{ LINKTYPE_ETHERNET, MACS "08", NONE, .ether_type = 0 },
	{ LINKTYPE_ETHERNET, MACS "8847" IPV4("001c", "0000", "11"), NONE,
	    .ether_type = 0x8847 },
	{ LINKTYPE_LINUX_SLL,
	    "0000 0001 0006 0200000000010000 0800" IPV4("001c", "0000", "11")
		UDP,
	    V4, 16, 28, TRANSPORT_UDP, 36, 8, .protocol = 17 },
	{ LINKTYPE_LINUX_SLL2,
	    "8100 0000 00000002 0001 00 06 0200000000010000 "
	    "0001 0800" IPV4("001c", "0000", "11") UDP,
	    V4, 24, 28, TRANSPORT_UDP, 44, 8, .protocol = 17, .n_vlans = 1 },
	{ LINKTYPE_LINUX_SLL, "0000 0001 0006 0200000000010000 08", NONE,
	    .ether_type = 0 },
	{ LINKTYPE_RAW, IPV4("001c", "0000", "01") ICMP, V4, 0, 28,
	    TRANSPORT_ICMP, 20, 8, .protocol = 1 },
	{ LINKTYPE_RAW, IPV6("0008", "3a") ICMP, V6, 0, 48, TRANSPORT_ICMPV6,
	    40, 8, .protocol = 58 },
	{ LINKTYPE_RAW, "5500", NONE, .ether_type = 0 },
	{ LINKTYPE_RAW, "", NONE, .ether_type = 0 },
	{ LINKTYPE_NULL, "02000000" IPV4("001c", "0000", "11") UDP, V4, 4, 28,
	    TRANSPORT_UDP, 24, 8, .protocol = 17 },
	{ LINKTYPE_NULL, "00000002" IPV4("001c", "0000", "11") UDP, V4, 4, 28,
	    TRANSPORT_UDP, 24, 8, .protocol = 17 },
	{ LINKTYPE_NULL, "1c000000" IPV6("0008", "11") UDP, V6, 4, 48,
	    TRANSPORT_UDP, 44, 8, .protocol = 17 },
	{ LINKTYPE_LOOP, "00000002" IPV4("001c", "0000", "11") UDP, V4, 4, 28,
	    TRANSPORT_UDP, 24, 8, .protocol = 17 },
	{ LINKTYPE_PPP, "ff03 0021" IPV4("001c", "0000", "11") UDP, V4, 4, 28,
	    TRANSPORT_UDP, 24, 8, .protocol = 17 },
	{ LINKTYPE_PPP, "0057" IPV6("0008", "11") UDP, V6, 2, 48, TRANSPORT_UDP,
	    42, 8, .protocol = 17 },
	{ LINKTYPE_PPP, "ff03 21" IPV4("001c", "0000", "11") UDP, V4, 3, 28,
	    TRANSPORT_UDP, 23, 8, .protocol = 17 },
	{ LINKTYPE_PPP, "c021 0101", NONE, .ether_type = 0 },
	{ LINKTYPE_C_HDLC, "0f00 0800" IPV4("001c", "0000", "11") UDP, V4, 4,
	    28, TRANSPORT_UDP, 24, 8, .protocol = 17 },
	{ LINKTYPE_PPP, "ff03 0281 00002140" IPV4("001c", "0000", "11") UDP,
	    NETWORK_IPV4, 0x8847, 8, 28, TRANSPORT_UDP, 28, 8, .protocol = 17 },
	{ LINKTYPE_IPV4, IPV4("001c", "0000", "11") UDP, V4, 0, 28,
	    TRANSPORT_UDP, 20, 8, .protocol = 17 },
	{ LINKTYPE_IPV6, IPV6("0008", "11") UDP, V6, 0, 48, TRANSPORT_UDP, 40,
	    8, .protocol = 17 },
	{ 147, IPV4("001c", "0000", "11") UDP, NONE, .ether_type = 0 },
	/* A data frame; one with quality of service and a fourth address, whose
	 * HT control is there; behind radiotap; encrypted; aggregated; a
	 * beacon; without a body. */
	{ LINKTYPE_IEEE802_11,
	    "0801 0000" MACS "020000000003 1000"
	    "aaaa03000000 0800" IPV4("001c", "0000", "11") UDP,
	    V4, 32, 28, TRANSPORT_UDP, 52, 8, .protocol = 17 },
	{ LINKTYPE_IEEE802_11,
	    "8883 0000" MACS "020000000003 1000"
	    "020000000004 0000 00000000 aaaa03000000 0800" IPV4(
		"001c", "0000", "11") UDP,
	    V4, 44, 28, TRANSPORT_UDP, 64, 8, .protocol = 17 },
	{ LINKTYPE_RADIOTAP,
	    "00000900 00000000 10 0802 0000" MACS
	    "020000000003 1000 aaaa03000000 86dd" IPV6("0008", "11") UDP,
	    V6, 41, 48, TRANSPORT_UDP, 81, 8, .protocol = 17 },
	{ LINKTYPE_RADIOTAP, "00000300 00000000 10 0802 0000" MACS, NONE,
	    .ether_type = 0 },
	{ LINKTYPE_IEEE802_11,
	    "0841 0000" MACS "020000000003 1000"
	    "aaaa03000000 0800" IPV4("001c", "0000", "11") UDP,
	    NONE, .ether_type = 0 },
	{ LINKTYPE_IEEE802_11,
	    "8801 0000" MACS "020000000003 1000 8000"
	    "aaaa03000000 0800" IPV4("001c", "0000", "11") UDP,
	    NONE, .ether_type = 0x0800 },
	{ LINKTYPE_IEEE802_11,
	    "0801 0000" MACS "020000000003 1100"
	    "aaaa03000000 0800" IPV4("001c", "0000", "11") UDP,
	    NONE, .ether_type = 0x0800 },
	{ LINKTYPE_IEEE802_11,
	    "8000 0000" MACS "020000000003 1000"
	    "aaaa03000000 0800" IPV4("001c", "0000", "11") UDP,
	    NONE, .ether_type = 0 },
	{ LINKTYPE_IEEE802_11,
	    "4801 0000" MACS "020000000003 1000"
	    "aaaa03000000 0800" IPV4("001c", "0000", "11") UDP,
	    NONE, .ether_type = 0 },
	/* IPv4: options; padding of Ethernet; captured in part; a total length
	 * of 0; one that is less than the header; a wrong version and header
	 * length. */
	{ LINKTYPE_RAW, "46000020 12340000 40110000" ADDRESSES "01010101" UDP,
	    V4, 0, 32, TRANSPORT_UDP, 24, 8, .protocol = 17 },
	{ LINKTYPE_RAW, "46000020 12340000 40110000" ADDRESSES "0101", V4, 0,
	    22, UNKNOWN, 0, 0, .protocol = 17 },
	{ LINKTYPE_RAW, IPV4("001c", "0000", "11") UDP "000000000000", V4, 0,
	    28, TRANSPORT_UDP, 20, 8, .protocol = 17 },
	{ LINKTYPE_RAW, IPV4("0018", "0000", "11") UDP, V4, 0, 24, UNKNOWN, 0,
	    0, .protocol = 17 },
	{ LINKTYPE_RAW, IPV4("05dc", "0000", "11") UDP, V4, 0, 28,
	    TRANSPORT_UDP, 20, 8, .protocol = 17 },
	{ LINKTYPE_RAW, IPV4("0000", "0000", "06") TCP "01", V4, 0, 41,
	    TRANSPORT_TCP, 20, 21, .protocol = 6 },
	{ LINKTYPE_RAW, IPV4("0003", "0000", "11") UDP, V4, 0, 20, UNKNOWN, 0,
	    0, .protocol = 17 },
	{ LINKTYPE_RAW, "44000020 12340000 40110000" ADDRESSES UDP, NONE,
	    .ether_type = 0x0800 },
	{ LINKTYPE_RAW, "45000020 12340000 40110000 0a000001 0a0000", NONE,
	    .ether_type = 0x0800 },
	{ LINKTYPE_ETHERNET, MACS "0800" IPV6("0008", "11") UDP, NONE,
	    .ether_type = 0x0800 },
	{ LINKTYPE_RAW, IPV4("001c", "0000", "3a") ICMP, V4, 0, 28, UNKNOWN, 0,
	    0, .protocol = 58 },
	/* A first fragment, and another. */
	{ LINKTYPE_RAW, IPV4("001c", "2000", "11") UDP, V4, 0, 28,
	    TRANSPORT_UDP, 20, 8, .protocol = 17, .is_fragment = true },
	{ LINKTYPE_RAW, IPV4("001c", "0001", "11") UDP, V4, 0, 28, UNKNOWN, 0,
	    0, .protocol = 17, .is_fragment = true },
	/* IPv6: hop-by-hop, routing, destination options, AH; padding; a length
	 * of 0; captured in part; extension headers without end. */
	{ LINKTYPE_RAW, IPV6("0010", "00") "1100010400000000" UDP, V6, 0, 56,
	    TRANSPORT_UDP, 48, 8, .protocol = 17 },
	{ LINKTYPE_RAW,
	    IPV6("0044", "2b") "3c01000000000000 0000000000000000"
			       "3300010400000000"
			       "0602000000000000 0000000000000000" TCP,
	    V6, 0, 100, TRANSPORT_TCP, 80, 20, .protocol = 6 },
	{ LINKTYPE_RAW, IPV6("0008", "11") UDP "0000", V6, 0, 48, TRANSPORT_UDP,
	    40, 8, .protocol = 17 },
	{ LINKTYPE_RAW, IPV6("0000", "11") UDP "0000", V6, 0, 50, TRANSPORT_UDP,
	    40, 10, .protocol = 17 },
	{ LINKTYPE_RAW, IPV6("0010", "00") "1101010400000000" UDP, V6, 0, 56,
	    UNKNOWN, 56, 0, .protocol = 17 },
	{ LINKTYPE_RAW, IPV6("0010", "00") "1102010400000000" UDP, V6, 0, 56,
	    UNKNOWN, 0, 0, .protocol = 0 },
	{ LINKTYPE_RAW, IPV6("0010", "3b") "", V6, 0, 40, UNKNOWN, 0, 0,
	    .protocol = 59 },
	{ LINKTYPE_RAW,
	    IPV6("0038",
		"3c") "3c00010400000000 3c00010400000000 3c00010400000000"
		      "3c00010400000000 3c00010400000000 1100010400000000" UDP,
	    V6, 0, 96, TRANSPORT_UDP, 88, 8, .protocol = 17 },
	{ LINKTYPE_RAW,
	    IPV6("0040",
		"3c") "3c00010400000000 3c00010400000000 3c00010400000000"
		      "3c00010400000000 3c00010400000000 3c00010400000000"
		      "1100010400000000" UDP,
	    V6, 0, 104, UNKNOWN, 0, 0, .protocol = 0 },
	{ LINKTYPE_RAW, IPV6("0008", "01") ICMP, V6, 0, 48, UNKNOWN, 0, 0,
	    .protocol = 1 },
	{ LINKTYPE_RAW, "45", NONE, .ether_type = 0x0800 },
	{ LINKTYPE_RAW, "6000000000", NONE, .ether_type = 0x86dd },
	/* A first fragment, another, one that is all there is, and one that
	 * begins within extension headers. */
	{ LINKTYPE_RAW, IPV6("0010", "2c") "1100000100000007" UDP, V6, 0, 56,
	    TRANSPORT_UDP, 48, 8, .protocol = 17, .is_fragment = true },
	{ LINKTYPE_RAW, IPV6("0010", "2c") "1100000800000007" UDP, V6, 0, 56,
	    UNKNOWN, 0, 0, .protocol = 17, .is_fragment = true },
	{ LINKTYPE_RAW, IPV6("0010", "2c") "1100000600000007" UDP, V6, 0, 56,
	    TRANSPORT_UDP, 48, 8, .protocol = 17 },
	{ LINKTYPE_RAW, IPV6("0010", "2c") "3c00000900000007" UDP, V6, 0, 56,
	    UNKNOWN, 0, 0, .protocol = 0, .is_fragment = true },
};

TEST_ROWS(headers_are_found, ARRAY_LEN(found))
{
	struct bytes b = bytes_hex(found[_i].hex);
	struct headers h;

	headers_find(&h, found[_i].link_type, b.p, (uint32_t)b.n);
	ck_assert_msg(h.network_type == found[_i].network, "%s", found[_i].hex);
	ck_assert_uint_eq(h.link.ether_type, found[_i].ether_type);
	ck_assert_uint_eq(h.link.n_vlans, found[_i].n_vlans);
	if (found[_i].network != NETWORK_UNKNOWN)
		ck_assert_ptr_eq(h.network, b.p + found[_i].network_at);
	else
		ck_assert_ptr_null(h.network);
	ck_assert_uint_eq(h.network_len, found[_i].network_len);
	ck_assert_uint_eq(h.protocol, found[_i].protocol);
	ck_assert(h.is_fragment == found[_i].is_fragment);
	ck_assert_int_eq(h.transport_type, found[_i].transport);
	if (found[_i].transport != TRANSPORT_UNKNOWN)
		ck_assert_ptr_eq(h.transport, b.p + found[_i].transport_at);
	else
		ck_assert_ptr_null(h.transport);
	ck_assert_uint_eq(h.transport_len, found[_i].transport_len);
	free(b.p);
}

/* Every beginning of each, in memory of that size: a sanitizer sees a read past
 * it, and the whole header is behind each pointer. */
TEST_ROWS(every_beginning, ARRAY_LEN(found))
{
	static const unsigned network[] = { 0, 20, 40 },
			      transport[] = { 0, 20, 8, 8, 8 };
	struct bytes b = bytes_hex(found[_i].hex);

	for (size_t n = 0; n <= b.n; n++) {
		struct bytes cut = bytes_copy(b.p, n);
		struct headers h;

		headers_find(&h, found[_i].link_type, cut.p, (uint32_t)n);
		ck_assert(h.link.ethernet == NULL || n >= 14);
		ck_assert_uint_ge(h.network_len, network[h.network_type]);
		ck_assert_uint_ge(h.transport_len, transport[h.transport_type]);
		ck_assert(h.network == NULL ||
			  h.network + h.network_len <= cut.p + n);
		ck_assert(
		    h.transport == NULL ||
		    h.transport + h.transport_len == h.network + h.network_len);
		ck_assert((headers_flow_hash(&h) == 0) ==
			  (h.network_type == NETWORK_UNKNOWN));
		free(cut.p);
	}
	free(b.p);
}

TEST(tags_in_their_order)
{
	struct bytes b = bytes_hex(MACS "88a8 e064 8100 000a 0806");
	struct headers h;

	headers_find(&h, LINKTYPE_ETHERNET, b.p, (uint32_t)b.n);
	ck_assert_ptr_eq(h.link.ethernet, b.p);
	ck_assert_uint_eq(h.link.n_vlans, 2);
	ck_assert_uint_eq(h.link.vlans[0], 0xe064);
	ck_assert_uint_eq(h.link.vlans[1], 10);
	ck_assert_uint_eq(h.link.ether_type, 0x0806);
	free(b.p);
}

static uint32_t
hash_of(const char *hex)
{
	struct bytes b = bytes_hex(hex);
	struct headers h;
	uint32_t hash;

	headers_find(&h, LINKTYPE_RAW, b.p, (uint32_t)b.n);
	hash = headers_flow_hash(&h);
	free(b.p);
	return hash;
}

#define A4 "0a000001"
#define B4 "0a000002"
#define A6 "20010db8000000000000000000000001"
#define B6 "20010db8000000000000000000000002"
#define HEAD4(fragment, protocol) "4500001c 1234" fragment "40" protocol "0000"
#define HEAD6(next) "60000000 0010" next "40"
#define FRAGMENT(next, offset) next "00" offset "00000007"

static const struct {
	const char *a, *b;
	bool is_equal;
} hashes[] = {
	{ HEAD4("0000", "11") A4 B4 "0035 c350 00080000",
	    HEAD4("0000", "11") B4 A4 "c350 0035 00080000", true },
	{ HEAD4("0000", "11") A4 B4 "0035 c350 00080000",
	    HEAD4("0000", "11") B4 A4 "0035 c350 00080000", false },
	{ HEAD4("0000", "11") A4 B4 "0035 c350 00080000",
	    HEAD4("0000", "11") A4 B4 "0035 c351 00080000", false },
	{ HEAD4("0000", "11") A4 B4 "0035 c350 00080000",
	    HEAD4("0000", "84") A4 B4 "0035 c350 00080000", false },
	{ HEAD4("0000", "01") A4 B4 "0800 0000 00010001",
	    HEAD4("0000", "01") B4 A4 "0000 0000 00010001", true },
	{ HEAD4("2000", "11") A4 B4 "0035 c350 00080000",
	    HEAD4("0001", "11") A4 B4 "0102 0304 05060708", true },
	{ HEAD4("2000", "11") A4 B4 "0035 c350 00080000",
	    HEAD4("0001", "11") B4 A4 "0102 0304 05060708", true },
	{ HEAD6("11") A6 B6 "0035 c350 00080000",
	    HEAD6("11") B6 A6 "c350 0035 00080000", true },
	{ HEAD6("11") A6 B6 "0035 c350 00080000",
	    HEAD6("11") B6 A6 "0035 c350 00080000", false },
	{ HEAD6("11") A6 B6 "0035 c350 00080000",
	    HEAD6("11") A6 A6 "0035 c350 00080000", false },
	{ HEAD6("11") A6 B6 "0035 c350 00080000",
	    HEAD6("00") A6 B6 "1100010400000000 0035 c350 00080000", true },
	{ HEAD6("2c") A6 B6 FRAGMENT("11", "0001") "0035 c350 00080000",
	    HEAD6("2c") B6 A6 FRAGMENT("11", "0008") "0102030405060708", true },
	{ HEAD6("2c") A6 B6 FRAGMENT("3c", "0001") "1100010400000000",
	    HEAD6("2c") A6 B6 FRAGMENT("3c", "0008") "0102030405060708", true },
};

TEST_ROWS(a_flow_has_one_hash, ARRAY_LEN(hashes))
{
	const uint32_t a = hash_of(hashes[_i].a), b = hash_of(hashes[_i].b);

	ck_assert_uint_ne(a, 0);
	ck_assert_uint_ne(b, 0);
	ck_assert_msg((a == b) == hashes[_i].is_equal, "%x %x", a, b);
}

#define FLOWS 12000

/* Flows that differ in a port, or in an address, alone: each of N workers gets
 * about as many; ten times the standard deviation is far from chance. */
TEST_ROWS(flows_are_spread, 20)
{
	static const unsigned moduli[] = { 2, 3, 4, 8, 16 };
	const unsigned modulus = moduli[_i % 5];
	struct bytes b = bytes_hex(
	    _i < 10 ? HEAD4("0000", "11") A4 B4 UDP : HEAD6("11") A6 B6 UDP);
	const size_t port = b.n - 7, address = _i < 10 ? 15 : 23;
	const size_t at = _i / 5 % 2 == 0 ? port : address;
	unsigned n[16] = { 0 };
	struct headers h;

	for (unsigned i = 0; i < FLOWS; i++) {
		b.p[at] = (uint8_t)i;
		b.p[at - 1] = (uint8_t)(i >> 8);
		headers_find(&h, LINKTYPE_RAW, b.p, (uint32_t)b.n);
		n[headers_flow_hash(&h) % modulus]++;
	}
	for (unsigned i = 0; i < modulus; i++) {
		const int off = (int)n[i] - (int)(FLOWS / modulus);

		ck_assert_msg((unsigned)(off * off) < 100 * FLOWS / modulus,
		    "%u of %u: %u", i, modulus, n[i]);
	}
	free(b.p);
}
