/* SPDX-License-Identifier: MIT */
/* What anon_packet() is made of: changes of one packet. */
#ifndef TOOLS_CAPTURE_ANON_EDIT_H
#define TOOLS_CAPTURE_ANON_EDIT_H

#include "tools/capture/anon.h"

/* A packet that is being changed. */
struct edit {
	struct anon *anon;
	enum anon_checksums checksums;
	unsigned depth; /* nesting of packets so far */
	bool may_tell; /* something was not understood: it may have addresses */
};

/* What has ETHER_TYPE: tags, labels, a network header and what follows it. */
void edit_network(struct edit *e, uint16_t ether_type, uint8_t *p, uint32_t n);

/* The sum of both, as of one after the other. */
uint16_t edit_sum_add(uint16_t a, uint16_t b);

/* The change of a checksum whose data had the sum WAS. */
uint16_t edit_sum_difference(uint16_t was, uint16_t is);

/* The sum of RFC 1071, not complemented; an odd byte at the end is the first of
 * its pair. */
uint16_t edit_sum_of(const uint8_t *p, uint32_t n);

/* Replace the address of LEN bytes (4, 16) at OFF of N bytes; returns the
 * change of a checksum over it. */
uint16_t edit_address(
    const struct edit *e, uint8_t *p, uint32_t n, uint32_t off, uint32_t len);

/* Adjust the checksum at OFF of N bytes, whose data changed by DIFFERENCE (RFC
 * 1624, equation 3). */
void edit_checksum(const struct edit *e, uint8_t *p, uint32_t n, uint32_t off,
    uint16_t difference);

/* Replace COUNT addresses of LEN bytes, the first at OFF, STEP bytes apart. */
void edit_addresses(const struct edit *e, uint8_t *p, uint32_t n, uint32_t off,
    uint32_t len, uint32_t step, uint32_t count);

/* N bytes are not understood. */
void edit_not_known(struct edit *e, uint32_t n);

/* Nor are those from END to N. */
void edit_not_known_after(struct edit *e, uint32_t n, uint32_t end);

/* Blank the padding from END to N; returns what is left of N. */
uint32_t edit_trim(uint8_t *p, uint32_t n, uint32_t end);

/* Anonymise the quoted packet at OFF of N bytes. */
void edit_quote(
    struct edit *e, uint16_t type, uint8_t *p, uint32_t n, uint32_t off);

void edit_icmp(struct edit *e, uint8_t *p, uint32_t n);

/* The pseudo-header changed by DIFFERENCE. */
void edit_icmpv6(struct edit *e, uint8_t *p, uint32_t n, uint16_t difference);

#endif
