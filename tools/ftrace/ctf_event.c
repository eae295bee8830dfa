/* SPDX-License-Identifier: MIT */
/*
 * Events are encoded by short programs, one for each event of the kernel: what
 * is fixed is copied, fields that lie beside each other in one piece; the rest
 * is found as the event's bytes say, and is bounded by them.
 */
#include "config.h"

#include <string.h>

#include "tools/ftrace/ctf.h"
#include "tools/ftrace/ctf_op.h"
#include "tools/ftrace/order.h"

#define LOC_LEN 4

/* Copy SIZE bytes from AT; longer by what lies directly behind the last. */
static uint32_t
add_copy(
    struct ctf_op *out, uint32_t n, uint32_t first, uint32_t at, uint32_t size)
{
	struct ctf_op *last = n > first ? &out[n - 1] : NULL;

	if (last != NULL && last->kind == OP_COPY &&
	    last->at + last->size == at) {
		last->size += size;
		return n;
	}
	out[n] = (struct ctf_op){ .kind = OP_COPY, .at = at, .size = size };
	return n + 1;
}

static uint32_t
add_field(struct ctf_op *out, uint32_t n, const struct event_field *f)
{
	static const enum ctf_op_kind kinds[] = {
		[FIELD_INTEGER] = OP_COPY,
		[FIELD_TEXT] = OP_COPY,
		[FIELD_ARRAY] = OP_COPY,
		[FIELD_BYTES] = OP_COPY,
		[FIELD_DYNAMIC_TEXT] = OP_TEXT,
		[FIELD_DYNAMIC_ARRAY] = OP_ARRAY,
		[FIELD_REST_TEXT] = OP_REST_TEXT,
		[FIELD_REST_ARRAY] = OP_REST_ARRAY,
	};

	if (kinds[f->kind] == OP_COPY)
		return add_copy(out, n, 0, f->offset, f->size);
	out[n] = (struct ctf_op){ .kind = (uint8_t)kinds[f->kind],
		.element = f->element,
		.is_relative = f->is_relative,
		.at = f->offset,
		.size = f->size };
	return n + 1;
}

/* What the event context has of each event, in its order. */
static const struct {
	const char *name;
	uint32_t size;
} context[CTF_OPS_EXTRA] = {
	{ "common_flags", 1 },
	{ "common_preempt_count", 1 },
	{ "common_pid", 4 },
};

uint32_t
ctf_event_compile(const struct event_format *f, struct ctf_op *out)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < CTF_OPS_EXTRA; i++) {
		const struct event_field *c = event_format_field(
		    f, context[i].name);

		if (c == NULL || c->kind != FIELD_INTEGER ||
		    c->size != context[i].size)
			return 0;
		n = add_copy(out, n, 0, c->offset, c->size);
	}
	for (unsigned i = f->n_common; i < f->n_fields; i++)
		n = add_field(out, n, &f->fields[i]);
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

/* Where a field's bytes are, and how many; none if they are elsewhere. */
static uint32_t
find(const struct ctf_op *op, const uint8_t *data, uint32_t n, bool is_big,
    uint32_t *at)
{
	uint32_t word, len;

	if (op->kind == OP_REST_TEXT || op->kind == OP_REST_ARRAY) {
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
put_found(const struct ctf_op *op, const uint8_t *data, uint32_t n, bool is_big,
    uint8_t *out, const uint8_t *end)
{
	uint32_t at, len = find(op, data, n, is_big, &at);

	if (op->kind == OP_TEXT || op->kind == OP_REST_TEXT)
		return put_text(data + at, len, out, end);
	return put_array(data + at, len, op->element, is_big, out, end);
}

uint8_t *
ctf_event_encode(const struct ctf_trace *t, const struct ctf_event *e,
    const uint8_t *data, uint32_t n, uint8_t *at, const uint8_t *end)
{
	if (n < e->fixed_size)
		return NULL;
	for (uint32_t i = 0; i < e->n_ops; i++) {
		const struct ctf_op *op = &e->ops[i];

		if (op->kind != OP_COPY) {
			at = put_found(op, data, n, t->dat->is_big, at, end);
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
