/* SPDX-License-Identifier: MIT */
/* Tunnels, the headers in them, and the events of both. */
#include "tools/capture/tunnel.h"

#include <stdlib.h>
#include <string.h>

#include "common/compiler.h"
#include "tests/capture/samples.h"
#include "tests/lib/unit.h"
#include "tools/capture/ctf.h"
#include "tools/capture/headers.h"

#define UDP(port) "03e8 " port " 0000 0000 "
#define INNER                                                          \
	"45 00 0028 0000 0000 40 06 0000 c0a80001 c0a80002 1388 0050 " \
	"00000001 "                                                    \
	"00000000 5002 0400 0000 0000 "
#define MACS "020000000003 020000000004 0800 "
#define GRE "00000800"

/* What follows an IP header with the protocol. */
static const struct {
	const char *name, *bytes;
	uint8_t protocol;
	enum tunnel_type type;
	uint16_t ether_type;
	uint32_t offset;
} tunnels[] = {
	{ "tcp", "0102", 6, TUNNEL_NONE, 0, 0 },
	{ "dns", UDP("0035"), 17, TUNNEL_NONE, 0, 8 },
	{ "ipip", "45", 4, TUNNEL_IP, 0x0800, 0 },
	{ "6in4", "60", 41, TUNNEL_IP, 0x86dd, 0 },
	{ "gre", GRE, 47, TUNNEL_GRE, 0x0800, 4 },
	{ "gre, all", "b0006558 00000000 00000000 00000000", 47, TUNNEL_GRE,
	    0x6558, 16 },
	{ "gre, version", "00010800", 47, TUNNEL_UNKNOWN, 0, 4 },
	{ "gre, routes", "40000800", 47, TUNNEL_UNKNOWN, 0, 4 },
	{ "gre, cut", "200008000000", 47, TUNNEL_UNKNOWN, 0x0800, 4 },
	{ "vxlan", UDP("12b5") "08000000 00000700", 17, TUNNEL_VXLAN, 0x6558,
	    16 },
	{ "vxlan, cut", UDP("12b5") "080000", 17, TUNNEL_UNKNOWN, 0, 8 },
	{ "gpe, ipv4", UDP("12b6") "0c000001 00000700", 17, TUNNEL_VXLAN,
	    0x0800, 16 },
	{ "gpe, nsh", UDP("12b6") "0c000004 00000700", 17, TUNNEL_UNKNOWN, 0,
	    16 },
	{ "gpe, 6", UDP("12b6") "0c000006 00000700", 17, TUNNEL_UNKNOWN, 0,
	    16 },
	{ "geneve", UDP("17c1") "01006558 00000700 01020304", 17, TUNNEL_GENEVE,
	    0x6558, 20 },
	{ "geneve, cut", UDP("17c1") "02006558 00000700 01020304", 17,
	    TUNNEL_UNKNOWN, 0, 16 },
	{ "mpls", UDP("19eb") "00010140", 17, TUNNEL_MPLS, 0x8847, 8 },
	{ "gtp", UDP("0868") "30ff0000 00000001 45", 17, TUNNEL_GTP, 0x0800,
	    16 },
	{ "gtp, number", UDP("0868") "32ff0000 00000001 00010000 60", 17,
	    TUNNEL_GTP, 0x86dd, 20 },
	{ "gtp, more", UDP("0868") "34ff0000 00000001 00000085 01000000 45", 17,
	    TUNNEL_GTP, 0x0800, 24 },
	{ "gtp, endless", UDP("0868") "34ff0000 00000001 00000085 00", 17,
	    TUNNEL_UNKNOWN, 0, 21 },
	{ "gtp, echo", UDP("0868") "32010000 00000000", 17, TUNNEL_UNKNOWN, 0,
	    16 },
	{ "l2tp", UDP("06a5") "00", 17, TUNNEL_UNKNOWN, 0, 8 },
	{ "l2tp, back", "06a5 03e8 0000 0000 00", 17, TUNNEL_UNKNOWN, 0, 8 },
	{ "gtp, back", "0868 03e8 0000 0000 30", 17, TUNNEL_UNKNOWN, 0, 8 },
	{ "lisp", UDP("10f5") "80", 17, TUNNEL_UNKNOWN, 0, 8 },
	{ "teredo", UDP("0dd8") "60", 17, TUNNEL_UNKNOWN, 0, 8 },
	{ "pim register", "21000000 00000000 45", 103, TUNNEL_PIM, 0x0800, 8 },
	{ "pim hello", "20000000 00000000", 103, TUNNEL_UNKNOWN, 0, 8 },
};

