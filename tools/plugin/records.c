/* SPDX-License-Identifier: MIT */
#include <libgen.h>
#include <stdlib.h>

#include "tools/plugin/records.h"

enum {
	RECORDS_BUCKETS = 4096, /* of the hash table: 32 KiB */
};

/* A stream that has begun. */
struct stream {
	struct stream *next;
	struct event_kind *kinds;
	const bt_stream *stream; /* our reference keeps its classes, too */
	bool has_cpu;
	bool has_epoch;	  /* its clock counts from 1970 */
	struct text head; /* "host": to "stream":, then "cpu": */
	size_t cpu_at;
};

/* The events of one class in one stream. */
struct event_kind {
	struct event_kind *next;  /* in the bucket */
	struct event_kind *other; /* of the stream */
	const bt_event_class *class;
	struct stream *stream;
	bool wanted;
	struct text head; /* ,"name": up to the context */
	struct plan *common;
	struct plan *specific;
	struct plan *payload;
};

struct records {
	const struct plan_config *config;
	const bt_value *names;
	struct stream *streams;
	struct event_kind *buckets[RECORDS_BUCKETS];
};

struct records *
records_create(const struct plan_config *config, const bt_value *names)
{
	struct records *r = calloc(1, sizeof(*r));

	if (r != NULL) {
		r->config = config;
		r->names = names;
	}
	return r;
}

static struct event_kind **
bucket_of(
    struct records *r, const bt_stream *stream, const bt_event_class *class)
{
	uint64_t h = ((uint64_t)(uintptr_t)stream >> 4) * 31 +
		     ((uint64_t)(uintptr_t) class >> 4);

	return &r->buckets[(h ^ h >> 12) % RECORDS_BUCKETS];
}

static void
kind_destroy(struct event_kind *kind)
{
	text_free(&kind->head);
	plan_destroy(kind->common);
	plan_destroy(kind->specific);
	plan_destroy(kind->payload);
	free(kind);
}

static void
kind_forget(struct records *r, struct event_kind *kind)
{
	struct event_kind **at = bucket_of(
	    r, kind->stream->stream, kind->class);

	while (*at != kind)
		at = &(*at)->next;
	*at = kind->next;
	kind_destroy(kind);
}

static void
stream_forget(struct records *r, struct stream **at)
{
	struct stream *s = *at;

	while (s->kinds != NULL) {
		struct event_kind *kind = s->kinds;

		s->kinds = kind->other;
		kind_forget(r, kind);
	}
	*at = s->next;
	text_free(&s->head);
	bt_stream_put_ref(s->stream);
	free(s);
}

void
records_destroy(struct records *r)
{
	while (r != NULL && r->streams != NULL)
		stream_forget(r, &r->streams);
	free(r);
}

static struct stream **
stream_find(struct records *r, const bt_stream *stream)
{
	struct stream **at = &r->streams;

	while (*at != NULL && (*at)->stream != stream)
		at = &(*at)->next;
	return at;
}

/* "KEY":"VALUE", */
static void
member(struct text *t, const char *key, const char *value)
{
	if (value == NULL)
		return;
	text_string(t, key, strlen(key));
	text_byte(t, ':');
	text_string(t, value, strlen(value));
	text_byte(t, ',');
}

static const char *
environment(const bt_trace *trace, const char *name)
{
	const bt_value *value =
	    bt_trace_borrow_environment_entry_value_by_name_const(trace, name);

	return value != NULL && bt_value_is_string(value)
		   ? bt_value_string_get(value)
		   : NULL;
}

/* Of a path, which the name of a stream in a file is, the last part. */
static const char *
last_part(const char *path)
{
	const char *slash = path != NULL ? strrchr(path, '/') : NULL;

	return slash != NULL ? slash + 1 : path;
}

static void
stream_head(struct stream *s)
{
	const bt_trace *trace = bt_stream_borrow_trace_const(s->stream);
	const char *name = last_part(bt_stream_get_name(s->stream));
	struct text *t = &s->head;

	member(t, "host", environment(trace, "hostname"));
	member(t, "session", environment(trace, "trace_name"));
	member(t, "trace", bt_trace_get_name(trace));
	if (name != NULL) {
		member(t, "stream", name);
		t->len--; /* the comma */
	} else {
		text_puts(t, "\"stream\":\"");
		text_unsigned(t, bt_stream_get_id(s->stream));
		text_byte(t, '"');
	}
	s->cpu_at = t->len;
}

