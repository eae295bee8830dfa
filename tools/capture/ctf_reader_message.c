/* SPDX-License-Identifier: MIT */
/* From messages of babeltrace2 to records. */
#include <inttypes.h>
#include <string.h>

#include "tools/capture/ctf_reader_internal.h"

/* NULL: there is none, or it is no string. */
static const char *
environment(const bt_trace *trace, const char *name)
{
	const bt_value *v =
	    bt_trace_borrow_environment_entry_value_by_name_const(trace, name);

	return v != NULL && bt_value_is_string(v) ? bt_value_string_get(v)
						  : NULL;
}

/* The muxer gives the beginnings of streams, which have no time, before any
 * packet: a trace is refused before there is an output. */
static enum status
check_trace(struct ctf_reader *r, const bt_trace *trace)
{
	const char *tracer = environment(trace, "tracer_name");
	const char *payload = environment(trace, "payload");

	if (tracer == NULL || strcmp(tracer, "tracepulse-capture") != 0)
		return ctf_reader_fail(r, E_REFUSED,
		    "%s: has a trace that is not of tracepulse-capture, but of "
		    "%s",
		    r->config.dir, tracer != NULL ? tracer : "somebody else");
	if (payload == NULL || strcmp(payload, "full") != 0)
		return ctf_reader_fail(r, E_REFUSED,
		    "%s: has no payload: it was captured without "
		    "--payload=full",
		    r->config.dir);
	return OK;
}

static bool
is_a(const bt_field *field, bt_field_class_type type)
{
	return field != NULL &&
	       bt_field_class_type_is(bt_field_get_class_type(field), type);
}

static bool
get_number(
    const bt_field *fields, const char *name, uint64_t most, uint64_t *out)
{
	const bt_field *field =
	    bt_field_structure_borrow_member_field_by_name_const(fields, name);

	if (!is_a(field, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		return false;
	*out = bt_field_integer_unsigned_get_value(field);
	return *out <= most;
}

static bool
get_bytes(struct ctf_reader *r, const bt_field *fields, uint64_t *n)
{
	const bt_field *field =
	    bt_field_structure_borrow_member_field_by_name_const(
		fields, "payload");

	if (!is_a(field, BT_FIELD_CLASS_TYPE_ARRAY))
		return false;
	*n = bt_field_array_get_length(field);
	if (*n > sizeof(r->bytes))
		return false;
	for (uint64_t i = 0; i < *n; i++) {
		const bt_field *byte =
		    bt_field_array_borrow_element_field_by_index_const(
			field, i);

		/* All are of one class. */
		if (i == 0 && !is_a(byte, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
			return false;
		r->bytes[i] = (uint8_t)bt_field_integer_unsigned_get_value(
		    byte);
	}
	return true;
}

static bool
get_time(const bt_message *message, uint64_t *ns)
{
	int64_t since_1970;

	if (bt_message_event_borrow_stream_class_default_clock_class_const(
		message) == NULL ||
	    bt_clock_snapshot_get_ns_from_origin(
		bt_message_event_borrow_default_clock_snapshot_const(message),
		&since_1970) != BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK)
		return false;
	*ns = (uint64_t)since_1970;
	return since_1970 >= 0;
}

static bool
get_record(struct ctf_reader *r, const bt_message *message,
    const bt_field *fields, struct record *record)
{
	uint64_t link_type, wire_len, cap_len, len;

	*record = (struct record){ .direction = DIRECTION_UNKNOWN,
		.kind = RECORD_PACKET };
	if (!is_a(fields, BT_FIELD_CLASS_TYPE_STRUCTURE) ||
	    !get_number(fields, "link_type", UINT16_MAX, &link_type) ||
	    !get_number(fields, "wire_len", UINT32_MAX, &wire_len) ||
	    !get_number(fields, "cap_len", UINT32_MAX, &cap_len) ||
	    !get_bytes(r, fields, &len) || !get_time(message, &record->ns))
		return false;
	record->link_type = (uint16_t)link_type;
	record->wire_len = (uint32_t)wire_len;
	record->cap_len = (uint32_t)cap_len;
	record->len = (uint32_t)len;
	return true;
}

static bool
is_packet(const char *name)
{
	return name != NULL && (strcmp(name, "net:packet") == 0 ||
				   strcmp(name, "net:ipv4") == 0 ||
				   strcmp(name, "net:ipv6") == 0);
}

static enum status
take_event(struct ctf_reader *r, const bt_message *message)
{
	const bt_event *event = bt_message_event_borrow_event_const(message);
	const char *name = bt_event_class_get_name(
	    bt_event_borrow_class_const(event));
	struct record record;

	if (!is_packet(name))
		return OK;
	if (!get_record(r, message, bt_event_borrow_payload_field_const(event),
		&record))
		return ctf_reader_fail(r, E_REFUSED,
		    "%s: an event %s is not as tracepulse-capture writes it",
		    r->config.dir, name);
	r->counts->read++;
	r->failed = r->config.record(r->config.arg, &record, r->bytes);
	return r->failed;
}

static void
add_count(struct ctf_reader *r, uint64_t *to, bt_property_availability is_known,
    uint64_t n)
{
	if (is_known == BT_PROPERTY_AVAILABILITY_AVAILABLE)
		*to += n;
	else
		r->counts->has_discarded = true;
}

enum status
ctf_reader_take(struct ctf_reader *r, const bt_message *message)
{
	bt_property_availability is_known;
	uint64_t n = 0;

	switch (bt_message_get_type(message)) {
	case BT_MESSAGE_TYPE_EVENT:
		return take_event(r, message);
	case BT_MESSAGE_TYPE_STREAM_BEGINNING:
		return check_trace(
		    r, bt_stream_borrow_trace_const(
			   bt_message_stream_beginning_borrow_stream_const(
			       message)));
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		is_known = bt_message_discarded_events_get_count(message, &n);
		add_count(r, &r->counts->discarded, is_known, n);
		return OK;
	case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
		is_known = bt_message_discarded_packets_get_count(message, &n);
		add_count(r, &r->counts->missing, is_known, n);
		return OK;
	default:
		return OK;
	}
}