TEST_ROWS(tunnels_are_found, ARRAY_LEN(tunnels))
{
	struct bytes b = bytes_hex(tunnels[_i].bytes);
	struct tunnel t;

	tunnel_find(&t, tunnels[_i].protocol, b.p, (uint32_t)b.n);
	ck_assert_msg(t.type == tunnels[_i].type, "%s: %d", tunnels[_i].name,
	    (int)t.type);
	if (t.type != TUNNEL_NONE) {
		ck_assert_uint_eq(t.offset, tunnels[_i].offset);
	}
	if (t.type != TUNNEL_NONE && t.type != TUNNEL_UNKNOWN) {
		ck_assert_uint_eq(t.ether_type, tunnels[_i].ether_type);
	}
	/* Cut anywhere, in memory that ends there. */
	for (uint32_t n = 0; n < b.n; n++) {
		struct bytes cut = bytes_copy(b.p, n);

		tunnel_find(&t, tunnels[_i].protocol, cut.p, n);
		ck_assert_uint_le(t.offset, n);
		free(cut.p);
	}
	free(b.p);
}

/* Whole packets, IPv4 from 10.0.0.1 to 10.0.0.2. */
#define IPV4(protocol) \
	"45 00 0000 0000 0000 40 " protocol " 0000 0a000001 0a000002 "

static const struct {
	const char *bytes;
	enum tunnel_type type;
} packets[] = {
	{ IPV4("04") INNER, TUNNEL_IP }, { IPV4("2f") GRE INNER, TUNNEL_GRE },
	{ IPV4("11") UDP("12b5") "08000000 00000700 " MACS INNER,
	    TUNNEL_VXLAN },
	{ IPV4("11") UDP("12b5") "08000000 00000700 020000000003 020000000004 "
				 "8100 0005 0800 " INNER,
	    TUNNEL_VXLAN },
	{ IPV4("11") UDP("19eb") "00010040 00010140 " INNER, TUNNEL_MPLS },
	{ IPV4("06") "1388 0050 00000001 00000000 5002 0400 0000 0000",
	    TUNNEL_NONE },
	{ IPV4("2f") "00000806 0001", TUNNEL_NONE }, /* ARP */
};

TEST_ROWS(headers_within_are_found, ARRAY_LEN(packets))
{
	static const uint8_t ends[] = { 192, 168, 0, 1, 192, 168, 0, 2 };
	struct bytes b = bytes_hex(packets[_i].bytes);
	struct headers outer, inner;
	enum tunnel_type type;

	headers_find(&outer, LINKTYPE_RAW, b.p, (uint32_t)b.n);
	ck_assert_int_eq(outer.network_type, NETWORK_IPV4);
	type = headers_find_inner(&inner, &outer);
	ck_assert_int_eq(type, packets[_i].type);
	if (type != TUNNEL_NONE) {
		ck_assert_int_eq(inner.network_type, NETWORK_IPV4);
		ck_assert_mem_eq(inner.network + 12, ends, sizeof(ends));
		ck_assert_int_eq(inner.transport_type, TRANSPORT_TCP);
	}
	free(b.p);
}

/* With all bytes, and back; cut anywhere it is refused. */
TEST_ROWS(events_have_both, ARRAY_LEN(packets))
{
	const bool is = packets[_i].type != TUNNEL_NONE;
	struct bytes b = bytes_hex(packets[_i].bytes);
	struct record *r = sample_record(&b, LINKTYPE_RAW), out;
	uint8_t *event = malloc(EVENT_SIZE_MAX(r->len));
	const uint8_t *bytes;
	struct headers h;
	struct reader in;
	size_t n;

	headers_find(&h, LINKTYPE_RAW, b.p, (uint32_t)b.n);
	n = event_encode(event, r, &h, PAYLOAD_FULL);
	ck_assert_uint_eq(event[0], is ? EVENT_IPV4_TUNNEL : EVENT_IPV4);
	in = reader_over(event, n);
	ck_assert_int_eq(event_decode(&in, &out, &bytes), OK);
	ck_assert_uint_eq(out.len, b.n);
	ck_assert_mem_eq(bytes, b.p, b.n);
	for (size_t k = 0; k < n; k++) {
		struct bytes cut = bytes_copy(event, k);

		in = reader_over(cut.p, k);
		ck_assert_int_eq(event_decode(&in, &out, &bytes), E_MALFORMED);
		free(cut.p);
	}
	free(event);
	free(r);
	free(b.p);
}
