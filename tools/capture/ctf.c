/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/capture/ctf.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ctf/packet.h"
#include "ctf/tsdl_text.h"
#include "tools/capture/little.h"
#include "tools/capture/summary.h"

/* Of _link_header_type. */
#define LINK_UNKNOWN 0
#define LINK_ETHERNET 1

static uint8_t *
put_header(uint8_t *out, enum event_id id, uint64_t ns)
{
	out = little_u16(out, (uint16_t)id);
	return little_u64(out, ns);
}

/* Both addresses, the source first, the tags, the EtherType. */
static uint8_t *
put_link(uint8_t *out, const struct link_layer *l)
{
	if (l->ethernet == NULL)
		return little_u8(out, LINK_UNKNOWN);
	out = little_u8(out, LINK_ETHERNET);
	out = little_bytes(out, l->ethernet + 6, 6);
	out = little_bytes(out, l->ethernet, 6);
	out = little_u8(out, l->n_vlans);
	for (unsigned i = 0; i < l->n_vlans; i++)
		out = little_u16(out, l->vlans[i]);
	return little_u16(out, l->ether_type);
}

/* The bytes of headers that events have. In the metadata their fields are
 * big-endian, as on the wire. */
static const uint8_t network_lens[] = {
	[NETWORK_IPV4] = 20, [NETWORK_IPV6] = 40
};
static const uint8_t transport_lens[] = { [TRANSPORT_TCP] = 20,
	[TRANSPORT_UDP] = 8,
	[TRANSPORT_ICMP] = 8,
	[TRANSPORT_ICMPV6] = 8 };

/* Who reads a line of babeltrace2 wants to know first: from whom, to whom,
 * which protocol. The other fields are in the order of the wire. */
static uint8_t *
put_ipv4(uint8_t *out, const uint8_t *p)
{
	out = little_bytes(out, p + 12, 8); /* the addresses */
	out = little_bytes(out, p + 9, 1);
	out = little_bytes(out, p, 9);
	return little_bytes(out, p + 10, 2);
}

static uint8_t *
put_ipv6(uint8_t *out, const uint8_t *p)
{
	out = little_bytes(out, p + 8, 32); /* the addresses */
	out = little_bytes(out, p + 6, 1);
	out = little_bytes(out, p, 6);
	return little_bytes(out, p + 7, 1);
}

static uint8_t *
put_network(uint8_t *out, const struct headers *h)
{
	if (h->network_type == NETWORK_UNKNOWN)
		return out;
	out = h->network_type == NETWORK_IPV4 ? put_ipv4(out, h->network)
					      : put_ipv6(out, h->network);
	out = little_u8(out, (uint8_t)h->transport_type);
	if (h->transport_type == TRANSPORT_UNKNOWN)
		return out;
	return little_bytes(
	    out, h->transport, transport_lens[h->transport_type]);
}

static uint8_t *
put_inner(uint8_t *out, enum tunnel_type tunnel, const struct headers *inner)
{
	out = little_u8(out, (uint8_t)tunnel);
	out = little_u8(out, (uint8_t)inner->network_type);
	return put_network(out, inner);
}

static size_t
encode_summary(uint8_t *out, const struct record *r, const struct headers *h)
{
	const uint8_t *start = out;

	out = put_header(out, EVENT_PACKET, r->ns);
	out += summary_write((char *)out, r, h) + 1;
	out = little_u8(out, r->direction);
	out = little_u32(out, r->wire_len);
	return (size_t)(out - start);
}

size_t
event_encode(uint8_t *out, const struct record *r, const struct headers *h,
    enum payload payload)
{
	static const enum event_id ids[] = { [NETWORK_UNKNOWN] = EVENT_PACKET,
		[NETWORK_IPV4] = EVENT_IPV4,
		[NETWORK_IPV6] = EVENT_IPV6 };
	static const enum event_id tunnel_ids[] = {
		[NETWORK_IPV4] = EVENT_IPV4_TUNNEL,
		[NETWORK_IPV6] = EVENT_IPV6_TUNNEL
	};
	enum tunnel_type tunnel = TUNNEL_NONE;
	enum event_id id = EVENT_PACKET;
	const uint8_t *start = out;
	struct headers inner;

