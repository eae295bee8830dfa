/* SPDX-License-Identifier: MIT */
/* The types of TSDL: their table, their parser, and where fields are in them.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/send/tsdl_internal.h"

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

/* ARRAY with space for one more element of SIZE bytes; NULL without memory. */
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

static void
copy_name(char out[NAME_LEN], const char *name)
{
	size_t n = strnlen(name, NAME_LEN - 1);

	memcpy(out, name, n);
	out[n] = '\0';
}

static void
name_type(struct parser *p, const char *name, int type)
{
	struct types *t = &p->types;
	void *grown;

	if (p->st != OK)
		return;
	grown = grow(t->names, t->n_names, &t->cap_names, sizeof(*t->names));
	if (grown == NULL) {
		parser_fail(p, E_NOMEM, "out of memory");
		return;
	}
	t->names = grown;
	copy_name(t->names[t->n_names].name, name);
	t->names[t->n_names++].type = type;
}

static int
types_find(const struct types *t, const char *name)
{
	for (int i = t->n_names; i-- > 0;)
		if (strncmp(t->names[i].name, name, NAME_LEN - 1) == 0)
			return t->names[i].type;
	return TYPE_NONE;
}

static void
append_word(char name[NAME_LEN], const struct token *t)
{
	size_t len = strlen(name);

	snprintf(name + len, NAME_LEN - len, "%s%.*s", len > 0 ? " " : "",
	    (int)(t->n < NAME_LEN ? t->n : NAME_LEN), t->p);
}

/* Returns the type's place; 0 after a failure, when nothing more is parsed. */
static int
add_type(struct parser *p, const struct type *type)
{
	struct types *t = &p->types;
	void *types = grow(
	    t->types, t->n_types, &t->cap_types, sizeof(*t->types));

	if (types == NULL) {
		parser_fail(p, E_NOMEM, "out of memory");
		return 0;
	}
	t->types = types;
	t->types[t->n_types] = *type;
	return t->n_types++;
}

static int
variable(struct parser *p)
{
	return add_type(p, &(struct type){ .kind = TYPE_VARIABLE, .align = 1 });
}

enum byte_order
parser_order(struct parser *p)
{
	enum byte_order order = ORDER_NATIVE;

	if (parser_at(p, "le"))
		order = ORDER_LITTLE;
	else if (parser_at(p, "be") || parser_at(p, "network"))
		order = ORDER_BIG;
	else if (!parser_at(p, "native"))
		parser_fail(p, E_MALFORMED, "invalid byte order");
	parser_next(p);
	return order;
}

/* Take "name = value;" in the block of a number. */
static void
number_attribute(struct parser *p, struct type *type, unsigned *size)
{
	struct token name = p->lex.now;

	parser_next(p);
	parser_need(p, "=");
	if (token_is(&name, "size") || token_is(&name, "exp_dig") ||
	    token_is(&name, "mant_dig"))
		*size += (unsigned)parser_number(p);
	else if (token_is(&name, "align"))
		type->align = (unsigned)parser_number(p);
	else if (token_is(&name, "byte_order"))
		type->order = parser_order(p);
	parser_skip_statement(p);
}

/* Read what follows "integer" or "floating_point". */
static int
number_type(struct parser *p, bool is_integer)
{
	struct type type = { .kind = TYPE_NUMBER, .is_integer = is_integer };
	unsigned size = 0;

	parser_need(p, "{");
	while (p->st == OK && !parser_skip(p, "}"))
		number_attribute(p, &type, &size);
	if (size == 0 || size > 1024)
		parser_fail(
		    p, E_MALFORMED, "invalid size of a number: %u bits", size);
	type.size = size;
	if (type.align == 0)
		type.align = size % 8 == 0 ? 8 : 1;
	if (type.align > 4096)
		parser_fail(
		    p, E_MALFORMED, "invalid alignment: %u bits", type.align);
	return add_type(p, &type);
}

static int type_specifier(struct parser *p);

