/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/compiler.h"
#include "tools/client/tsdl_text.h"
#include "tools/ftrace/ctf.h"

/* Names that one event may have: a field, and the length of one. */
#define NAMES_MAX (2 * EVENT_FIELDS_MAX)
#define NAME_ROOM (EVENT_NAME_MAX + 16)

/* The names in an event so far: readers refuse a structure with two fields of
 * one name. */
struct names {
	char name[NAMES_MAX][NAME_ROOM];
	/* Of each: NAME_2 up to the one before this number are taken. */
	unsigned next[NAMES_MAX];
	uint16_t sorted[NAMES_MAX]; /* their places above, by name */
	unsigned n;
};

/* By size: unsigned, signed, hexadecimal; and characters. */
static void
types(struct buf *out)
{
	static const struct {
		char letter;
		const char *more;
	} kinds[] = {
		{ 'u', "signed = false;" },
		{ 's', "signed = true;" },
		{ 'x', "signed = false; base = 16;" },
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		for (unsigned size = 8; size <= 64; size *= 2)
			tsdl_format(out,
			    "typealias integer { size = %u; align = 8; %s } "
			    ":= %c%u;\n",
			    size, kinds[i].more, kinds[i].letter, size);
	tsdl_text(out, "typealias integer { size = 8; align = 8; "
		       "signed = false; encoding = UTF8; } := c8;\n\n");
}

static void
trace_block(struct buf *out, const struct ctf_trace *t)
{
	tsdl_text(out, "trace {\n	major = 1;\n	minor = 8;\n"
		       "	uuid = ");
	tsdl_uuid(out, t->uuid);
	tsdl_format(
	    out, ";\n	byte_order = %s;\n", t->dat->is_big ? "be" : "le");
	tsdl_text(out, "	packet.header := struct {\n"
		       "		u32 magic;\n"
		       "		u8 uuid[16];\n"
		       "		u32 stream_id;\n"
		       "		u64 stream_instance_id;\n"
		       "	};\n};\n\n");
}

static void
env_string(struct buf *out, const char *name, const char *value)
{
	if (*value == '\0')
		return; /* it is not known */
	tsdl_format(out, "	%s = ", name);
	tsdl_quoted(out, value);
	tsdl_text(out, ";\n");
}

/* Who reads kernel traces looks for the tracer's name, and expects LTTng's
 * names of LTTng. */
static void
env_block(
    struct buf *out, const struct ctf_trace *t, const struct ctf_settings *s)
{
	const bool is_lttng = s->names == CTF_NAMES_LTTNG;
	const struct dat *d = t->dat;

	tsdl_text(out, "env {\n");
	env_string(out, "hostname", d->hostname);
	env_string(out, "domain", "kernel");
	env_string(out, "sysname", "Linux");
	env_string(out, "kernel_release", d->release);
	env_string(out, "tracer_name", is_lttng ? "lttng-modules" : "ftrace");
	tsdl_format(out, "	tracer_major = %d;\n	tracer_minor = %d;\n",
	    is_lttng ? 2 : (int)d->version, is_lttng ? 13 : 0);
	env_string(out, "trace_buffer", s->buffer);
	env_string(out, "trace_clock", d->clock);
	env_string(out, "clock_offset", s->offset_from);
	tsdl_text(out, "};\n\n");
}

/* A clock that is not absolute cannot be shown beside LTTng's. */
static void
clock_block(
    struct buf *out, const struct ctf_trace *t, const struct ctf_settings *s)
{
	int64_t seconds = s->offset_ns / 1000000000;
	int64_t ns = s->offset_ns % 1000000000;

	if (ns < 0) {
		ns += 1000000000;
		seconds--;
	}
	tsdl_text(out, "clock {\n	name = \"ftrace\";\n	uuid = ");
	tsdl_uuid(out, t->clock_uuid);
	tsdl_text(out, ";\n");
	env_string(out, "description", "the trace clock of ftrace");
	tsdl_format(out,
	    "	freq = %" PRIu64 ";\n	offset_s = %" PRId64 ";\n"
	    "	offset = %" PRIu64 ";\n	absolute = %s;\n};\n\n",
	    t->freq, s->has_offset ? seconds : 0,
	    s->has_offset ? (uint64_t)((__int128)ns * t->freq / 1000000000) : 0,
	    s->has_offset ? "TRUE" : "FALSE");
}

static void
stream_block(struct buf *out)
{
	tsdl_text(out,
	    "typealias integer { size = 64; align = 8; signed = false;\n"
	    "	map = clock.ftrace.value; } := timestamp_t;\n\n"
	    "stream {\n"
	    "	id = 0;\n"
	    "	event.header := struct {\n"
	    "		u16 id;\n"
	    "		timestamp_t timestamp;\n"
	    "	};\n"
	    "	event.context := struct {\n"
	    "		x8 _common_flags;\n"
	    "		u8 _common_preempt_count;\n"
	    "		s32 _common_pid;\n"
	    "	};\n"
	    "	packet.context := struct {\n"
	    "		timestamp_t timestamp_begin;\n"
	    "		timestamp_t timestamp_end;\n"
	    "		u64 content_size;\n"
	    "		u64 packet_size;\n"
	    "		u64 packet_seq_num;\n"
	    "		u64 events_discarded;\n"
	    "		u32 cpu_id;\n"
	    "	};\n"
	    "};\n\n");
}

/* Where NAME is in their order, or would be. */
static bool
is_taken(const struct names *names, const char *name, unsigned *at)
{
	unsigned high = names->n;

	*at = 0;
	while (*at < high) {
		const unsigned middle = (*at + high) / 2;
		const int order = strcmp(
		    name, names->name[names->sorted[middle]]);

		if (order == 0) {
			*at = middle;
			return true;
		}
		if (order < 0)
			high = middle;
		else
			*at = middle + 1;
	}
	return false;
}

/* NAME, or NAME_2 and so on. All of an event's names may be the same one: no
 * number is tried twice. */
static const char *
take_name(struct names *names, const char *name)
{
	uint16_t *sorted = names->sorted;
	const unsigned n = names->n;
	char *out = names->name[n];
	unsigned at, *next;

	(void)snprintf(out, NAME_ROOM, "%s", name);
	if (is_taken(names, out, &at)) {
		next = &names->next[sorted[at]];
		do
			(void)snprintf(
			    out, NAME_ROOM, "%s_%u", name, (*next)++);
		while (is_taken(names, out, &at));
	}
	memmove(&sorted[at + 1], &sorted[at], (n - at) * sizeof(*sorted));
	sorted[at] = (uint16_t)n;
	names->next[n] = 2;
	names->n++;
	return out;
}

static char
letter(const struct event_field *f)
{
	if (f->kind == FIELD_TEXT)
		return 'c';
	if (f->kind == FIELD_BYTES || f->is_address)
		return 'x';
	return f->is_signed ? 's' : 'u';
}

/* LENGTH: the name of its length, of those that have one. */
static void
field(struct buf *out, const struct event_field *f, const char *name,
    const char *length)
{
	const unsigned bits = f->element * 8U;

	switch (f->kind) {
	case FIELD_INTEGER:
		tsdl_format(
		    out, "		%c%u _%s;\n", letter(f), bits, name);
		break;
	case FIELD_TEXT:
	case FIELD_BYTES:
		tsdl_format(out, "		%c8 _%s[%" PRIu32 "];\n",
		    letter(f), name, f->size);
		break;
	case FIELD_ARRAY:
		tsdl_format(out, "		%c%u _%s[%" PRIu32 "];\n",
		    letter(f), bits, name, f->count);
		break;
	case FIELD_DYNAMIC_TEXT:
	case FIELD_REST_TEXT:
		tsdl_format(out, "		string _%s;\n", name);
		break;
	case FIELD_DYNAMIC_ARRAY:
	case FIELD_REST_ARRAY:
		tsdl_format(out,
		    "		u16 _%s;\n		%c%u _%s[_%s];\n",
		    length, letter(f), bits, name, length);
		break;
	}
}

/* All fields first, so that a length never takes the name of one. */
static void
fields(struct buf *out, const struct event_format *f, enum ctf_names how,
    struct names *names)
{
	char length[NAME_ROOM], name[EVENT_NAME_MAX];

	names->n = 0;
	for (unsigned i = f->n_common; i < f->n_fields; i++) {
		ctf_names_field(name, f, &f->fields[i], how);
		(void)take_name(names, name);
	}
	for (unsigned i = f->n_common; i < f->n_fields; i++) {
		const struct event_field *x = &f->fields[i];
		const char *own = names->name[i - f->n_common];
		const char *of_length = NULL;

		if (x->kind == FIELD_DYNAMIC_ARRAY ||
		    x->kind == FIELD_REST_ARRAY) {
			(void)snprintf(length, sizeof(length), "%.*s_length",
			    EVENT_NAME_MAX, own);
			of_length = take_name(names, length);
		}
		field(out, x, own, of_length);
	}
}

static void
event(struct buf *out, const struct event_format *f, enum ctf_names how,
    struct names *names)
{
	char name[2 * EVENT_NAME_MAX];

	ctf_names_event(name, f, how);
	tsdl_text(out, "event {\n	name = ");
	tsdl_quoted(out, name);
	tsdl_format(out,
	    ";\n	id = %u;\n	stream_id = 0;\n"
	    "	fields := struct {\n",
	    f->id);
	fields(out, f, how, names);
	tsdl_text(out, "	};\n};\n\n");
}

/* Whatever is known of the clock stands here. */
static void
head(struct buf *out, const struct ctf_trace *t, const struct ctf_settings *s)
{
	tsdl_text(out, "/* CTF 1.8 */\n\n");
	types(out);
	trace_block(out, t);
	env_block(out, t, s);
	clock_block(out, t, s);
}

enum status
ctf_metadata(struct ctf_trace *t, const struct ctf_settings *settings)
{
	struct names *names = calloc(1, sizeof(*names));
	struct buf *out = &t->metadata;

	if (names == NULL)
		return E_NOMEM;
	head(out, t, settings);
	t->head_size = buf_len(out);
	stream_block(out);
	for (unsigned i = 0; i < t->dat->n_events; i++)
		if (t->events[i].ops != NULL)
			event(out, t->dat->events[i], settings->names, names);
	free(names);
	return out->bad ? E_NOMEM : OK;
}

enum status
ctf_metadata_again(struct ctf_trace *t, const struct ctf_settings *settings)
{
	const struct buf *old = &t->metadata;
	struct buf all = { 0 };
	size_t head_size;

	head(&all, t, settings);
	head_size = buf_len(&all);
	buf_bytes(
	    &all, buf_data(old) + t->head_size, buf_len(old) - t->head_size);
	if (all.bad) {
		buf_free(&all);
		return E_NOMEM;
	}
	buf_free(&t->metadata);
	t->metadata = all;
	t->head_size = head_size;
	return OK;
}
