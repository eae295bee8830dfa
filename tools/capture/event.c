/* SPDX-License-Identifier: MIT */
#include "tools/capture/event.h"

#include <string.h>

#include "tools/capture/little.h"

/* Of _link_header_type. */
#define LINK_UNKNOWN 0
#define LINK_ETHERNET 1

static uint8_t *
put_header(uint8_t *out, enum event_id id, uint64_t ns)
{
	out = little_u16(out, (uint16_t)id);
	return little_u64(out, ns);
}

/* Both addresses, the tags, the EtherType. */
static uint8_t *
put_link(uint8_t *out, const struct headers *h)
{
	if (h->ethernet == NULL)
		return little_u8(out, LINK_UNKNOWN);
	out = little_u8(out, LINK_ETHERNET);
	out = little_bytes(out, h->ethernet, 12);
	out = little_u8(out, h->n_vlans);
	for (unsigned i = 0; i < h->n_vlans; i++)
		out = little_u16(out, h->vlans[i]);
	return little_u16(out, h->ether_type);
}

static uint8_t *
put_transport(uint8_t *out, const struct headers *h)
{
	out = little_u8(out, (uint8_t)h->transport_type);
	switch (h->transport_type) {
	case TRANSPORT_TCP:
		return little_bytes(out, h->transport, 20);
	case TRANSPORT_UDP:
	case TRANSPORT_ICMP:
	case TRANSPORT_ICMPV6:
		return little_bytes(out, h->transport, 8);
	case TRANSPORT_UNKNOWN:
		break;
	}
	return out;
}

/* As on the wire: the metadata says that these fields are big-endian. */
static uint8_t *
put_network(uint8_t *out, const struct headers *h)
{
	switch (h->network_type) {
	case NETWORK_IPV4:
		out = little_bytes(out, h->network, 20);
		return put_transport(out, h);
	case NETWORK_IPV6:
		out = little_bytes(out, h->network, 40);
		return put_transport(out, h);
	case NETWORK_UNKNOWN:
		break;
	}
	return out;
}

static enum event_id
class_of(const struct headers *h)
{
	switch (h->network_type) {
	case NETWORK_IPV4:
		return EVENT_IPV4;
	case NETWORK_IPV6:
		return EVENT_IPV6;
	case NETWORK_UNKNOWN:
		break;
	}
	return EVENT_PACKET;
}

size_t
event_encode(uint8_t *out, const struct record *r, const struct headers *h,
    enum payload payload)
{
	const uint8_t *start = out;

	out = put_header(
	    out, payload == PAYLOAD_NONE ? EVENT_PACKET : class_of(h), r->ns);
	out = little_u16(out, r->link_type);
	out = little_u8(out, r->direction);
	out = little_u32(out, r->wire_len);
	out = little_u32(out, r->cap_len);
	if (payload == PAYLOAD_NONE)
		return (size_t)(out - start);
	out = put_link(out, h);
	out = put_network(out, h);
	if (payload == PAYLOAD_FULL) {
		out = little_u32(out, r->len);
		out = little_bytes(out, r + 1, r->len);
	}
	return (size_t)(out - start);
}

size_t
event_encode_stats(uint8_t *out, const struct record *r)
{
	const uint8_t *start = out;
	struct record_stats stats;

	memcpy(&stats, r + 1, sizeof(stats));
	out = put_header(out, EVENT_STATS, r->ns);
	out = little_u64(out, stats.received);
	out = little_u64(out, stats.dropped_kernel);
	out = little_u64(out, stats.dropped_local);
	return (size_t)(out - start);
}
