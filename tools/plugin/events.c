/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tools/plugin/events.h"

enum {
	EVENTS_BUCKETS = 4096, /* of the hash table: 32 KiB */
};

struct events {
	const struct events_format *ops;
	void *format;
	struct events_stream *streams;
	struct events_kind *buckets[EVENTS_BUCKETS];
};

struct events *
events_create(const struct events_format *ops, void *format)
{
	struct events *e = calloc(1, sizeof(*e));

	if (e != NULL) {
		e->ops = ops;
		e->format = format;
	}
	return e;
}

static struct events_kind **
bucket_of(
    struct events *e, const bt_stream *stream, const bt_event_class *class)
{
	uint64_t h = ((uint64_t)(uintptr_t)stream >> 4) * 31 +
		     ((uint64_t)(uintptr_t) class >> 4);

	return &e->buckets[(h ^ h >> 12) % EVENTS_BUCKETS];
}

static void
kind_destroy(struct events *e, struct events_kind *kind)
{
	e->ops->kind_ends(kind);
	free(kind);
}

static void
kind_forget(struct events *e, struct events_kind *kind)
{
	struct events_kind **at = bucket_of(
	    e, kind->stream->stream, kind->class);

	while (*at != kind)
		at = &(*at)->next;
	*at = kind->next;
	kind_destroy(e, kind);
}

static void
stream_forget(struct events *e, struct events_stream **at)
{
	struct events_stream *s = *at;

	while (s->kinds != NULL) {
		struct events_kind *kind = s->kinds;

		s->kinds = kind->other;
		kind_forget(e, kind);
	}
	*at = s->next;
	e->ops->stream_ends(s);
	bt_stream_put_ref(s->stream);
	free(s);
}

void
events_destroy(struct events *e)
{
	while (e != NULL && e->streams != NULL)
		stream_forget(e, &e->streams);
	free(e);
}

static struct events_stream **
stream_find(struct events *e, const bt_stream *stream)
{
	struct events_stream **at = &e->streams;

	while (*at != NULL && (*at)->stream != stream)
		at = &(*at)->next;
	return at;
}

const char *
events_environment(const struct events_stream *stream, const char *name)
{
	const bt_value *value =
	    bt_trace_borrow_environment_entry_value_by_name_const(
		bt_stream_borrow_trace_const(stream->stream), name);

	return value != NULL && bt_value_is_string(value)
		   ? bt_value_string_get(value)
		   : NULL;
}

/* The name of a stream in a file is its path. */
const char *
events_stream_name(const struct events_stream *stream)
{
	const char *path = bt_stream_get_name(stream->stream);
	const char *slash = path != NULL ? strrchr(path, '/') : NULL;

	return slash != NULL ? slash + 1 : path;
}

const char *
events_kind_name(const struct events_kind *kind)
{
	const char *name = bt_event_class_get_name(kind->class);

	return name != NULL ? name : "";
}

bool
events_has_epoch(const struct events_stream *stream)
{
	const bt_clock_class *clock =
	    bt_stream_class_borrow_default_clock_class_const(
		bt_stream_borrow_class_const(stream->stream));

	return clock != NULL && bt_clock_class_origin_is_unix_epoch(clock);
}

bool
events_ns(const bt_clock_snapshot *snapshot, int64_t *ns)
{
	if (bt_clock_snapshot_get_ns_from_origin(snapshot, ns) ==
	    BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK)
		return true;
	bt_current_thread_clear_error();
	return false;
}

static bool
stream_begins(struct events *e, const bt_stream *stream)
{
	struct events_stream *s = calloc(1, e->ops->stream_size);

	if (s == NULL)
		return false;
	bt_stream_get_ref(stream);
	s->stream = stream;
	s->next = e->streams;
	e->streams = s;
	return e->ops->stream_begins(e->format, s);
}

/* Packets of LTTng and its like name their CPU. */
static bool
packet_begins(struct events *e, const bt_packet *packet)
{
	struct events_stream *s = *stream_find(
	    e, bt_packet_borrow_stream_const(packet));
	const bt_field *context = bt_packet_borrow_context_field_const(packet);
	const bt_field *cpu =
	    context == NULL
		? NULL
		: bt_field_structure_borrow_member_field_by_name_const(
		      context, "cpu_id");

	s->has_cpu = cpu != NULL && bt_field_get_class_type(cpu) ==
					BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER;
	if (s->has_cpu)
		s->cpu = bt_field_integer_unsigned_get_value(cpu);
	return e->ops->packet_begins(s, packet);
}