/* Skip all up to BRACKET, and that bracket. */
static void
skip_to(struct parser *p, const char *bracket)
{
	while (p->lex.now.kind != TOKEN_END && !parser_at(p, bracket))
		parser_next(p);
	parser_need(p, bracket);
}

/* "[N]", any number of them; the first is the outermost. */
static int
array_type(struct parser *p, int element)
{
	struct type type = { .kind = TYPE_ARRAY };
	bool is_constant;

	if (!parser_skip(p, "["))
		return element;
	if (++p->depth > TSDL_DEPTH_MAX) {
		parser_fail(p, E_LIMIT, "an array has too many dimensions");
		return 0;
	}
	is_constant = p->lex.now.kind == TOKEN_NUMBER;
	if (p->lex.now.number > UINT16_MAX)
		parser_fail(p, E_LIMIT, "an array has too many elements");
	type.length = (unsigned)p->lex.now.number;
	skip_to(p, "]");
	type.element = array_type(p, element);
	if (p->st == OK)
		type.align = p->types.types[type.element].align;
	p->depth--;
	return is_constant ? add_type(p, &type) : variable(p);
}

/* The type that is called WORDS. */
static int
named_type(struct parser *p, const char *words)
{
	int type = types_find(&p->types, words);

	if (type == TYPE_NONE && p->st == OK)
		parser_fail(p, E_MALFORMED, "unknown type \"%s\"", words);
	return type == TYPE_NONE ? 0 : type;
}

static void
append_name(char words[NAME_LEN], const char *name)
{
	append_word(words, &(struct token){ .p = name, .n = strlen(name) });
}

/* Take the current word alone. */
static void
take_word(struct parser *p, char name[NAME_LEN])
{
	name[0] = '\0';
	append_word(name, &p->lex.now);
	parser_next(p);
}

