/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/kernel_trace.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "ctf/tsdl_text.h"
#include "tools/ftrace/lttng_names.h"
#include "tools/ftrace/order.h"
#include "tools/ftrace/unique_names.h"

/* Readers count ns since 1970 in 63 bits; half of that is for the offset. */
#define NS_MAX (UINT64_C(1) << 62)
/* The clock "uptime" counts like times(2). */
#define TICKS_PER_S 100

static const struct {
	const char *name;
	uint64_t freq;
} clocks[] = {
	{ "", NS_PER_S }, /* not stated: the kernel's default */
	{ "local", NS_PER_S }, { "global", NS_PER_S }, { "mono", NS_PER_S },
	{ "mono_raw", NS_PER_S }, { "boot", NS_PER_S }, { "tai", NS_PER_S },
	{ "perf", NS_PER_S }, { "uptime", TICKS_PER_S },
	{ "counter", 1 }, /* not a time: orders events of one CPU */
};

/* In Hz. Times of a faster clock would not fit in 64 bits. */
#define FREQ_MAX (100 * NS_PER_S)
static uint64_t
frequency(const struct dat *d)
{
	unsigned __int128 freq = 0;

	for (size_t i = 0; i < ARRAY_LEN(clocks); i++)
		if (strcmp(d->clock, clocks[i].name) == 0)
			return clocks[i].freq;
	if (d->has_tsc)
		freq = ((unsigned __int128)NS_PER_S << d->tsc_shift) /
		       d->tsc_mult;
	return freq <= FREQ_MAX ? (uint64_t)freq : 0;
}

static uint64_t
time_max(uint64_t freq)
{
	const unsigned __int128 t = (unsigned __int128)NS_MAX * freq / NS_PER_S;

	return t > UINT64_MAX ? UINT64_MAX : (uint64_t)t;
}

void
kernel_settings_offset(struct kernel_settings *s, const struct dat *d)
{
	static const char *const from[] = { [DAT_OFFSET_NONE] = "none",
		[DAT_OFFSET_DATE] = "date",
		[DAT_OFFSET_GIVEN] = "ts-offset" };
	const bool fits = d->offset_ns <= KERNEL_OFFSET_MAX &&
			  d->offset_ns >= -KERNEL_OFFSET_MAX;

	s->has_offset = d->offset_from != DAT_OFFSET_NONE && fits;
	s->offset_ns = s->has_offset ? d->offset_ns : 0;
	s->offset_from = s->has_offset ? from[d->offset_from] : "none";
	/* Unix time except for leap seconds, if the machine knows of them. */
	if (!s->has_offset && strcmp(d->clock, "tai") == 0) {
		s->has_offset = true;
		s->offset_from = "tai";
	}
}

/* FNV-1a of 64 bits. Converting a recording again gives the same UUID. */
static uint64_t
hash(uint64_t h, const void *p, size_t n)
{
	const uint8_t *bytes = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ bytes[i]) * UINT64_C(0x100000001b3);
	return h;
}

/* A UUID of version 8, whose bits have no common meaning (RFC 9562, 5.8). */
static void
make_uuid(uint8_t out[CTF_UUID_LEN], const struct dat *d, const char *kind,
    uint64_t some_time)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325), id = d->trace_id;

	h = hash(h, d->hostname, strlen(d->hostname) + 1);
	h = hash(h, d->release, strlen(d->release) + 1);
	if (!d->has_trace_id)
		id = hash(h, &some_time, sizeof(some_time));
	h = hash(h, kind, strlen(kind) + 1);
	h = hash(h, &id, sizeof(id));
	memcpy(out, &id, sizeof(id));
	memcpy(out + sizeof(id), &h, sizeof(h));
	out[6] = (uint8_t)((out[6] & 0x0f) | 0x80);
	out[8] = (uint8_t)((out[8] & 0x3f) | 0x80);
}

/*
 * Each kernel event is encoded by a short list of operations: fixed fields are
 * copied, adjacent ones in one operation; other fields are found by the event's
 * bytes, and bounded by them.
 */

enum kernel_op_kind {
	OP_COPY,  /* SIZE bytes from AT */
	OP_TEXT,  /* text; the word at AT says where */
	OP_ARRAY, /* numbers of ELEMENT bytes, as above, after their count */
	OP_REST_TEXT, /* text from AT to the end of the event */
	OP_REST_ARRAY,
	OP_RWBS,   /* SIZE letters from AT, as LTTng's flags */
	OP_SYMBOL, /* the function whose address of ELEMENT bytes is at AT */
	OP_REST_SYMBOLS, /* those of OP_REST_ARRAY */
};