static bool
stream_begins(struct records *r, const bt_stream *stream)
{
	struct stream *s = calloc(1, sizeof(*s));
	const bt_clock_class *clock;

	if (s == NULL)
		return false;
	clock = bt_stream_class_borrow_default_clock_class_const(
	    bt_stream_borrow_class_const(stream));
	bt_stream_get_ref(stream);
	s->stream = stream;
	s->has_epoch = clock != NULL &&
		       bt_clock_class_origin_is_unix_epoch(clock);
	s->next = r->streams;
	r->streams = s;
	stream_head(s);
	return !s->head.failed;
}

/* Packets of LTTng and its like name their CPU. */
static bool
packet_begins(struct records *r, const bt_packet *packet)
{
	struct stream *s = *stream_find(
	    r, bt_packet_borrow_stream_const(packet));
	const bt_field *context = bt_packet_borrow_context_field_const(packet);
	const bt_field *cpu =
	    context == NULL
		? NULL
		: bt_field_structure_borrow_member_field_by_name_const(
		      context, "cpu_id");

	s->head.len = s->cpu_at;
	if (cpu != NULL && bt_field_get_class_type(cpu) ==
			       BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER) {
		text_puts(&s->head, ",\"cpu\":");
		text_unsigned(
		    &s->head, bt_field_integer_unsigned_get_value(cpu));
	}
	return !s->head.failed;
}

static const char *
level_name(bt_event_class_log_level level)
{
	static const char *const names[] = {
		[BT_EVENT_CLASS_LOG_LEVEL_EMERGENCY] = "emergency",
		[BT_EVENT_CLASS_LOG_LEVEL_ALERT] = "alert",
		[BT_EVENT_CLASS_LOG_LEVEL_CRITICAL] = "critical",
		[BT_EVENT_CLASS_LOG_LEVEL_ERROR] = "error",
		[BT_EVENT_CLASS_LOG_LEVEL_WARNING] = "warning",
		[BT_EVENT_CLASS_LOG_LEVEL_NOTICE] = "notice",
		[BT_EVENT_CLASS_LOG_LEVEL_INFO] = "info",
		[BT_EVENT_CLASS_LOG_LEVEL_DEBUG_SYSTEM] = "debug_system",
		[BT_EVENT_CLASS_LOG_LEVEL_DEBUG_PROGRAM] = "debug_program",
		[BT_EVENT_CLASS_LOG_LEVEL_DEBUG_PROCESS] = "debug_process",
		[BT_EVENT_CLASS_LOG_LEVEL_DEBUG_MODULE] = "debug_module",
		[BT_EVENT_CLASS_LOG_LEVEL_DEBUG_UNIT] = "debug_unit",
		[BT_EVENT_CLASS_LOG_LEVEL_DEBUG_FUNCTION] = "debug_function",
		[BT_EVENT_CLASS_LOG_LEVEL_DEBUG_LINE] = "debug_line",
		[BT_EVENT_CLASS_LOG_LEVEL_DEBUG] = "debug",
	};

	return names[level];
}

static void
kind_head(struct event_kind *kind, bool flat)
{
	const char *name = bt_event_class_get_name(kind->class);
	struct text *t = &kind->head;
	bt_event_class_log_level level;

	text_byte(t, ',');
	member(t, "name", name != NULL ? name : "");
	if (bt_event_class_get_log_level(kind->class, &level) ==
	    BT_PROPERTY_AVAILABILITY_AVAILABLE)
		member(t, "loglevel", level_name(level));
	if (flat)
		t->len--; /* the comma */
	else
		text_puts(t, "\"ctx\":{");
}

/* The plan of CLASS, which may be NULL. */
static bool
make_plan(struct records *r, struct plan **out, const bt_field_class *class,
    const char *prefix, const bt_field_class *taken)
{
	if (class == NULL)
		return true;
	*out = plan_create(
	    r->config, class, r->config->flat ? prefix : "", taken);
	return *out != NULL;
}