static bool
begins_type(const struct parser *p)
{
	static const char *const words[] = { "integer", "floating_point",
		"enum", "struct", "variant", "string" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (parser_at(p, words[i]))
			return true;
	return false;
}

/* A type and the first declarator's NAME; "" if there is none. */
static int
base_type(struct parser *p, char name[NAME_LEN])
{
	char words[NAME_LEN] = "";
	int type = TYPE_NONE;

	name[0] = '\0';
	if (begins_type(p))
		type = type_specifier(p);
	while (p->lex.now.kind == TOKEN_WORD) {
		if (name[0] != '\0')
			append_name(words, name);
		take_word(p, name);
	}
	if (type != TYPE_NONE)
		return type;
	if (name[0] != '\0' && types_find(&p->types, words) == TYPE_NONE) {
		append_name(words, name);
		name[0] = '\0';
	}
	return named_type(p, words);
}

int
parser_declaration(struct parser *p, char name[NAME_LEN])
{
	return array_type(p, base_type(p, name));
}

/* Adds a member to struct IN after member AFTER; TYPE_NONE: as the first. The
 * alignment of IN becomes at least that of its members. Returns the member's
 * place; TYPE_NONE without memory. */
static int
add_member(struct types *t, int in, int after, const char *name, int type)
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

/* TYPE a, b[2], c; */
static void
struct_member(struct parser *p, int in, int *last)
{
	char name[NAME_LEN];
	const int base = base_type(p, name);

	for (;;) {
		*last = add_member(
		    &p->types, in, *last, name, array_type(p, base));
		if (*last == TYPE_NONE)
			parser_fail(p, E_NOMEM, "out of memory");
		if (!parser_skip(p, ","))
			break;
		take_word(p, name);
	}
	parser_need(p, ";");
}

static void
struct_members(struct parser *p, int in)
{
	int last = TYPE_NONE;

	while (p->st == OK && !parser_skip(p, "}"))
		if (!parser_alias(p))
			struct_member(p, in, &last);
}

/* Read what follows "struct": NAME, NAME { ... } or { ... }, align(N). */
static int
struct_type(struct parser *p)
{
	struct type type = {
		.kind = TYPE_STRUCT, .align = 1, .first = TYPE_NONE
	};
	char name[NAME_LEN] = "struct";
	const bool is_named = p->lex.now.kind == TOKEN_WORD;
	int n;

	if (is_named) {
		append_word(name, &p->lex.now);
		parser_next(p);
		if (!parser_at(p, "{"))
			return named_type(p, name);
	}
	parser_need(p, "{");
	n = add_type(p, &type);
	struct_members(p, n);
	if (parser_skip(p, "align")) {
		parser_need(p, "(");
		type.align = (unsigned)parser_number(p);
		parser_need(p, ")");
		if (type.align == 0 || type.align > 4096)
			parser_fail(p, E_MALFORMED,
			    "invalid alignment: %u bits", type.align);
		else if (type.align > p->types.types[n].align)
			p->types.types[n].align = type.align;
	}
	if (is_named)
		name_type(p, name, n);
	return n;
}

/* Read what follows "enum": NAME? : TYPE { ... }; its size is that of TYPE. */
static int
enum_type(struct parser *p)
{
	char name[NAME_LEN] = "enum", ignored[NAME_LEN];
	const bool is_named = p->lex.now.kind == TOKEN_WORD;
	int n;

	if (is_named) {
		append_word(name, &p->lex.now);
		parser_next(p);
	}
	if (is_named && !parser_at(p, ":") && !parser_at(p, "{"))
		return named_type(p, name);
	if (parser_skip(p, ":")) {
		/* A lone word is the type, not a declarator. */
		n = begins_type(p) ? type_specifier(p) : TYPE_NONE;
		for (ignored[0] = '\0'; p->lex.now.kind == TOKEN_WORD;
		     parser_next(p))
			append_word(ignored, &p->lex.now);
		n = n == TYPE_NONE ? named_type(p, ignored) : n;
	} else {
		n = named_type(p, "int");
	}
	parser_need(p, "{");
	parser_skip_block(p);
	if (is_named)
		name_type(p, name, n);
	return n;
}

/* Read what follows "variant" or "string"; the size of either is not constant.
 */
static int
skipped_type(struct parser *p, bool is_variant)
{
	if (is_variant && p->lex.now.kind == TOKEN_WORD)
		parser_next(p);
	if (is_variant && parser_skip(p, "<"))
		skip_to(p, ">");
	if (parser_skip(p, "{"))
		parser_skip_block(p);
	return variable(p);
}

static int
type_specifier(struct parser *p)
{
	int type;

	if (++p->depth > TSDL_DEPTH_MAX) {
		parser_fail(p, E_LIMIT, "types are nested too deeply");
		return 0;
	}
	if (parser_skip(p, "integer"))
		type = number_type(p, true);
	else if (parser_skip(p, "floating_point"))
		type = number_type(p, false);
	else if (parser_skip(p, "struct"))
		type = struct_type(p);
	else if (parser_skip(p, "enum"))
		type = enum_type(p);
	else if (parser_skip(p, "variant"))
		type = skipped_type(p, true);
	else {
		parser_next(p);
		type = skipped_type(p, false);
	}
	p->depth--;
	return type;
}

/* "typealias TYPE := NAME;": NAME may be several words. */
static void
typealias_statement(struct parser *p)
{
	char name[NAME_LEN];
	int type = parser_declaration(p, name);

	if (p->lex.now.kind != TOKEN_ASSIGN)
		parser_fail(p, E_MALFORMED, "\":=\" expected");
	parser_next(p);
	for (name[0] = '\0'; p->lex.now.kind == TOKEN_WORD; parser_next(p))
		append_word(name, &p->lex.now);
	parser_need(p, ";");
	name_type(p, name, type);
}

static void
typedef_statement(struct parser *p)
{
	char name[NAME_LEN];
	int type = parser_declaration(p, name);

	parser_need(p, ";");
	name_type(p, name, type);
}

bool
parser_alias(struct parser *p)
{
	if (parser_skip(p, "typealias"))
		typealias_statement(p);
	else if (parser_skip(p, "typedef"))
		typedef_statement(p);
	else
		return false;
	return true;
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

	assert(type >= 0 && type < t->n_types);
	assert(native != ORDER_NATIVE);
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