static struct events_kind *
kind_create(struct events *e, const bt_stream *stream,
    const bt_event_class *class, struct text *out)
{
	struct events_kind **bucket = bucket_of(e, stream, class);
	struct events_kind *kind = calloc(1, e->ops->kind_size);

	if (kind == NULL)
		return NULL;
	kind->class = class;
	kind->stream = *stream_find(e, stream);
	if (!e->ops->kind_begins(e->format, kind, out)) {
		kind_destroy(e, kind);
		return NULL;
	}
	kind->next = *bucket;
	*bucket = kind;
	kind->other = kind->stream->kinds;
	kind->stream->kinds = kind;
	return kind;
}

static struct events_kind *
kind_of(struct events *e, const bt_event *event, struct text *out)
{
	const bt_stream *stream = bt_event_borrow_stream_const(event);
	const bt_event_class *class = bt_event_borrow_class_const(event);
	struct events_kind *kind = *bucket_of(e, stream, class);

	while (kind != NULL &&
	       (kind->class != class || kind->stream->stream != stream))
		kind = kind->next;
	return kind != NULL ? kind : kind_create(e, stream, class, out);
}

static bool
take_event(struct events *e, const bt_message *message, struct text *out)
{
	const bt_event *event = bt_message_event_borrow_event_const(message);
	struct events_kind *kind = kind_of(e, event, out);
	const bt_clock_snapshot *time = NULL;

	if (kind == NULL)
		return false;
	if (bt_message_event_borrow_stream_class_default_clock_class_const(
		message) != NULL)
		time = bt_message_event_borrow_default_clock_snapshot_const(
		    message);
	return e->ops->event(e->format, kind, event, time, out);
}

static bool
lost_events(struct events *e, const bt_message *m, struct text *out)
{
	const bt_stream *stream =
	    bt_message_discarded_events_borrow_stream_const(m);
	struct events_loss loss = {
		.what = "events",
		.stream = *stream_find(e, stream),
	};

	loss.counted = bt_message_discarded_events_get_count(m, &loss.count) ==
		       BT_PROPERTY_AVAILABILITY_AVAILABLE;
	if (bt_stream_class_discarded_events_have_default_clock_snapshots(
		bt_stream_borrow_class_const(stream))) {
		loss.begin =
		    bt_message_discarded_events_borrow_beginning_default_clock_snapshot_const(
			m);
		loss.end =
		    bt_message_discarded_events_borrow_end_default_clock_snapshot_const(
			m);
	}
	return e->ops->loss(e->format, &loss, out);
}

static bool
lost_packets(struct events *e, const bt_message *m, struct text *out)
{
	const bt_stream *stream =
	    bt_message_discarded_packets_borrow_stream_const(m);
	struct events_loss loss = {
		.what = "packets",
		.stream = *stream_find(e, stream),
	};

	loss.counted = bt_message_discarded_packets_get_count(m, &loss.count) ==
		       BT_PROPERTY_AVAILABILITY_AVAILABLE;
	if (bt_stream_class_discarded_packets_have_default_clock_snapshots(
		bt_stream_borrow_class_const(stream))) {
		loss.begin =
		    bt_message_discarded_packets_borrow_beginning_default_clock_snapshot_const(
			m);
		loss.end =
		    bt_message_discarded_packets_borrow_end_default_clock_snapshot_const(
			m);
	}
	return e->ops->loss(e->format, &loss, out);
}

bool
events_message(struct events *e, const bt_message *m, struct text *out)
{
	bool ok = true;

	switch (bt_message_get_type(m)) {
	case BT_MESSAGE_TYPE_EVENT:
		ok = take_event(e, m, out);
		break;
	case BT_MESSAGE_TYPE_STREAM_BEGINNING:
		ok = stream_begins(
		    e, bt_message_stream_beginning_borrow_stream_const(m));
		break;
	case BT_MESSAGE_TYPE_PACKET_BEGINNING:
		ok = packet_begins(
		    e, bt_message_packet_beginning_borrow_packet_const(m));
		break;
	case BT_MESSAGE_TYPE_STREAM_END:
		stream_forget(
		    e, stream_find(
			   e, bt_message_stream_end_borrow_stream_const(m)));
		break;
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		ok = lost_events(e, m, out);
		break;
	case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
		ok = lost_packets(e, m, out);
		break;
	default:
		break;
	}
	return ok && !out->failed;
}