struct kernel_op {
	uint8_t kind;	 /* enum kernel_op_kind */
	uint8_t element; /* bytes */
	bool is_relative;
	uint32_t at, size;
};

/* Operations of each event, beside one for each field. */
#define KERNEL_OPS_EXTRA 3
#define LOC_LEN 4

/* Appends a copy of SIZE bytes from AT, or extends the last operation if that
 * ends at AT. */
static uint32_t
add_copy(struct kernel_op *out, uint32_t n, uint32_t first, uint32_t at,
    uint32_t size)
{
	struct kernel_op *last = n > first ? &out[n - 1] : NULL;

	if (last != NULL && last->kind == OP_COPY &&
	    last->at + last->size == at) {
		last->size += size;
		return n;
	}
	out[n] = (struct kernel_op){ .kind = OP_COPY, .at = at, .size = size };
	return n + 1;
}

static uint32_t
add_field(struct kernel_op *out, uint32_t n, const struct event_format *format,
    const struct event_field *f, enum kernel_names names)
{
	static const enum kernel_op_kind kinds[] = {
		[FIELD_INTEGER] = OP_COPY,
		[FIELD_TEXT] = OP_COPY,
		[FIELD_ARRAY] = OP_COPY,
		[FIELD_BYTES] = OP_COPY,
		[FIELD_DYNAMIC_TEXT] = OP_TEXT,
		[FIELD_DYNAMIC_ARRAY] = OP_ARRAY,
		[FIELD_REST_TEXT] = OP_REST_TEXT,
		[FIELD_REST_ARRAY] = OP_REST_ARRAY,
	};

	if (names == KERNEL_NAMES_LTTNG && lttng_is_rwbs(format, f)) {
		out[n] = (struct kernel_op){
			.kind = OP_RWBS, .at = f->offset, .size = f->size
		};
		return n + 1;
	}
	if (kinds[f->kind] == OP_COPY)
		return add_copy(out, n, 0, f->offset, f->size);
	out[n] = (struct kernel_op){ .kind = (uint8_t)kinds[f->kind],
		.element = f->element,
		.is_relative = f->is_relative,
		.at = f->offset,
		.size = f->size };
	return n + 1;
}

/* A field after F has the names of its addresses. */
static bool
has_symbol(const struct kernel_trace *t, const struct event_field *f)
{
	return t->dat->symbols != NULL && f->is_code &&
	       (f->kind == FIELD_INTEGER || f->kind == FIELD_REST_ARRAY);
}

/* The fields of the event context, in its order; LTTng has the last one too,
 * as tid. */
static const struct {
	const char *name;
	uint32_t size;
} context[KERNEL_OPS_EXTRA] = {
	{ "common_flags", 1 },
	{ "common_preempt_count", 1 },
	{ "common_pid", 4 },
};

static uint32_t
kernel_event_compile(const struct kernel_trace *t, const struct event_format *f,
    enum kernel_names names, struct kernel_op *out)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < KERNEL_OPS_EXTRA; i++) {
		const struct event_field *c = event_format_field(
		    f, context[i].name);

		if (c == NULL || c->kind != FIELD_INTEGER ||
		    c->size != context[i].size)
			return 0;
		n = add_copy(out, n, 0, c->offset, c->size);
	}
	for (unsigned i = f->n_common; i < f->n_fields; i++) {
		const struct event_field *x = &f->fields[i];

		n = add_field(out, n, f, x, names);
		if (has_symbol(t, x))
			out[n++] = (struct kernel_op){
				.kind = x->kind == FIELD_INTEGER
					    ? OP_SYMBOL
					    : OP_REST_SYMBOLS,
				.element = x->element,
				.at = x->offset,
			};
	}
	return n;
}

static uint8_t *
put_text(const uint8_t *data, uint32_t n, uint8_t *at, const uint8_t *end)
{
	const size_t len = strnlen((const char *)data, n);

	if ((size_t)(end - at) < len + 1)
		return NULL;
	memcpy(at, data, len);
	at[len] = '\0';
	return at + len + 1;
}

