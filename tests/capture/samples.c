/* SPDX-License-Identifier: MIT */
#include "tests/capture/samples.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "common/compiler.h"

#define MACS "020000000001 020000000002 "
#define TCP "3039 0050 01020304 05060708 5018 0100 abcd 0000 "
#define UDP "0035 c350 000a 1234 6869 "
#define IPV6_ADDRESSES                      \
	"20010db8000000000000000000000001 " \
	"20010db8000000000000000000000002 "

const struct sample samples[] = {
	{ "tcp", LINKTYPE_ETHERNET,
	    MACS "0800 45 10 002a 1c46 4000 40 06 b1e6 0a000001 c0a80002 " TCP
		 "4142" },
	{ "vlan udp", LINKTYPE_ETHERNET,
	    MACS "88a8 e064 8100 000a 0800 4500001e 00000000 4011b1e6 "
		 "0a000001 0a000002 " UDP },
	{ "icmp", LINKTYPE_RAW,
	    "4500001c 00000000 40010000 7f000001 7f000001 "
	    "0800 f7ff 00000001" },
	{ "fragment", LINKTYPE_ETHERNET,
	    MACS "0800 4500001c 12342001 40110000 0a000001 0a000002 "
		 "0102030405060708" },
	{ "tcp of IPv6", LINKTYPE_ETHERNET,
	    MACS "86dd 6ab12345 001c 00 40 " IPV6_ADDRESSES
		 "06 00 0104 00000000 " TCP },
	{ "icmpv6", LINKTYPE_LINUX_SLL,
	    "0004 0001 0006 020000000001 0000 86dd "
	    "60000000 0008 3a ff " IPV6_ADDRESSES "8000 1234 00010002" },
	{ "arp", LINKTYPE_ETHERNET, MACS "0806 0001 0800 06 04 0001" },
	{ "unknown", 147, "00ff10" },
	{ "nothing", LINKTYPE_ETHERNET, "" },
};
const size_t samples_n = ARRAY_LEN(samples);

struct bytes
sample_bytes(const struct sample *s)
{
	return bytes_hex(s->hex);
}

struct record *
sample_record(const struct bytes *b, uint16_t link_type)
{
	struct record *r = calloc(1, sizeof(*r) + b->n);

	if (r == NULL)
		err(EXIT_FAILURE, "record");
	r->link_type = link_type;
	r->len = r->cap_len = r->wire_len = (uint32_t)b->n;
	memcpy(r + 1, b->p, b->n);
	return r;
}