	if (payload == PAYLOAD_SUMMARY)
		return encode_summary(out, r, h);
	if (payload != PAYLOAD_NONE) {
		tunnel = headers_find_inner(&inner, h);
		id = tunnel == TUNNEL_NONE ? ids[h->network_type]
					   : tunnel_ids[h->network_type];
	}
	out = put_header(out, id, r->ns);
	assert(r->kind == RECORD_PACKET);
	if (payload != PAYLOAD_NONE)
		out = put_network(out, h);
	if (tunnel != TUNNEL_NONE)
		out = put_inner(out, tunnel, &inner);
	out = little_u16(out, r->link_type);
	out = little_u8(out, r->direction);
	out = little_u32(out, r->wire_len);
	out = little_u32(out, r->cap_len);
	if (payload == PAYLOAD_NONE)
		return (size_t)(out - start);
	out = put_link(out, &h->link);
	if (payload == PAYLOAD_FULL) {
		out = little_u32(out, r->len);
		out = little_bytes(out, r + 1, r->len);
	}
	assert((size_t)(out - start) <= EVENT_SIZE_MAX(r->len));
	return (size_t)(out - start);
}

size_t
event_encode_stats(uint8_t *out, const struct record *r)
{
	const uint8_t *start = out;
	struct record_stats stats;

	assert(r->kind == RECORD_STATS && r->len == sizeof(stats));
	memcpy(&stats, r + 1, sizeof(stats));
	out = put_header(out, EVENT_STATS, r->ns);
	out = little_u64(out, stats.received);
	out = little_u64(out, stats.dropped_kernel);
	out = little_u64(out, stats.dropped_local);
	return (size_t)(out - start);
}

/* Take what put_network() made. */
static void
skip_network(struct reader *r, enum network_type network)
{
	uint8_t type;

	if (network == NETWORK_UNKNOWN)
		return;
	(void)reader_take(r, network_lens[network]);
	type = reader_u8(r);
	r->bad |= type >= ARRAY_LEN(transport_lens);
	if (!r->bad)
		(void)reader_take(r, transport_lens[type]);
}

/* Take what put_inner() made. */
static void
skip_inner(struct reader *r)
{
	uint8_t network;

	(void)reader_u8(r);
	network = reader_u8(r);
	r->bad |= network >= ARRAY_LEN(network_lens);
	if (!r->bad)
		skip_network(r, network);
}

/* Take what put_link() made. */
static void
skip_link(struct reader *r)
{
	if (reader_u8(r) != LINK_ETHERNET)
		return;
	(void)reader_take(r, 12);
	(void)reader_take(r, reader_u8(r) * 2U + 2);
}

enum status
event_decode(struct reader *r, struct record *out, const uint8_t **bytes)
{
	static const enum network_type networks[EVENT_IDS] = {
		[EVENT_IPV4] = NETWORK_IPV4,
		[EVENT_IPV4_TUNNEL] = NETWORK_IPV4,
		[EVENT_IPV6] = NETWORK_IPV6,
		[EVENT_IPV6_TUNNEL] = NETWORK_IPV6
	};
	const unsigned id = little_take_u16(r);

	*out = (struct record){ .ns = little_take_u64(r) };
	*bytes = r->p;
	if (id == EVENT_STATS) {
		out->kind = RECORD_STATS;
		(void)reader_take(r, sizeof(struct record_stats));
		return reader_done(r);
	}
	if (id >= EVENT_IDS)
		return E_MALFORMED;
	out->kind = RECORD_PACKET;
	skip_network(r, networks[id]);
	if (id == EVENT_IPV4_TUNNEL || id == EVENT_IPV6_TUNNEL)
		skip_inner(r);
	out->link_type = little_take_u16(r);
	out->direction = reader_u8(r);
	out->wire_len = little_take_u32(r);
	out->cap_len = little_take_u32(r);
	skip_link(r);
	out->len = little_take_u32(r);
	*bytes = reader_take(r, out->len);
	return out->len > LARGE_RECORD_LEN_MAX ? E_MALFORMED : reader_done(r);
}

