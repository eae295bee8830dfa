/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/plugin/events.h"
#include "tools/plugin/lines.h"
#include "tools/plugin/params.h"
#include "tools/plugin/plan.h"
#include "tools/plugin/sink.h"
#include "tools/plugin/value.h"

#define ARROW " \xe2\x86\x92 "

enum {
	NS_PER_S = 1000000000,
};

enum tone { TONE_PLAIN, TONE_DIM, TONE_NAME, TONE_BAD };

struct lines {
	struct plan_config config;
	bool color;
	bool origin; /* HOST/SESSION in each line */
	struct events *events;
};

struct stream {
	struct events_stream base;
	bool has_epoch;
	struct text origin;
};

struct kind {
	struct events_kind base;
	struct plan *plans[PARTS];
};

static void
tone(const struct lines *l, enum tone tone, struct text *t)
{
	static const char *const codes[] = { [TONE_PLAIN] = "\033[0m",
		[TONE_DIM] = "\033[2m",
		[TONE_NAME] = "\033[1;36m",
		[TONE_BAD] = "\033[1;31m" };

	if (l->color)
		text_puts(t, codes[tone]);
}

static bool
stream_begins(void *format, struct events_stream *base)
{
	struct stream *s = (struct stream *)base;
	const char *host = events_environment(base, "hostname");
	const char *session = events_environment(base, "trace_name");

	(void)format;
	s->has_epoch = events_has_epoch(base);
	if (host != NULL)
		text_word(&s->origin, host, strlen(host));
	text_byte(&s->origin, '/');
	if (session != NULL)
		text_word(&s->origin, session, strlen(session));
	return !s->origin.failed;
}

static void
stream_ends(struct events_stream *base)
{
	text_free(&((struct stream *)base)->origin);
}

static bool
packet_begins(struct events_stream *stream, const bt_packet *packet)
{
	(void)stream;
	(void)packet;
	return true;
}

static bool
kind_begins(void *format, struct events_kind *base, struct text *out)
{
	(void)out;
	return plans_create(((struct kind *)base)->plans,
	    &((struct lines *)format)->config, base->class);
}

static void
kind_ends(struct events_kind *base)
{
	plans_destroy(((struct kind *)base)->plans);
}

/* The time of day, or seconds if the clock does not count from 1970. */
static void
print_time(
    const struct stream *s, const bt_clock_snapshot *time, struct text *t)
{
	char out[40];
	int64_t ns, second, rest;
	struct tm tm;

	if (time == NULL || !events_ns(time, &ns))
		return;
	rest = ns % NS_PER_S;
	second = ns / NS_PER_S;
	if (rest < 0) {
		rest += NS_PER_S;
		second--;
	}
	if (s->has_epoch) {
		localtime_r(&(time_t){ second }, &tm);
		strftime(out, sizeof(out), "%H:%M:%S", &tm);
		text_puts(t, out);
	} else {
		text_signed(t, second);
	}
	snprintf(out, sizeof(out), ".%09d ", (int)rest);
	text_puts(t, out);
}

/* What stands before the event's name. */
static void
print_head(const struct lines *l, const struct events_stream *base,
    const bt_clock_snapshot *time, struct text *t)
{
	const struct stream *s = (const struct stream *)base;

	tone(l, TONE_DIM, t);
	print_time(s, time, t);
	if (l->origin) {
		text_bytes(t, s->origin.bytes, s->origin.len);
		text_byte(t, ' ');
	}
	if (base->has_cpu) {
		text_byte(t, '[');
		text_unsigned(t, base->cpu);
		text_puts(t, "] ");
	}
	tone(l, TONE_PLAIN, t);
}

static void
print_members(const struct kind *kind, const bt_event *event, enum part part,
    struct text *t)
{
	if (plan_is_empty(kind->plans[part]))
		return;
	text_byte(t, ' ');
	plan_print(kind->plans[part], places_part(event, part), t);
}

/* An unsigned integer; false: FIELD is none. */
static bool
print_number(const bt_field *field, struct text *t)
{
	if (field == NULL || bt_field_get_class_type(field) !=
				 BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER)
		return false;
	text_unsigned(t, bt_field_integer_unsigned_get_value(field));
	return true;
}

/* ADDRESS or ADDRESS:PORT; an IPv6 address with a port is in brackets. */
static bool
print_end(const bt_field *payload, const char *address, const char *port,
    struct text *t)
{
	const bt_field *at = value_member(payload, address);
	const bt_field *number = value_member(payload, port);
	const size_t start = t->len;
	bool has_brackets;

	if (at == NULL || !value_address(at, t))
		return false;
	if (number == NULL)
		return true;
	has_brackets = memchr(t->bytes + start, ':', t->len - start) != NULL;
	if (has_brackets && text_room(t, 2)) {
		memmove(t->bytes + start + 1, t->bytes + start, t->len - start);
		t->bytes[start] = '[';
		t->len++;
		text_byte(t, ']');
	}
	text_byte(t, ':');
	return print_number(number, t);
}