static uint8_t *
put_array(const uint8_t *data, uint32_t n, unsigned element, bool is_big,
    uint8_t *at, const uint8_t *end)
{
	uint32_t count = n / element;

	if (count > UINT16_MAX)
		count = UINT16_MAX;
	n = count * element;
	if ((size_t)(end - at) < 2 + (size_t)n)
		return NULL;
	at = order_store_u16(is_big, at, (uint16_t)count);
	memcpy(at, data, n);
	return at + n;
}

/* Finds the bytes of a field. Returns their number; 0 if they are outside of
 * the event. */
static uint32_t
find(const struct kernel_op *op, const uint8_t *data, uint32_t n, bool is_big,
    uint32_t *at)
{
	uint32_t word, len;

	if (op->kind == OP_REST_TEXT || op->kind == OP_REST_ARRAY ||
	    op->kind == OP_REST_SYMBOLS) {
		*at = op->at;
		return n - op->at;
	}
	word = order_u32(is_big, data + op->at);
	*at = (word & UINT16_MAX) + (op->is_relative ? op->at + LOC_LEN : 0);
	len = word >> 16;
	if (*at <= n && len <= n - *at)
		return len;
	*at = 0;
	return 0;
}

static uint8_t *
put_rwbs(const struct kernel_op *op, const uint8_t *data, bool is_big,
    uint8_t *out, const uint8_t *end)
{
	if (end - out < (ptrdiff_t)sizeof(uint32_t))
		return NULL;
	return order_store_u32(
	    is_big, out, lttng_rwbs_flags(data + op->at, op->size));
}

/* The names of the functions at the N bytes of DATA, as many as put_array()
 * puts numbers. */
static uint8_t *
put_symbols(const struct kernel_trace *t, const struct kernel_op *op,
    const uint8_t *data, uint32_t n, uint8_t *out, const uint8_t *end)
{
	const bool is_big = t->dat->is_big;
	uint32_t count = n / op->element;
	char text[SYMBOL_TEXT_MAX];

	for (count = count > UINT16_MAX ? UINT16_MAX : count;
	     count > 0 && out != NULL; count--) {
		const uint64_t address = op->element == 8
					     ? order_u64(is_big, data)
					     : order_u32(is_big, data);
		const unsigned len = symbols_text(
		    t->dat->symbols, address, text);

		out = put_text((const uint8_t *)text, len, out, end);
		data += op->element;
	}
	return out;
}

static uint8_t *
put_found(const struct kernel_trace *t, const struct kernel_op *op,
    const uint8_t *data, uint32_t n, uint8_t *out, const uint8_t *end)
{
	const bool is_big = t->dat->is_big;
	uint32_t at, len;

	if (op->kind == OP_SYMBOL)
		return put_symbols(t, op, data + op->at, op->element, out, end);
	if (op->kind == OP_RWBS)
		return put_rwbs(op, data, is_big, out, end);
	len = find(op, data, n, is_big, &at);
	if (op->kind == OP_REST_SYMBOLS)
		return put_symbols(t, op, data + at, len, out, end);
	if (op->kind == OP_TEXT || op->kind == OP_REST_TEXT)
		return put_text(data + at, len, out, end);
	return put_array(data + at, len, op->element, is_big, out, end);
}

uint8_t *
kernel_event_encode(const struct kernel_trace *t, const struct kernel_event *e,
    const uint8_t *data, uint32_t n, uint8_t *at, const uint8_t *end)
{
	if (n < e->fixed_size)
		return NULL;
	for (uint32_t i = 0; i < e->n_ops; i++) {
		const struct kernel_op *op = &e->ops[i];

		if (op->kind != OP_COPY) {
			at = put_found(t, op, data, n, at, end);
			if (at == NULL)
				return NULL;
			continue;
		}
		if ((size_t)(end - at) < op->size)
			return NULL;
		memcpy(at, data + op->at, op->size);
		at += op->size;
	}
	return at;
}

static void
name_event(char *out, const struct event_format *f, enum kernel_names names)
{
	if (names == KERNEL_NAMES_LTTNG)
		lttng_event_name(out, f);
	else
		(void)snprintf(
		    out, LTTNG_NAME_SIZE, "%s:%s", f->system, f->name);
}