static const char types[] =
    "/* CTF 1.8 */\n"
    "\n"
    "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
    "typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
    "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
    "typealias integer { size = 8; align = 8; signed = false; base = 16; }\n"
    "	:= hex8_t;\n"
    "typealias integer { size = 16; align = 8; signed = false; base = 16; }\n"
    "	:= hex16_t;\n"
    "\n";

/* In the order of bytes on the wire. */
static const char wire_types[] =
    "typealias integer { size = 16; align = 8; signed = false;\n"
    "	byte_order = be; } := net16_t;\n"
    "typealias integer { size = 32; align = 8; signed = false;\n"
    "	byte_order = be; } := net32_t;\n"
    "typealias integer { size = 16; align = 8; signed = false; base = 16;\n"
    "	byte_order = be; } := nethex16_t;\n"
    "typealias integer { size = 32; align = 8; signed = false; base = 16;\n"
    "	byte_order = be; } := nethex32_t;\n"
    "typealias integer { size = 3; align = 1; signed = false;\n"
    "	byte_order = be; } := net3_t;\n"
    "typealias integer { size = 4; align = 1; signed = false;\n"
    "	byte_order = be; } := net4_t;\n"
    "typealias integer { size = 8; align = 1; signed = false;\n"
    "	byte_order = be; } := net8_t;\n"
    "typealias integer { size = 9; align = 1; signed = false; base = 16;\n"
    "	byte_order = be; } := nethex9_t;\n"
    "typealias integer { size = 20; align = 1; signed = false; base = 16;\n"
    "	byte_order = be; } := nethex20_t;\n"
    "\n"
    "enum protocol : uint8_t {\n"
    "	_hop_by_hop = 0, _icmp = 1, _igmp = 2, _ipip = 4, _tcp = 6,\n"
    "	_udp = 17, _ipv6 = 41, _routing = 43, _fragment = 44, _gre = 47,\n"
    "	_esp = 50, _ah = 51, _icmpv6 = 58, _no_next = 59,\n"
    "	_destination = 60, _ospf = 89, _sctp = 132\n"
    "};\n"
    "enum link_header_type : uint8_t { _unknown = 0, _ethernet = 1 };\n"
    "enum network_header_type : uint8_t { _ipv4 = 1, _ipv6 = 2 };\n"
    "enum tunnel : uint8_t {\n"
    "	_ip = 2, _gre = 3, _vxlan = 4, _geneve = 5, _mpls = 6, _gtp = 7,\n"
    "	_pim = 8\n"
    "};\n"
    "enum transport_header_type : uint8_t {\n"
    "	_unknown = 0, _tcp = 1, _udp = 2, _icmp = 3, _icmpv6 = 4\n"
    "};\n"
    "\n"
    "struct unknown_header {\n"
    "};\n"
    "\n"
    "struct ipv4_header {\n"
    "	uint8_t _saddr[4];\n"
    "	uint8_t _daddr[4];\n"
    "	enum protocol _protocol;\n"
    "	net4_t _version;\n"
    "	net4_t _ihl;\n"
    "	hex8_t _tos;\n"
    "	net16_t _tot_len;\n"
    "	nethex16_t _id;\n"
    "	nethex16_t _frag_off;\n"
    "	uint8_t _ttl;\n"
    "	nethex16_t _checksum;\n"
    "};\n"
    "struct ipv6_header {\n"
    "	nethex16_t _saddr[8];\n"
    "	nethex16_t _daddr[8];\n"
    "	enum protocol _nexthdr;\n"
    "	net4_t _version;\n"
    "	net8_t _prio;\n"
    "	nethex20_t _flow_lbl;\n"
    "	net16_t _payload_len;\n"
    "	uint8_t _hop_limit;\n"
    "};\n"
    "\n"
    "struct tcp_header {\n"
    "	net16_t _source_port;\n"
    "	net16_t _dest_port;\n"
    "	net32_t _seq;\n"
    "	net32_t _ack_seq;\n"
    "	net4_t _data_offset;\n"
    "	net3_t _reserved;\n"
    "	nethex9_t _flags;\n"
    "	net16_t _window_size;\n"
    "	nethex16_t _checksum;\n"
    "	net16_t _urg_ptr;\n"
    "};\n"
    "struct udp_header {\n"
    "	net16_t _source_port;\n"
    "	net16_t _dest_port;\n"
    "	net16_t _len;\n"
    "	nethex16_t _check;\n"
    "};\n"
    "struct icmp_header {\n"
    "	uint8_t _type;\n"
    "	uint8_t _code;\n"
    "	nethex16_t _checksum;\n"
    "	nethex32_t _gateway;\n"
    "};\n"
    "\n";

