/* SPDX-License-Identifier: MIT */
/*
 * Prefix-preserving anonymisation of IP addresses (Crypto-PAn: Xu, Fan, Ammar,
 * Moon, "Prefix-Preserving IP Address Anonymization", 2002): two addresses that
 * share a prefix of N bits share one of N bits afterwards. The same key gives
 * the IPv4 addresses that libtrace's traceanon gives; IPv6 addresses are 128
 * bits of the same scheme. One thread per object, which keeps what it has
 * computed, in memory of a fixed size.
 */
#ifndef TOOLS_CAPTURE_ANON_H
#define TOOLS_CAPTURE_ANON_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

#define ANON_KEY_LEN 32

struct anon;

/* E_NOMEM. KEY is copied. */
enum status anon_create(
    struct anon **out, const uint8_t key[ANON_KEY_LEN]) MUST_CHECK;
void anon_destroy(struct anon *a); /* NULL is fine; the key is wiped */

/* Read a key: a regular file of exactly ANON_KEY_LEN bytes, to which its group
 * and others have no access. Not OK: *WHY says what is wrong, a constant
 * string; errno is 0 or the reason, and KEY is zeros. */
enum status anon_read_key(
    const char *file, uint8_t key[ANON_KEY_LEN], const char **why) MUST_CHECK;

/* In place, network order: 4 and 16 bytes. */
void anon_ipv4(struct anon *a, uint8_t address[4]);
void anon_ipv6(struct anon *a, uint8_t address[16]);

/* What becomes of checksums that no longer match: those of IPv4's header, TCP,
 * UDP, UDP-Lite, DCCP, ICMP, ICMPv6 and GRE. */
enum anon_checksums {
	/* By the difference (RFC 1624): a right one stays right, a wrong one
	 * wrong. One that the sender's network card would have filled in says
	 * something of the sum of both true addresses even then: for traffic of
	 * this machine ANON_BLANK is the safe choice. */
	ANON_MEND,
	ANON_BLANK, /* 0, as traceanon does in the outer headers */
};

/*
 * A packet of N bytes from its link layer on; LINK_TYPE is an enum linktype.
 * Without link_is_known() nothing is changed: such bytes must go nowhere. All
 * addresses become others (anon_ipv4(), anon_ipv6()) of
 * - IPv4 and IPv6 headers, with routes and times that IPv4's options have, and
 *   IPv6's routing headers (types 0, 2, 4) and home address option;
 * - ARP: the protocol addresses of IPv4;
 * - ICMP redirects and router advertisements; ICMPv6 neighbour discovery (with
 *   prefixes, DNS servers and quotes in its options) and multicast listeners;
 * - packets that ICMP errors quote, and those inside IP and GRE tunnels; up to
 *   ANON_DEPTH of them, one in the other.
 * MAC addresses stay, as does all that no header says: payloads, the messages
 * of routing protocols, tunnels over UDP, fragments but the first.
 *
 * Bytes that are not there are not touched. An address that is cut off becomes
 * zeros, so does a checksum that is cut off, and that of an IPv4 header which
 * is not whole: what is missing would show in it.
 */
#define ANON_DEPTH 8
void anon_packet(struct anon *a, uint16_t link_type, uint8_t *p, uint32_t n,
    enum anon_checksums checksums);

#endif
