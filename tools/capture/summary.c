/* SPDX-License-Identifier: MIT */
#include "tools/capture/summary.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/compiler.h"

#define ARROW " \xe2\x86\x92 " /* U+2192 */

struct text {
	char *s;
	size_t n;
};

/* printf(3) would take several times as long. */
static void
add(struct text *t, const char *s)
{
	const size_t n = strlen(s);

	assert(t->n + n < SUMMARY_LEN);
	memcpy(t->s + t->n, s, n + 1);
	t->n += n;
}

static void
add_number(struct text *t, uint32_t v)
{
	char digits[sizeof("4294967295")], *p = digits + sizeof(digits) - 1;

	*p = '\0';
	do
		*--p = (char)('0' + v % 10);
	while ((v /= 10) > 0);
	add(t, p);
}

static bool
has_ports(const struct headers *h)
{
	return h->transport_type == TRANSPORT_TCP ||
	       h->transport_type == TRANSPORT_UDP;
}

static void
add_ipv4(struct text *t, const uint8_t *p)
{
	for (unsigned i = 0; i < 4; i++) {
		if (i > 0)
			add(t, ".");
		add_number(t, p[i]);
	}
}

static void
add_ipv6(struct text *t, const uint8_t *p, bool is_in_brackets)
{
	char s[INET6_ADDRSTRLEN] = "";

	(void)inet_ntop(AF_INET6, p, s, sizeof(s));
	add(t, is_in_brackets ? "[" : "");
	add(t, s);
	add(t, is_in_brackets ? "]" : "");
}

/* The address at ADDRESS, and the port at PORT bytes into the transport. */
static void
add_end(
    struct text *t, const struct headers *h, unsigned address, unsigned port)
{
	if (h->network_type == NETWORK_IPV6)
		add_ipv6(t, h->network + address, has_ports(h));
	else
		add_ipv4(t, h->network + address);
	if (has_ports(h)) {
		add(t, ":");
		add_number(t, link_layer_u16(h->transport + port));
	}
}

/* RFC 9293, 3.1, from the lowest bit on. */
static void
add_flags(struct text *t, uint8_t flags)
{
	static const char *const names[] = { "FIN", "SYN", "RST", "PSH", "ACK",
		"URG", "ECE", "CWR" };
	const char *before = " ";

	for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
		if ((flags >> i & 1) == 0)
			continue;
		add(t, before);
		add(t, names[i]);
		before = ",";
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
		add(t, h->transport_type == TRANSPORT_ICMP ? " ICMP type "
							   : " ICMPv6 type ");
		add_number(t, h->transport[0]);
		add(t, " code ");
		add_number(t, h->transport[1]);
		break;
	case TRANSPORT_UNKNOWN:
		add(t, " protocol ");
		add_number(t, h->protocol);
		break;
	}
	if (h->is_fragment)
		add(t, " fragment");
}

static void
add_link(struct text *t, const struct record *r, const struct headers *h)
{
	const uint16_t type = h->link.ether_type;
	char hex[sizeof("ffff")];

	if (type == ETHER_TYPE_ARP) {
		add(t, "ARP");
	} else if (type >= 0x600) {
		(void)snprintf(hex, sizeof(hex), "%04x", type);
		add(t, "Ethernet type 0x");
		add(t, hex);
	} else {
		add(t, "link type ");
		add_number(t, r->link_type);
	}
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
	add(&t, " ");
	add_number(&t, r->wire_len);
	return t.n;
}