static const char stream[] =
    "typealias integer { size = 64; align = 8; signed = false;\n"
    "	map = clock.pktclock.value; } := timestamp_t;\n"
    "\n"
    "stream {\n"
    "	id = 0;\n"
    "	event.header := struct {\n"
    "		uint16_t id;\n"
    "		timestamp_t timestamp;\n"
    "	};\n"
    "	packet.context := struct {\n"
    "		timestamp_t timestamp_begin;\n"
    "		timestamp_t timestamp_end;\n"
    "		uint64_t content_size;\n"
    "		uint64_t packet_size;\n"
    "		uint64_t packet_seq_num;\n"
    "		uint64_t events_discarded;\n"
    "		uint32_t cpu_id;\n"
    "		uint32_t input;\n"
    "	};\n"
    "};\n"
    "\n"
    "enum link_type : uint16_t {\n"
    "	null = 0, ethernet = 1, ppp = 9, raw = 101, c_hdlc = 104,\n"
    "	ieee802_11 = 105, loop = 108, linux_sll = 113, radiotap = 127,\n"
    "	unknown = 65535\n"
    "};\n"
    "enum direction : uint8_t {\n"
    "	outgoing = 0, incoming = 1, other = 2, unknown = 255\n"
    "};\n"
    "\n";

static const char packet_fields[] = "		enum link_type _link_type;\n"
				    "		enum direction _direction;\n"
				    "		uint32_t _wire_len;\n"
				    "		uint32_t _cap_len;\n";
static const char summary_fields[] = "		string _summary;\n"
				     "		enum direction _direction;\n"
				     "		uint32_t _wire_len;\n";
/*
 * A struct with the tag of a variant or the length of a sequence must not be a
 * named type: at each use, babeltrace2 strips another "_" from its fields, and
 * then does not find them.
 */
static const char link_fields[] =
    "		enum link_header_type _link_header_type;\n"
    "		variant <_link_header_type> {\n"
    "			struct unknown_header _unknown;\n"
    "			struct {\n"
    "				hex8_t _source[6];\n"
    "				hex8_t _dest[6];\n"
    "				uint8_t _vlan_length;\n"
    "				hex16_t _vlan[_vlan_length];\n"
    "				hex16_t _ether_type;\n"
    "			} _ethernet;\n"
    "		} _link_header;\n";
static const char transport_fields[] =
    "		enum transport_header_type _transport_header_type;\n"
    "		variant <_transport_header_type> {\n"
    "			struct unknown_header _unknown;\n"
    "			struct tcp_header _tcp;\n"
    "			struct udp_header _udp;\n"
    "			struct icmp_header _icmp;\n"
    "			struct icmp_header _icmpv6;\n"
    "		} _transport_header;\n";
static const char tunnel_fields[] =
    "		enum tunnel _tunnel;\n"
    "		enum network_header_type _inner_header_type;\n"
    "		variant <_inner_header_type> {\n";
