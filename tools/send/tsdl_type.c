/* SPDX-License-Identifier: MIT */
#include "tools/send/tsdl_type.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Bits; no header or context is longer. */
#define LAYOUT_MAX (64 * 1024 * 8)
#define DEPTH_MAX 16
/* Arrays of empty structs have no size, but take time to walk. */
#define STEPS_MAX (1024 * 1024)

static const char *const names[TSDL_NAMES] = {
	[TSDL_MAGIC] = "magic",
	[TSDL_STREAM_ID] = "stream_id",
	[TSDL_STREAM_INSTANCE_ID] = "stream_instance_id",
	[TSDL_PACKET_SIZE] = "packet_size",
	[TSDL_CONTENT_SIZE] = "content_size",
	[TSDL_TIMESTAMP_BEGIN] = "timestamp_begin",
	[TSDL_TIMESTAMP_END] = "timestamp_end",
	[TSDL_EVENTS_DISCARDED] = "events_discarded",
	[TSDL_PACKET_SEQ_NUM] = "packet_seq_num",
};

void
types_free(struct types *t)
{
	free(t->types);
	free(t->members);
	free(t->names);
	*t = (struct types){ 0 };
}

/* ARRAY with room for one more element of SIZE bytes; NULL without memory. */
static void *
grow(void *array, int n, int *cap, size_t size)
{
	void *p;

	if (n < *cap)
		return array;
	p = realloc(array, (size_t)(*cap * 2 + 16) * size);
	if (p != NULL)
		*cap = *cap * 2 + 16;
	return p;
}

int
types_add(struct types *t, const struct type *type)
{
	void *p = grow(t->types, t->n_types, &t->cap_types, sizeof(*t->types));

	if (p == NULL)
		return TYPE_NONE;
	t->types = p;
	t->types[t->n_types] = *type;
	return t->n_types++;
}

static void
copy_name(char out[NAME_LEN], const char *name)
{
	size_t n = strnlen(name, NAME_LEN - 1);

	memcpy(out, name, n);
	out[n] = '\0';
}

int
types_add_member(struct types *t, int in, int after, const char *name, int type)
{
	void *p = grow(
	    t->members, t->n_members, &t->cap_members, sizeof(*t->members));
	struct member *m;

	if (p == NULL)
		return TYPE_NONE;
	t->members = p;
	m = &t->members[t->n_members];
	*m = (struct member){ .type = type, .next = TYPE_NONE };
	copy_name(m->name, name);
	if (t->types[type].align > t->types[in].align)
		t->types[in].align = t->types[type].align;
	if (after == TYPE_NONE)
		t->types[in].first = t->n_members;
	else
		t->members[after].next = t->n_members;
	return t->n_members++;
}

bool
types_name(struct types *t, const char *name, int type)
{
	void *p = grow(t->names, t->n_names, &t->cap_names, sizeof(*t->names));

	if (p == NULL)
		return false;
	t->names = p;
	copy_name(t->names[t->n_names].name, name);
	t->names[t->n_names++].type = type;
	return true;
}

int
types_find(const struct types *t, const char *name)
{
	for (int i = t->n_names; i-- > 0;)
		if (strncmp(t->names[i].name, name, NAME_LEN - 1) == 0)
			return t->names[i].type;
	return TYPE_NONE;
}

/* One walk over a struct. OUT gets the fields of the outermost struct only. */
struct walk {
	const struct types *types;
	enum byte_order native;
	struct tsdl_layout *out;
	uint64_t at;	/* bits */
	unsigned align; /* the largest so far */
	unsigned steps;
};

static void
align(struct walk *w, unsigned bits)
{
	w->at = (w->at + bits - 1) / bits * bits;
	if (bits > w->align)
		w->align = bits;
}

static void
note(struct walk *w, const char *name, const struct type *type)
{
	const enum byte_order order = type->order == ORDER_NATIVE ? w->native
								  : type->order;

	if (type->kind != TYPE_NUMBER || !type->is_integer || type->size > 64)
		return;
	for (unsigned i = 0; i < TSDL_NAMES; i++)
		if (strcmp(names[i], name) == 0)
			w->out->fields[i] =
			    (struct tsdl_field){ (unsigned)w->at - type->size,
				    type->size, order == ORDER_LITTLE };
}

static enum status walk_type(struct walk *w, int number, unsigned depth);

static enum status
walk_struct(struct walk *w, const struct type *type, unsigned depth)
{
	for (int i = type->first; i != TYPE_NONE;
	     i = w->types->members[i].next) {
		const struct member *m = &w->types->members[i];
		enum status st = walk_type(w, m->type, depth + 1);

		if (st != OK)
			return st;
		if (depth == 0)
			note(w, m->name, &w->types->types[m->type]);
	}
	return OK;
}

static enum status
walk_array(struct walk *w, const struct type *type, unsigned depth)
{
	enum status st = OK;

	for (unsigned i = 0; i < type->length && st == OK; i++)
		st = walk_type(w, type->element, depth + 1);
	return st;
}

static enum status
walk_type(struct walk *w, int number, unsigned depth)
{
	const struct type *type = &w->types->types[number];

	if (depth > DEPTH_MAX || w->at > LAYOUT_MAX || ++w->steps > STEPS_MAX)
		return E_LIMIT;
	if (type->kind == TYPE_VARIABLE)
		return E_REFUSED;
	align(w, type->align);
	switch (type->kind) {
	case TYPE_NUMBER:
		w->at += type->size;
		return OK;
	case TYPE_STRUCT:
		return walk_struct(w, type, depth);
	case TYPE_ARRAY:
		return walk_array(w, type, depth);
	case TYPE_VARIABLE:
		break;
	}
	return E_REFUSED;
}

enum status
types_layout(const struct types *t, int type, enum byte_order native,
    struct tsdl_layout *out)
{
	struct walk w = { t, native, out, 0, 1, 0 };
	enum status st;

	*out = (struct tsdl_layout){ .align = 1 };
	if (t->types[type].kind != TYPE_STRUCT)
		return E_REFUSED;
	st = walk_type(&w, type, 0);
	if (st == OK && w.at > LAYOUT_MAX)
		st = E_LIMIT;
	out->size = (unsigned)w.at;
	out->align = w.align;
	return st;
}