static bool
kind_plans(struct records *r, struct event_kind *kind)
{
	const bt_field_class *common =
	    bt_stream_class_borrow_event_common_context_field_class_const(
		bt_event_class_borrow_stream_class_const(kind->class));

	return make_plan(r, &kind->common, common, "ctx.", NULL) &&
	       make_plan(r, &kind->specific,
		   bt_event_class_borrow_specific_context_field_class_const(
		       kind->class),
		   "ctx.", common) &&
	       make_plan(r, &kind->payload,
		   bt_event_class_borrow_payload_field_class_const(kind->class),
		   "fields.", NULL);
}

static struct event_kind *
kind_create(
    struct records *r, const bt_stream *stream, const bt_event_class *class)
{
	struct event_kind **bucket = bucket_of(r, stream, class);
	struct event_kind *kind = calloc(1, sizeof(*kind));
	const char *name = bt_event_class_get_name(class);

	if (kind == NULL)
		return NULL;
	kind->class = class;
	kind->stream = *stream_find(r, stream);
	kind->wanted = plan_match(r->names, name != NULL ? name : "");
	kind_head(kind, r->config->flat);
	if (!kind_plans(r, kind) || kind->head.failed) {
		kind_destroy(kind);
		return NULL;
	}
	kind->next = *bucket;
	*bucket = kind;
	kind->other = kind->stream->kinds;
	kind->stream->kinds = kind;
	return kind;
}

static struct event_kind *
kind_of(struct records *r, const bt_event *event)
{
	const bt_stream *stream = bt_event_borrow_stream_const(event);
	const bt_event_class *class = bt_event_borrow_class_const(event);
	struct event_kind *kind = *bucket_of(r, stream, class);

	while (kind != NULL &&
	       (kind->class != class || kind->stream->stream != stream))
		kind = kind->next;
	return kind != NULL ? kind : kind_create(r, stream, class);
}

/* ns since the origin of its clock; false: out of the range of 64 bits. */
static bool
get_ns(const bt_clock_snapshot *snapshot, int64_t *ns)
{
	if (bt_clock_snapshot_get_ns_from_origin(snapshot, ns) ==
	    BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK)
		return true;
	bt_current_thread_clear_error();
	return false;
}

/* "KEY":NS, */
static void
print_ns(const struct records *r, const char *key, int64_t ns, struct text *t)
{
	text_string(t, key, strlen(key));
	text_byte(t, ':');
	if (r->config->big_as_string)
		text_byte(t, '"');
	text_signed(t, ns);
	if (r->config->big_as_string)
		text_byte(t, '"');
	text_byte(t, ',');
}

static void
print_time(const struct records *r, const struct stream *s,
    const bt_clock_snapshot *snapshot, struct text *t)
{
	int64_t ns;

	if (snapshot == NULL || !get_ns(snapshot, &ns))
		return;
	if (s->has_epoch) {
		text_puts(t, "\"ts\":");
		text_time(t, ns);
		text_byte(t, ',');
	}
	print_ns(r, "ts_ns", ns, t);
}

/* Members of one part; in a flat record a comma stands before each part. */
static void
print_part(
    const struct plan *plan, const bt_field *field, bool comma, struct text *t)
{
	if (plan_is_empty(plan))
		return;
	if (comma)
		text_byte(t, ',');
	plan_print(plan, field, t);
}

static void
print_fields(const struct event_kind *kind, const bt_event *event, bool flat,
    struct text *t)
{
	print_part(kind->common,
	    bt_event_borrow_common_context_field_const(event), flat, t);
	print_part(kind->specific,
	    bt_event_borrow_specific_context_field_const(event),
	    flat || !plan_is_empty(kind->common), t);
	if (!flat)
		text_puts(t, "},\"fields\":{");
	print_part(
	    kind->payload, bt_event_borrow_payload_field_const(event), flat, t);
	text_puts(t, flat ? "}\n" : "}}\n");
}