static const char payload_fields[] =
    "		uint32_t _payload_length;\n"
    "		hex8_t _payload[_payload_length];\n";
static const char stats_fields[] = "		uint64_t _received;\n"
				   "		uint64_t _dropped_kernel;\n"
				   "		uint64_t _dropped_local;\n";

static void
trace_block(struct buf *out, const struct ctf_trace *trace)
{
	tsdl_text(out, "trace {\n	major = 1;\n	minor = 8;\n	uuid "
		       "= ");
	tsdl_uuid(out, trace->uuid);
	tsdl_text(out, ";\n	byte_order = le;\n"
		       "	packet.header := struct {\n"
		       "		uint32_t magic;\n"
		       "		uint8_t uuid[16];\n"
		       "		uint32_t stream_id;\n"
		       "		uint64_t stream_instance_id;\n"
		       "	};\n};\n\n");
}

static void
env_string(struct buf *out, const char *name, const char *value)
{
	tsdl_format(out, "	%s = ", name);
	tsdl_quoted(out, value);
	tsdl_text(out, ";\n");
}

static void
env_block(struct buf *out, const struct ctf_trace *trace)
{
	static const char *const payloads[] = { [PAYLOAD_NONE] = "none",
		[PAYLOAD_HEADERS] = "headers",
		[PAYLOAD_FULL] = "full",
		[PAYLOAD_SUMMARY] = "summary" };
	unsigned major = 0, minor = 0;

	(void)sscanf(PACKAGE_VERSION, "%u.%u", &major, &minor);
	tsdl_text(out, "env {\n");
	env_string(out, "hostname", trace->hostname);
	env_string(out, "domain", "network");
	env_string(out, "tracer_name", "tracepulse-capture");
	tsdl_format(out, "	tracer_major = %u;\n	tracer_minor = %u;\n",
	    major, minor);
	for (unsigned i = 0; i < trace->n_uris; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name),
		    i == 0 ? "source_uri" : "source_uri_%u", i);
		env_string(out, name, trace->uris[i]);
	}
	tsdl_format(out, "	snaplen = %" PRIu32 ";\n", trace->snaplen);
	env_string(out, "payload", payloads[trace->payload]);
	tsdl_format(
	    out, "	anonymised = %d;\n};\n\n", trace->is_anonymised);
}

/*
 * Values are Unix time, and the clock is marked as absolute. babeltrace2 takes
 * LTTng's clocks for absolute ones too, without a mark: it merges them with
 * this clock, and refuses to merge them with one that is not absolute, whatever
 * its UUID.
 */
static void
clock_block(struct buf *out, const struct ctf_trace *trace)
{
	tsdl_text(out, "clock {\n	name = \"pktclock\";\n	uuid = ");
	tsdl_uuid(out, trace->uuid);
	tsdl_text(out, ";\n	description = \"Unix time of the capture\";\n"
		       "	freq = 1000000000;\n"
		       "	offset = 0;\n"
		       "	absolute = TRUE;\n};\n\n");
}

static void
event_begin(struct buf *out, const char *name, enum event_id id)
{
	tsdl_format(out, "event {\n	name = \"%s\";\n	id = %d;\n",
	    name, (int)id);
	tsdl_format(out, "	stream_id = %d;\n	fields := struct {\n",
	    CTF_STREAM_CLASS);
}

static void
event_end(struct buf *out)
{
	tsdl_text(out, "	};\n};\n\n");
}

static bool
has_headers(enum payload payload)
{
	return payload == PAYLOAD_HEADERS || payload == PAYLOAD_FULL;
}

/* What put_network() makes; NETWORK: "ipv4", "ipv6". */
static void
network_fields(struct buf *out, const char *network)
{
	tsdl_format(
	    out, "		struct %s_header _network_header;\n", network);
	tsdl_text(out, transport_fields);
}