/* For each size: unsigned, signed, hexadecimal; and characters. */
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
trace_block(struct buf *out, const struct kernel_trace *t)
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
		return; /* not known */
	tsdl_format(out, "	%s = ", name);
	tsdl_quoted(out, value);
	tsdl_text(out, ";\n");
}

/* Readers identify a kernel trace by the tracer's name, and expect LTTng's
 * event names from LTTng. */
static void
env_block(struct buf *out, const struct kernel_trace *t,
    const struct kernel_settings *s)
{
	const bool is_lttng = s->names == KERNEL_NAMES_LTTNG;
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
	if (s->has_error)
		tsdl_format(out, "	clock_offset_error_ns = %" PRIu64 ";\n",
		    s->error_ns);
	tsdl_text(out, "};\n\n");
}

/* Readers cannot merge a clock that is not absolute with LTTng's. */
static void
clock_block(struct buf *out, const struct kernel_trace *t,
    const struct kernel_settings *s)
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
stream_block(struct buf *out, enum kernel_names names)
{
	tsdl_format(out,
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
	    "		s32 _%s;\n"
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
	    "};\n\n",
	    names == KERNEL_NAMES_LTTNG ? "tid" : "common_pid");
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

/* Can an integer F be V? */
static bool
holds(const struct event_field *f, int64_t v)
{
	const unsigned bits = f->element * 8U - f->is_signed;

	if (v < 0 && !f->is_signed)
		return false;
	return bits >= 63 || (v < 0 ? -(v + 1) : v) < INT64_C(1) << bits;
}

/* An integer with names for its values. False: it has none. */
static bool
enumeration(struct buf *out, const struct event_field *f, const char *name)
{
	const struct event_labels *l = &f->labels;
	unsigned n = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		if (!holds(f, l->all[i].value))
			continue;
		if (n++ == 0)
			tsdl_format(out, "		enum : %c%u { ",
			    letter(f), f->element * 8U);
		else
			tsdl_text(out, ", ");
		tsdl_quoted(out, l->names + l->all[i].name);
		tsdl_format(out, " = %" PRId64, l->all[i].value);
	}
	if (n > 0)
		tsdl_format(out, " } _%s;\n", name);
	return n > 0;
}

/* LENGTH: the name of the length field, for kinds that have one. */
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

/* Takes the name OWN with END, such as "_length". */
static const char *
take_longer(struct unique_names *names, const char *own, const char *end)
{
	char name[UNIQUE_NAME_SIZE];

	(void)snprintf(name, sizeof(name), "%.*s%s", EVENT_NAME_MAX, own, end);
	return unique_names_take(names, name);
}

static void
symbol(struct buf *out, struct unique_names *names, const char *own,
    const char *of_length)
{
	const char *name = take_longer(names, own, "_symbol");

	if (of_length == NULL)
		tsdl_format(out, "		string _%s;\n", name);
	else
		tsdl_format(
		    out, "		string _%s[_%s];\n", name, of_length);
}

/* All fields first, so that a length never takes a field's name. */
static void
fields(struct buf *out, const struct kernel_trace *t,
    const struct event_format *f, enum kernel_names how,
    struct unique_names *names)
{
	char name[EVENT_NAME_MAX];

	names->n = 0;
	for (unsigned i = f->n_common; i < f->n_fields; i++) {
		(void)snprintf(name, sizeof(name), "%s", f->fields[i].name);
		if (how == KERNEL_NAMES_LTTNG)
			lttng_field_name(name, f);
		(void)unique_names_take(names, name);
	}
	for (unsigned i = f->n_common; i < f->n_fields; i++) {
		const struct event_field *x = &f->fields[i];
		const char *own = names->name[i - f->n_common];
		const char *of_length = NULL;

		if (x->kind == FIELD_DYNAMIC_ARRAY ||
		    x->kind == FIELD_REST_ARRAY)
			of_length = take_longer(names, own, "_length");
		if (how == KERNEL_NAMES_LTTNG && lttng_is_rwbs(f, x))
			tsdl_format(out, "		x32 _%s;\n", own);
		else if (how == KERNEL_NAMES_LTTNG || !enumeration(out, x, own))
			field(out, x, own, of_length);
		if (has_symbol(t, x))
			symbol(out, names, own, of_length);
	}
}

static void
event(struct buf *out, const struct kernel_trace *t,
    const struct event_format *f, enum kernel_names how,
    struct unique_names *names)
{
	char name[LTTNG_NAME_SIZE];

