/* SPDX-License-Identifier: MIT */
#include "tools/capture/summary.h"

#include <arpa/inet.h>
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "common/compiler.h"

#define ARROW " \xe2\x86\x92 " /* U+2192 */

struct text {
	char *s;
	size_t n;
};

static void PRINTF_LIKE(2, 3) add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->s + t->n, SUMMARY_LEN - t->n, fmt, ap);
	va_end(ap);
	assert(n >= 0 && t->n + (size_t)n < SUMMARY_LEN);
	t->n += (size_t)n;
}

static bool
has_ports(const struct headers *h)
{
	return h->transport_type == TRANSPORT_TCP ||
	       h->transport_type == TRANSPORT_UDP;
}

/* The address at ADDRESS, and the port at PORT bytes into the transport. */
static void
add_end(
    struct text *t, const struct headers *h, unsigned address, unsigned port)
{
	const bool is_six = h->network_type == NETWORK_IPV6;
	char s[INET6_ADDRSTRLEN] = "";

	(void)inet_ntop(
	    is_six ? AF_INET6 : AF_INET, h->network + address, s, sizeof(s));
	if (!has_ports(h))
		add(t, "%s", s);
	else
		add(t, is_six ? "[%s]:%u" : "%s:%u", s,
		    link_layer_u16(h->transport + port));
}

/* RFC 9293, 3.1, from the lowest bit on. */
static void
add_flags(struct text *t, uint8_t flags)
{
	static const char *const names[] = { "FIN", "SYN", "RST", "PSH", "ACK",
		"URG", "ECE", "CWR" };
	char before = ' ';

	for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
		if ((flags >> i & 1) == 0)
			continue;
		add(t, "%c%s", before, names[i]);
		before = ',';
	}
}

static void
add_protocol(struct text *t, const struct headers *h)
{
	switch (h->transport_type) {
	case TRANSPORT_TCP:
		add(t, " TCP");
		add_flags(t, h->transport[13]);
		break;
	case TRANSPORT_UDP:
		add(t, " UDP");
		break;
	case TRANSPORT_ICMP:
	case TRANSPORT_ICMPV6:
		add(t, " %s type %u code %u",
		    h->transport_type == TRANSPORT_ICMP ? "ICMP" : "ICMPv6",
		    h->transport[0], h->transport[1]);
		break;
	case TRANSPORT_UNKNOWN:
		add(t, " protocol %u", h->protocol);
		break;
	}
	if (h->is_fragment)
		add(t, " fragment");
}

static void
add_link(struct text *t, const struct record *r, const struct headers *h)
{
	const uint16_t type = h->link.ether_type;

	if (type == ETHER_TYPE_ARP)
		add(t, "ARP");
	else if (type >= 0x600)
		add(t, "Ethernet type 0x%04x", type);
	else
		add(t, "link type %u", r->link_type);
}

size_t
summary_write(
    char out[SUMMARY_LEN], const struct record *r, const struct headers *h)
{
	const bool is_six = h->network_type == NETWORK_IPV6;
	struct text t = { .s = out };

	if (h->network_type == NETWORK_UNKNOWN) {
		add_link(&t, r, h);
	} else {
		add_end(&t, h, is_six ? 8 : 12, 0);
		add(&t, ARROW);
		add_end(&t, h, is_six ? 24 : 16, 2);
		add_protocol(&t, h);
	}
	add(&t, " %" PRIu32, r->wire_len);
	return t.n;
}