static bool
print_event(struct records *r, const bt_message *message, struct text *t)
{
	const bt_event *event = bt_message_event_borrow_event_const(message);
	struct event_kind *kind = kind_of(r, event);
	const bt_clock_snapshot *snapshot = NULL;

	if (kind == NULL)
		return false;
	if (!kind->wanted)
		return true;
	if (bt_message_event_borrow_stream_class_default_clock_class_const(
		message) != NULL)
		snapshot = bt_message_event_borrow_default_clock_snapshot_const(
		    message);
	text_byte(t, '{');
	print_time(r, kind->stream, snapshot, t);
	text_bytes(t, kind->stream->head.bytes, kind->stream->head.len);
	text_bytes(t, kind->head.bytes, kind->head.len);
	print_fields(kind, event, r->config->flat, t);
	return true;
}

/* What a message of lost events or packets says. */
struct loss {
	const char *what;
	const bt_stream *stream;
	const bt_clock_snapshot *begin, *end; /* or NULL */
	bool counted;
	uint64_t count;
};

static void
print_loss(struct records *r, const struct loss *loss, struct text *t)
{
	const struct stream *s = *stream_find(r, loss->stream);
	int64_t ns;

	text_byte(t, '{');
	print_time(r, s, loss->end, t);
	text_bytes(t, s->head.bytes, s->cpu_at);
	text_byte(t, ',');
	if (loss->begin != NULL && get_ns(loss->begin, &ns))
		print_ns(r, "since_ns", ns, t);
	member(t, "lost", loss->what);
	text_puts(t, "\"count\":");
	if (loss->counted)
		text_unsigned(t, loss->count);
	else
		text_puts(t, "null");
	text_puts(t, "}\n");
}

static void
lost_events(struct records *r, const bt_message *m, struct text *t)
{
	struct loss loss = {
		.what = "events",
		.stream = bt_message_discarded_events_borrow_stream_const(m),
	};

	loss.counted = bt_message_discarded_events_get_count(m, &loss.count) ==
		       BT_PROPERTY_AVAILABILITY_AVAILABLE;
	if (bt_stream_class_discarded_events_have_default_clock_snapshots(
		bt_stream_borrow_class_const(loss.stream))) {
		loss.begin =
		    bt_message_discarded_events_borrow_beginning_default_clock_snapshot_const(
			m);
		loss.end =
		    bt_message_discarded_events_borrow_end_default_clock_snapshot_const(
			m);
	}
	print_loss(r, &loss, t);
}

static void
lost_packets(struct records *r, const bt_message *m, struct text *t)
{
	struct loss loss = {
		.what = "packets",
		.stream = bt_message_discarded_packets_borrow_stream_const(m),
	};

	loss.counted = bt_message_discarded_packets_get_count(m, &loss.count) ==
		       BT_PROPERTY_AVAILABILITY_AVAILABLE;
	if (bt_stream_class_discarded_packets_have_default_clock_snapshots(
		bt_stream_borrow_class_const(loss.stream))) {
		loss.begin =
		    bt_message_discarded_packets_borrow_beginning_default_clock_snapshot_const(
			m);
		loss.end =
		    bt_message_discarded_packets_borrow_end_default_clock_snapshot_const(
			m);
	}
	print_loss(r, &loss, t);
}

bool
records_message(struct records *r, const bt_message *m, struct text *out)
{
	bool ok = true;

	switch (bt_message_get_type(m)) {
	case BT_MESSAGE_TYPE_EVENT:
		ok = print_event(r, m, out);
		break;
	case BT_MESSAGE_TYPE_STREAM_BEGINNING:
		ok = stream_begins(
		    r, bt_message_stream_beginning_borrow_stream_const(m));
		break;
	case BT_MESSAGE_TYPE_PACKET_BEGINNING:
		ok = packet_begins(
		    r, bt_message_packet_beginning_borrow_packet_const(m));
		break;
	case BT_MESSAGE_TYPE_STREAM_END:
		stream_forget(
		    r, stream_find(
			   r, bt_message_stream_end_borrow_stream_const(m)));
		break;
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		lost_events(r, m, out);
		break;
	case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
		lost_packets(r, m, out);
		break;
	default:
		break;
	}
	return ok && !out->failed;
}
