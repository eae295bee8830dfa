/* SPDX-License-Identifier: MIT */
#include "tools/plugin/packets.h"

enum {
	TAG_PACKET = 1 << 3 | 2,	/* of Trace */
	TAG_FTRACE_EVENTS = 1 << 3 | 2, /* of TracePacket */
};

bool
packets_append(struct text *out, const ProtobufCMessage *message)
{
	size_t n = protobuf_c_message_get_packed_size(message);

	if (!text_room(out, n))
		return false;
	out->len += protobuf_c_message_pack(
	    message, (uint8_t *)out->bytes + out->len);
	return true;
}

static void
fill(struct packets *p, Perfetto__TracePacket *packet)
{
	packet->has_trusted_packet_sequence_id = true;
	packet->trusted_packet_sequence_id = p->host + 1;
	packet->has_sequence_flags = true;
	packet->sequence_flags =
	    p->begun
		? PERFETTO__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE
		: PERFETTO__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_INCREMENTAL_STATE_CLEARED;
	p->begun = true;
	packet->has_machine_id = p->host > 0;
	packet->machine_id = p->host;
}

bool
packets_put(struct packets *p, Perfetto__TracePacket *packet, struct text *out)
{
	Perfetto__Trace trace = PERFETTO__TRACE__INIT;

	fill(p, packet);
	trace.packet = &packet;
	trace.n_packet = 1;
	return packets_append(out, &trace.base);
}

static size_t
varint_size(size_t n)
{
	size_t size = 1;

	for (; n > 0x7f; n >>= 7)
		size++;
	return size;
}

/* A member of LEN bytes, up to these. */
static void
member(struct text *t, char tag, size_t len)
{
	text_byte(t, tag);
	for (; len > 0x7f; len >>= 7)
		text_byte(t, (char)(len | 0x80));
	text_byte(t, (char)len);
}

bool
packets_put_bundle(struct packets *p, uint32_t cpu, const struct text *events,
    struct text *out)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__FtraceEventBundle bundle =
	    PERFETTO__FTRACE_EVENT_BUNDLE__INIT;
	size_t in_bundle, in_packet;

	bundle.has_cpu = true;
	bundle.cpu = cpu;
	fill(p, &packet);
	in_bundle = protobuf_c_message_get_packed_size(&bundle.base) +
		    events->len;
	in_packet = protobuf_c_message_get_packed_size(&packet.base) + 1 +
		    varint_size(in_bundle) + in_bundle;
	member(out, TAG_PACKET, in_packet);
	packets_append(out, &packet.base);
	member(out, TAG_FTRACE_EVENTS, in_bundle);
	packets_append(out, &bundle.base);
	text_bytes(out, events->bytes, events->len);
	return !out->failed;
}