/* What put_inner() makes. */
static void
inner_fields(struct buf *out)
{
	static const char *const networks[] = { "ipv4", "ipv6" };

	tsdl_text(out, tunnel_fields);
	for (size_t i = 0; i < ARRAY_LEN(networks); i++) {
		tsdl_text(out, "		struct {\n");
		network_fields(out, networks[i]);
		tsdl_format(out, "		} _%s;\n", networks[i]);
	}
	tsdl_text(out, "		} _inner;\n");
}

/* NETWORK: as for network_fields(), or NULL. */
static void
packet_event(struct buf *out, const char *name, enum event_id id,
    const char *network, enum payload payload)
{
	event_begin(out, name, id);
	if (network != NULL)
		network_fields(out, network);
	if (id == EVENT_IPV4_TUNNEL || id == EVENT_IPV6_TUNNEL)
		inner_fields(out);
	tsdl_text(
	    out, payload == PAYLOAD_SUMMARY ? summary_fields : packet_fields);
	if (has_headers(payload))
		tsdl_text(out, link_fields);
	if (payload == PAYLOAD_FULL)
		tsdl_text(out, payload_fields);
	event_end(out);
}

enum status
ctf_metadata(struct buf *out, const struct ctf_trace *trace)
{
	tsdl_text(out, types);
	if (has_headers(trace->payload))
		tsdl_text(out, wire_types);
	trace_block(out, trace);
	env_block(out, trace);
	clock_block(out, trace);
	tsdl_text(out, stream);
	packet_event(out, "net:packet", EVENT_PACKET, NULL, trace->payload);
	if (has_headers(trace->payload)) {
		packet_event(
		    out, "net:ipv4", EVENT_IPV4, "ipv4", trace->payload);
		packet_event(
		    out, "net:ipv6", EVENT_IPV6, "ipv6", trace->payload);
		packet_event(out, "net:ipv4_tunnel", EVENT_IPV4_TUNNEL, "ipv4",
		    trace->payload);
		packet_event(out, "net:ipv6_tunnel", EVENT_IPV6_TUNNEL, "ipv6",
		    trace->payload);
	}
	event_begin(out, "net:stats", EVENT_STATS);
	tsdl_text(out, stats_fields);
	event_end(out);
	return out->bad ? E_NOMEM : OK;
}

static bool
has_text(const char *text, size_t n, const char *what)
{
	return memmem(text, n, what, strlen(what)) != NULL;
}

enum status
ctf_metadata_check(const char *text, size_t n, const char **why)
{
	*why = "was not made by tracepulse-capture";
	if (n < sizeof(types) || memcmp(text, types, sizeof(types) - 1) != 0 ||
	    !has_text(text, n, "\ttracer_name = \"tracepulse-capture\";\n"))
		return E_REFUSED;
	*why = "was captured without --payload=full";
	if (!has_text(text, n, "\tpayload = \"full\";\n"))
		return E_REFUSED;
	/* Before, the network's header came after the link's. */
	*why = "was captured by an older version, which has to read it";
	return has_text(text, n,
		   "\tfields := struct {\n"
		   "\t\tstruct ipv4_header _network_header;\n")
		   ? OK
		   : E_REFUSED;
}

void
ctf_header_encode(uint8_t out[CTF_HEADER_LEN], const struct ctf_trace *trace,
    const struct ctf_packet *packet)
{
	out = little_u32(out, CTF_MAGIC);
	out = little_bytes(out, trace->uuid, CTF_UUID_LEN);
	out = little_u32(out, CTF_STREAM_CLASS);
	out = little_u64(out, packet->instance);
	out = little_u64(out, packet->timestamp_begin);
	out = little_u64(out, packet->timestamp_end);
	out = little_u64(out, packet->content_size * 8);
	out = little_u64(out, packet->packet_size * 8);
	out = little_u64(out, packet->packet_seq_num);
	out = little_u64(out, packet->events_discarded);
	out = little_u32(out, packet->cpu_id);
	(void)little_u32(out, packet->input);
}