/* The first label of FIELD, an enumeration, without its "_". */
static void
print_label(const bt_field *field, struct text *t)
{
	bt_field_class_enumeration_mapping_label_array labels;
	uint64_t n = 0;

	if (field == NULL || bt_field_get_class_type(field) !=
				 BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION)
		return;
	(void)bt_field_enumeration_unsigned_get_mapping_labels(
	    field, &labels, &n);
	text_byte(t, ' ');
	if (n == 0)
		text_unsigned(t, bt_field_integer_unsigned_get_value(field));
	else
		text_word(t, labels[0] + (labels[0][0] == '_'),
		    strlen(labels[0] + (labels[0][0] == '_')));
}

/*
 * A packet of tracepulse-capture or of the kernel's network events: from whom
 * to whom, which protocol, how long. False, and nothing is printed: FIELD is
 * not such a payload.
 */
static bool
print_packet(const bt_field *payload, struct text *t)
{
	const size_t start = t->len;
	const bt_field *protocol, *len;

	if (value_member(payload, "network_header.saddr") == NULL)
		return false;
	text_byte(t, ' ');
	if (!print_end(payload, "network_header.saddr",
		"transport_header.source_port", t)) {
		t->len = start;
		return false;
	}
	text_puts(t, ARROW);
	(void)print_end(
	    payload, "network_header.daddr", "transport_header.dest_port", t);
	protocol = value_member(payload, "network_header.protocol");
	print_label(protocol != NULL
			? protocol
			: value_member(payload, "network_header.nexthdr"),
	    t);
	len = value_member(payload, "wire_len");
	if (len != NULL)
		text_byte(t, ' ');
	(void)print_number(len, t);
	return true;
}

/* The summary that a packet has; false: it has none. */
static bool
print_summary(const char *name, const bt_field *payload, struct text *t)
{
	const bt_field *text = strcmp(name, "net:packet") != 0
				   ? NULL
				   : value_member(payload, "summary");

	if (text == NULL ||
	    bt_field_get_class_type(text) != BT_FIELD_CLASS_TYPE_STRING)
		return false;
	text_byte(t, ' ');
	text_escaped(t, bt_field_string_get_value(text),
	    bt_field_string_get_length(text));
	return true;
}

static bool
lines_event(void *format, struct events_kind *base, const bt_event *event,
    const bt_clock_snapshot *time, struct text *t)
{
	const struct lines *l = format;
	const struct kind *kind = (const struct kind *)base;
	const bt_field *payload = bt_event_borrow_payload_field_const(event);
	const char *name = events_kind_name(base);

	print_head(l, base->stream, time, t);
	tone(l, TONE_NAME, t);
	text_word(t, name, strlen(name));
	tone(l, TONE_PLAIN, t);
	tone(l, TONE_DIM, t);
	print_members(kind, event, PART_COMMON, t);
	print_members(kind, event, PART_SPECIFIC, t);
	tone(l, TONE_PLAIN, t);
	if (!print_summary(name, payload, t) && !print_packet(payload, t))
		print_members(kind, event, PART_PAYLOAD, t);
	text_byte(t, '\n');
	return true;
}

static bool
lines_loss(void *format, const struct events_loss *loss, struct text *t)
{
	const struct lines *l = format;

	print_head(l, loss->stream, loss->end, t);
	tone(l, TONE_BAD, t);
	text_puts(t, "lost ");
	if (loss->counted) {
		text_unsigned(t, loss->count);
		text_byte(t, ' ');
	}
	text_puts(t, loss->what);
	tone(l, TONE_PLAIN, t);
	text_byte(t, '\n');
	return true;
}

static void
lines_destroy(void *format)
{
	struct lines *l = format;

	events_destroy(l->events);
	free(l);
}

static void *
lines_create(bt_self_component *self)
{
	static const struct events_format ops = {
		.stream_size = sizeof(struct stream),
		.kind_size = sizeof(struct kind),
		.stream_begins = stream_begins,
		.stream_ends = stream_ends,
		.packet_begins = packet_begins,
		.kind_begins = kind_begins,
		.kind_ends = kind_ends,
		.event = lines_event,
		.loss = lines_loss,
	};
	struct lines *l = calloc(1, sizeof(*l));

	(void)self;
	if (l == NULL)
		return NULL;
	l->config.words = true;
	l->events = events_create(&ops, l);
	if (l->events == NULL) {
		free(l);
		l = NULL;
	}
	return l;
}

static const char *
lines_parameter(void *format, const char *key, const bt_value *value)
{
	struct lines *l = format;

	if (strcmp(key, "color") == 0)
		return params_bool(value, &l->color);
	if (strcmp(key, "origin") == 0)
		return params_bool(value, &l->origin);
	return "";
}

static bool
lines_message(void *format, const bt_message *message, struct text *out)
{
	return events_message(((struct lines *)format)->events, message, out);
}

bt_component_class_initialize_method_status
lines_initialize(bt_self_component_sink *self,
    bt_self_component_sink_configuration *configuration, const bt_value *params,
    void *data)
{
	static const struct sink_format format = {
		.what = "events as text",
		.parameters = "are path, color and origin",
		.create = lines_create,
		.destroy = lines_destroy,
		.parameter = lines_parameter,
		.message = lines_message,
	};

	(void)configuration;
	(void)data;
	return sink_initialize(&format, self, params);
}
