/* SPDX-License-Identifier: MIT */
/*
 * A packet of any link layer: two bytes of link type (pcap's number,
 * little-endian), then its bytes. Its headers are found within them, each with
 * all its bytes behind it; a hash is there exactly if a network header is; and
 * its event has the size that it may have, whatever of the packet it has.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tools/capture/ctf.h"

static void
check_headers(const struct headers *h, const uint8_t *p, uint32_t n)
{
	static const uint32_t network[] = { 0, 20, 40 },
			      transport[] = { 0, 20, 8, 8, 8 };

	assert(h->link.n_vlans <= LINK_LAYER_VLANS);
	assert(h->link.ethernet == NULL || (h->link.ethernet == p && n >= 14));
	assert((h->network == NULL) == (h->network_type == NETWORK_UNKNOWN));
	assert(
	    (h->transport == NULL) == (h->transport_type == TRANSPORT_UNKNOWN));
	assert(h->network_len >= network[h->network_type]);
	assert(h->transport_len >= transport[h->transport_type]);
	if (h->network != NULL)
		assert(h->network >= p && h->network + h->network_len <= p + n);
	if (h->transport != NULL)
		assert(h->transport >= h->network &&
		       h->transport + h->transport_len ==
			   h->network + h->network_len);
	assert((headers_flow_hash(h) == 0) ==
	       (h->network_type == NETWORK_UNKNOWN));
}

static void
encode(const struct record *r, const struct headers *h, enum payload payload)
{
	uint8_t *out = malloc(EVENT_SIZE_MAX(r->len));
	size_t n;

	assert(out != NULL);
	n = event_encode(out, r, h, payload);
	assert(n <= EVENT_SIZE_MAX(r->len));
	if (payload != PAYLOAD_FULL)
		assert(n <= EVENT_SIZE_MAX(0));
	else if (r->len > 0)
		assert(memcmp(out + n - r->len, r + 1, r->len) == 0);
	free(out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct record *r;
	struct headers h;

	if (n < 2 || n - 2 > RECORD_LEN_MAX)
		return 0;
	n -= 2;
	r = calloc(1, sizeof(*r) + n);
	assert(r != NULL);
	r->link_type = (uint16_t)(p[0] | p[1] << 8);
	r->len = r->cap_len = r->wire_len = (uint32_t)n;
	memcpy(record_bytes(r), p + 2, n);
	headers_find(&h, r->link_type, record_bytes(r), r->len);
	check_headers(&h, record_bytes(r), r->len);
	encode(r, &h, PAYLOAD_NONE);
	encode(r, &h, PAYLOAD_HEADERS);
	encode(r, &h, PAYLOAD_FULL);
	encode(r, &h, PAYLOAD_SUMMARY);
	free(r);
	return 0;
}