	name_event(name, f, how);
	tsdl_text(out, "event {\n	name = ");
	tsdl_quoted(out, name);
	tsdl_format(out,
	    ";\n	id = %u;\n	stream_id = 0;\n"
	    "	fields := struct {\n",
	    f->id);
	fields(out, t, f, how, names);
	tsdl_text(out, "	};\n};\n\n");
}

/* All that depends on the clock is in the head. */
static void
head(struct buf *out, const struct kernel_trace *t,
    const struct kernel_settings *s)
{
	tsdl_text(out, "/* CTF 1.8 */\n\n");
	types(out);
	trace_block(out, t);
	env_block(out, t, s);
	clock_block(out, t, s);
}

static enum status
kernel_metadata(struct kernel_trace *t, const struct kernel_settings *settings)
{
	struct unique_names *names = calloc(1, sizeof(*names));
	struct buf *out = &t->metadata;

	if (names == NULL)
		return E_NOMEM;
	head(out, t, settings);
	t->head_size = buf_len(out);
	stream_block(out, settings->names);
	for (unsigned i = 0; i < t->dat->n_events; i++)
		if (t->events[i].ops != NULL)
			event(
			    out, t, t->dat->events[i], settings->names, names);
	free(names);
	return out->bad ? E_NOMEM : OK;
}

enum status
kernel_metadata_again(
    struct kernel_trace *t, const struct kernel_settings *settings)
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

static enum status
compile(struct kernel_trace *t, enum kernel_names names)
{
	const struct dat *d = t->dat;
	const size_t n_events = d->n_events + 1;
	const size_t per_field = d->symbols == NULL ? 1 : 2;
	const size_t n_ops = per_field * d->n_fields +
			     KERNEL_OPS_EXTRA * n_events;
	struct kernel_op *next;

	t->events = calloc(n_events, sizeof(*t->events));
	t->ops = calloc(n_ops, sizeof(*t->ops));
	t->memory = n_events * sizeof(*t->events) + n_ops * sizeof(*t->ops);
	if (t->events == NULL || t->ops == NULL)
		return E_NOMEM;
	next = t->ops;
	for (unsigned i = 0; i < d->n_events; i++) {
		const uint32_t n = kernel_event_compile(
		    t, d->events[i], names, next);

		if (n == 0)
			continue;
		t->events[i] = (struct kernel_event){ .ops = next,
			.n_ops = n,
			.fixed_size = d->events[i]->fixed_size };
		next += n;
	}
	return OK;
}

enum status
kernel_trace_create(struct kernel_trace **out, const struct dat *d,
    const struct kernel_settings *settings, char why[DAT_WHY_MAX])
{
	struct kernel_trace *t = calloc(1, sizeof(*t));
	enum status st;

	*out = NULL;
	(void)snprintf(why, DAT_WHY_MAX, "%s", status_text(E_NOMEM));
	if (t == NULL)
		return E_NOMEM;
	t->dat = d;
	t->freq = frequency(d);
	if (t->freq == 0) {
		(void)snprintf(why, DAT_WHY_MAX,
		    "unknown frequency of the clock %s; use another (trace-cmd "
		    "record -C mono)",
		    d->clock);
		kernel_trace_destroy(t);
		return E_REFUSED;
	}
	t->time_max = time_max(t->freq);
	make_uuid(t->uuid, d, settings->buffer, settings->some_time);
	make_uuid(t->clock_uuid, d, "/clock", settings->some_time);
	st = compile(t, settings->names);
	if (st == OK)
		st = kernel_metadata(t, settings);
	if (st != OK) {
		kernel_trace_destroy(t);
		return st;
	}
	*out = t;
	return OK;
}

void
kernel_trace_destroy(struct kernel_trace *t)
{
	if (t == NULL)
		return;
	buf_free(&t->metadata);
	free(t->events);
	free(t->ops);
	free(t);
}

uint64_t
kernel_time_ns(const struct kernel_trace *t, uint64_t time)
{
	return t->freq == NS_PER_S
		   ? time
		   : (uint64_t)((unsigned __int128)time * NS_PER_S / t->freq);
}

uint64_t
kernel_time_of_ns(const struct kernel_trace *t, uint64_t ns)
{
	return t->freq == NS_PER_S
		   ? ns
		   : (uint64_t)((unsigned __int128)ns * t->freq / NS_PER_S);
}
