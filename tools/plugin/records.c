/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "tools/plugin/events.h"
#include "tools/plugin/records.h"

/* A stream that has begun. */
struct stream {
	struct events_stream base;
	bool has_epoch;	  /* its clock counts from 1970 */
	struct text head; /* "host": to "stream":, then "cpu": */
	size_t cpu_at;
};

/* The events of one class in one stream. */
struct event_kind {
	struct events_kind base;
	bool wanted;
	struct text head; /* ,"name": up to the context */
	struct plan *plans[PARTS];
};

struct records {
	const struct plan_config *config;
	struct events *events;
};

static struct stream *
stream_of(struct events_stream *base)
{
	return (struct stream *)base;
}

static struct event_kind *
kind_of(struct events_kind *base)
{
	return (struct event_kind *)base;
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

static bool
stream_begins(void *format, struct events_stream *base)
{
	struct stream *s = stream_of(base);
	const bt_trace *trace = bt_stream_borrow_trace_const(base->stream);
	const char *name = events_stream_name(base);
	struct text *t = &s->head;

	(void)format;
	s->has_epoch = events_has_epoch(base);
	member(t, "host", events_environment(base, "hostname"));
	member(t, "session", events_environment(base, "trace_name"));
	member(t, "trace", bt_trace_get_name(trace));
	if (name != NULL) {
		member(t, "stream", name);
		t->len--; /* the comma */
	} else {
		text_puts(t, "\"stream\":\"");
		text_unsigned(t, bt_stream_get_id(base->stream));
		text_byte(t, '"');
	}
	s->cpu_at = t->len;
	return !t->failed;
}

static void
stream_ends(struct events_stream *base)
{
	text_free(&stream_of(base)->head);
}

static bool
packet_begins(struct events_stream *base, const bt_packet *packet)
{
	struct stream *s = stream_of(base);

	(void)packet;
	s->head.len = s->cpu_at;
	if (base->has_cpu) {
		text_puts(&s->head, ",\"cpu\":");
		text_unsigned(&s->head, base->cpu);
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
	struct text *t = &kind->head;
	bt_event_class_log_level level;

	text_byte(t, ',');
	member(t, "name", events_kind_name(&kind->base));
	if (bt_event_class_get_log_level(kind->base.class, &level) ==
	    BT_PROPERTY_AVAILABILITY_AVAILABLE)
		member(t, "loglevel", level_name(level));
	if (flat)
		t->len--; /* the comma */
	else
		text_puts(t, "\"ctx\":{");
}

static bool
kind_begins(void *format, struct events_kind *base, struct text *out)
{
	struct records *r = format;
	struct event_kind *kind = kind_of(base);

	(void)out;
	kind->wanted = plan_match(r->config->names, events_kind_name(base));
	kind_head(kind, r->config->flat);
	return !kind->head.failed &&
	       plans_create(kind->plans, r->config, base->class);
}

static void
kind_ends(struct events_kind *base)
{
	struct event_kind *kind = kind_of(base);

	text_free(&kind->head);
	plans_destroy(kind->plans);
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

	if (snapshot == NULL || !events_ns(snapshot, &ns))
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
print_part(const struct event_kind *kind, const bt_event *event, enum part part,
    bool comma, struct text *t)
{
	if (plan_is_empty(kind->plans[part]))
		return;
	if (comma)
		text_byte(t, ',');
	plan_print(kind->plans[part], places_part(event, part), t);
}

static void
print_fields(const struct event_kind *kind, const bt_event *event, bool flat,
    struct text *t)
{
	print_part(kind, event, PART_COMMON, flat, t);
	print_part(kind, event, PART_SPECIFIC,
	    flat || !plan_is_empty(kind->plans[PART_COMMON]), t);
	if (!flat)
		text_puts(t, "},\"fields\":{");
	print_part(kind, event, PART_PAYLOAD, flat, t);
	text_puts(t, flat ? "}\n" : "}}\n");
}

static bool
print_event(void *format, struct events_kind *base, const bt_event *event,
    const bt_clock_snapshot *time, struct text *t)
{
	struct records *r = format;
	struct event_kind *kind = kind_of(base);
	struct stream *s = stream_of(base->stream);

	if (!kind->wanted)
		return true;
	text_byte(t, '{');
	print_time(r, s, time, t);
	text_bytes(t, s->head.bytes, s->head.len);
	text_bytes(t, kind->head.bytes, kind->head.len);
	print_fields(kind, event, r->config->flat, t);
	return true;
}

static bool
print_loss(void *format, const struct events_loss *loss, struct text *t)
{
	struct records *r = format;
	struct stream *s = stream_of(loss->stream);
	int64_t ns;

	text_byte(t, '{');
	print_time(r, s, loss->end, t);
	text_bytes(t, s->head.bytes, s->cpu_at);
	text_byte(t, ',');
	if (loss->begin != NULL && events_ns(loss->begin, &ns))
		print_ns(r, "since_ns", ns, t);
	member(t, "lost", loss->what);
	text_puts(t, "\"count\":");
	if (loss->counted)
		text_unsigned(t, loss->count);
	else
		text_puts(t, "null");
	text_puts(t, "}\n");
	return true;
}

struct records *
records_create(const struct plan_config *config)
{
	static const struct events_format ops = {
		.stream_size = sizeof(struct stream),
		.kind_size = sizeof(struct event_kind),
		.stream_begins = stream_begins,
		.stream_ends = stream_ends,
		.packet_begins = packet_begins,
		.kind_begins = kind_begins,
		.kind_ends = kind_ends,
		.event = print_event,
		.loss = print_loss,
	};
	struct records *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->config = config;
	r->events = events_create(&ops, r);
	if (r->events == NULL) {
		free(r);
		r = NULL;
	}
	return r;
}

void
records_destroy(struct records *r)
{
	if (r != NULL)
		events_destroy(r->events);
	free(r);
}

bool
records_message(struct records *r, const bt_message *m, struct text *out)
{
	return events_message(r->events, m, out);
}
