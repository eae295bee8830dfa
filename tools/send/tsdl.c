/* SPDX-License-Identifier: MIT */
#include "tools/send/tsdl.h"

#include <assert.h>
#include <ctype.h>
#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define METADATA_MAGIC 0x75d11d57
/* magic 4, uuid 16, checksum 4, content size 4, packet size 4, compression,
 * encryption, checksum scheme, major, minor (CTF 1.8, 7.1). */
#define HEADER_LEN 37

#define NAME_LEN 64  /* longer names are cut: none that we need is longer */
#define DEPTH_MAX 64 /* of types in types */
#define STREAMS_MAX 4096
/* Bits: no packet header or context is longer. A longer type counts as one
 * without a constant size. */
#define SIZE_MOST (64 * 1024 * 8)

enum token { TOKEN_END, TOKEN_WORD, TOKEN_NUMBER, TOKEN_STRING, TOKEN_PUNCT };
enum byte_order { ORDER_NATIVE, ORDER_LITTLE, ORDER_BIG };

/* A type as far as its size matters. */
struct type {
	bool is_variable; /* its size is not constant */
	bool is_integer, is_struct;
	enum byte_order order;		      /* of an integer */
	uint64_t size;			      /* bits, at most SIZE_MOST */
	unsigned align;			      /* bits */
	struct tsdl_field fields[TSDL_NAMES]; /* of a struct */
};

/* A name may be defined again: the last definition counts. */
struct named_type {
	char name[NAME_LEN];
	struct type type;
};

/* The current token is the N bytes at WORD. */
struct parser {
	struct tsdl *out;
	const char *at, *end; /* the text after the token */
	enum token kind;
	const char *word;
	size_t n;
	unsigned line; /* from 1 */
	struct named_type *names;
	size_t n_names;
	enum byte_order native;
	unsigned depth;
	bool has_clock, has_trace;
	enum status st; /* sticky: after a failure nothing more is parsed */
};

static const char *const field_names[TSDL_NAMES] = {
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

static uint32_t
u32(const uint8_t *p, bool is_little_endian)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return is_little_endian ? le32toh(v) : be32toh(v);
}

static enum status
wrong(const char **why, enum status st, const char *text)
{
	*why = text;
	return st;
}

enum status
tsdl_unpack(struct buf *out, const uint8_t *p, uint64_t n, const char **why)
{
	const bool le = n >= 4 && u32(p, true) == METADATA_MAGIC;
	uint32_t content, size;

	if (n == 0)
		return wrong(why, E_MALFORMED, "the metadata is empty");
	if (*p == '{' || *p == '\x1e')
		return wrong(why, E_REFUSED, "CTF 2 is not supported");
	if (!le && (n < 4 || u32(p, false) != METADATA_MAGIC)) {
		buf_bytes(out, p, n);
		n = 0;
	}
	for (; n > 0; p += size, n -= size) {
		if (n < HEADER_LEN || u32(p, le) != METADATA_MAGIC)
			return wrong(why, E_MALFORMED,
			    "invalid packet header in the metadata");
		content = u32(p + 24, le) / 8;
		size = u32(p + 28, le) / 8;
		if (p[32] != 0 || p[33] != 0)
			return wrong(why, E_REFUSED,
			    "compressed or encrypted metadata is not "
			    "supported");
		if (content < HEADER_LEN || content > size || size > n)
			return wrong(
			    why, E_MALFORMED, "invalid packet in the metadata");
		buf_bytes(out, p + HEADER_LEN, content - HEADER_LEN);
	}
	return out->bad ? wrong(why, E_NOMEM, "out of memory") : OK;
}

static void PRINTF_LIKE(3, 4)
    fail(struct parser *p, enum status st, const char *fmt, ...)
{
	char what[160];
	va_list args;

	if (p->st != OK)
		return;
	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	snprintf(
	    p->out->error, sizeof(p->out->error), "line %u: %s", p->line, what);
	p->st = st;
	p->at = p->end;
	p->kind = TOKEN_END;
	p->n = 0;
}

static bool
starts(const struct parser *p, const char *text)
{
	const size_t n = strlen(text);

	return (size_t)(p->end - p->at) >= n && memcmp(p->at, text, n) == 0;
}

/* Go past END; false: the text ends before. */
static bool
skip_past(struct parser *p, const char *end)
{
	for (; p->at < p->end; p->at++) {
		if (starts(p, end)) {
			p->at += strlen(end);
			return true;
		}
		p->line += *p->at == '\n';
		if (*end == '"' && *p->at == '\\' && p->end - p->at > 1)
			p->at++;
	}
	return false;
}

static bool
skip_space(struct parser *p)
{
	for (;;) {
		if (starts(p, "/*")) {
			p->at += 2;
			if (!skip_past(p, "*/"))
				return false;
		} else if (starts(p, "//")) {
			while (p->at < p->end && *p->at != '\n')
				p->at++;
		} else if (p->at < p->end && isspace((unsigned char)*p->at)) {
			p->line += *p->at++ == '\n';
		} else {
			return true;
		}
	}
}

/* Go to the next token. */
static void
next(struct parser *p)
{
	bool is_whole = skip_space(p);

	p->word = p->at;
	p->kind = TOKEN_PUNCT;
	if (p->at == p->end || *p->at == '\0') {
		p->kind = TOKEN_END;
	} else if (*p->at == '"') {
		p->kind = TOKEN_STRING;
		p->at++;
		is_whole = skip_past(p, "\"");
	} else if (isalnum((unsigned char)*p->at) || *p->at == '_') {
		p->kind = isdigit((unsigned char)*p->at) ? TOKEN_NUMBER
							 : TOKEN_WORD;
		while (p->at < p->end &&
		       (isalnum((unsigned char)*p->at) || *p->at == '_'))
			p->at++;
	} else {
		p->at += starts(p, ":=") ? 2 : 1;
	}
	p->n = (size_t)(p->at - p->word);
	if (!is_whole)
		fail(p, E_MALFORMED, "unterminated comment or string");
}

static bool
is_at(const struct parser *p, const char *text)
{
	return p->n == strlen(text) && memcmp(p->word, text, p->n) == 0;
}

static bool
skip(struct parser *p, const char *text)
{
	if (!is_at(p, text))
		return false;
	next(p);
	return true;
}

static void
expect(struct parser *p, const char *text)
{
	if (!skip(p, text))
		fail(p, E_MALFORMED, "\"%s\" expected", text);
}

/* Skip all up to the token END that is not in braces, and that token. */
static void
skip_to(struct parser *p, const char *end)
{
	unsigned depth = 0;

	while (p->kind != TOKEN_END && (depth > 0 || !is_at(p, end))) {
		depth += is_at(p, "{");
		depth -= depth > 0 && is_at(p, "}");
		next(p);
	}
	expect(p, end);
}

static uint64_t
number(struct parser *p)
{
	char digits[32] = "";

	if (p->kind != TOKEN_NUMBER)
		fail(p, E_MALFORMED, "number expected");
	memcpy(
	    digits, p->word, p->n < sizeof(digits) ? p->n : sizeof(digits) - 1);
	next(p);
	return strtoull(digits, NULL, 0);
}

static int64_t
signed_number(struct parser *p)
{
	const bool is_negative = skip(p, "-");

	return (int64_t)(is_negative ? -number(p) : number(p));
}

/* Take the current token, and append it to NAME after a BETWEEN. */
static void
take_token(struct parser *p, char name[NAME_LEN], const char *between)
{
	const size_t len = strlen(name);

	snprintf(name + len, NAME_LEN - len, "%s%.*s", len > 0 ? between : "",
	    (int)(p->n < NAME_LEN ? p->n : NAME_LEN), p->word);
	next(p);
}

/* Take all words, as one name. */
static void
take_words(struct parser *p, char name[NAME_LEN])
{
	while (p->kind == TOKEN_WORD)
		take_token(p, name, " ");
}

static const struct type *
find_type(const struct parser *p, const char *name)
{
	for (size_t i = p->n_names; i-- > 0;)
		if (strcmp(p->names[i].name, name) == 0)
			return &p->names[i].type;
	return NULL;
}

static struct type
named_type(struct parser *p, const char *name)
{
	const struct type *type = find_type(p, name);

	if (type != NULL)
		return *type;
	fail(p, E_MALFORMED, "unknown type \"%s\"", name);
	return (struct type){ .align = 1 };
}

static void
name_type(struct parser *p, const char *name, const struct type *type)
{
	const size_t n = p->n_names;

	/* The space is doubled when it is full. */
	if ((n & (n - 1)) == 0) {
		void *names = reallocarray(
		    p->names, n == 0 ? 1 : 2 * n, sizeof(*p->names));

		if (names == NULL) {
			fail(p, E_NOMEM, "out of memory");
			return;
		}
		p->names = names;
	}
	snprintf(p->names[n].name, NAME_LEN, "%s", name);
	p->names[n].type = *type;
	p->n_names++;
}

static enum byte_order
byte_order(struct parser *p)
{
	enum byte_order order = ORDER_NATIVE;

	if (is_at(p, "le"))
		order = ORDER_LITTLE;
	else if (is_at(p, "be") || is_at(p, "network"))
		order = ORDER_BIG;
	else if (!is_at(p, "native"))
		fail(p, E_MALFORMED, "invalid byte order");
	next(p);
	return order;
}

static unsigned
alignment(struct parser *p)
{
	const uint64_t bits = number(p);

	if (bits > 0 && bits <= 4096)
		return (unsigned)bits;
	fail(p, E_MALFORMED, "invalid alignment");
	return 1;
}

/* Take what follows "integer" or "floating_point". */
static struct type
number_type(struct parser *p, bool is_integer)
{
	struct type type = { .is_integer = is_integer };
	char name[NAME_LEN];

	expect(p, "{");
	while (p->st == OK && !skip(p, "}")) {
		name[0] = '\0';
		take_token(p, name, "");
		expect(p, "=");
		if (strcmp(name, "size") == 0 || strcmp(name, "exp_dig") == 0 ||
		    strcmp(name, "mant_dig") == 0)
			type.size += number(p);
		else if (strcmp(name, "align") == 0)
			type.align = alignment(p);
		else if (strcmp(name, "byte_order") == 0)
			type.order = byte_order(p);
		skip_to(p, ";");
	}
	if (type.size == 0 || type.size > 1024)
		fail(p, E_MALFORMED, "invalid size of a number");
	if (type.align == 0)
		type.align = type.size % 8 == 0 ? 8 : 1;
	return type;
}

static struct type base_type(struct parser *p, char name[NAME_LEN]);
static struct type specifier(struct parser *p);

static uint64_t
align_up(uint64_t bits, unsigned align)
{
	return (bits + align - 1) / align * align;
}

/* Take "[N]", any number of them. */
static struct type
array_type(struct parser *p, const struct type *element)
{
	struct type type = *element;
	uint64_t count = 1;

	if (!is_at(p, "["))
		return type;
	type.is_integer = type.is_struct = false;
	while (skip(p, "[")) {
		const uint64_t n = p->kind == TOKEN_NUMBER ? number(p)
							   : UINT64_MAX;

		skip_to(p, "]");
		type.is_variable |= n > SIZE_MOST || count * n > SIZE_MOST;
		count = type.is_variable ? 0 : count * n;
	}
	if (count > 0)
		type.size += (count - 1) * align_up(type.size, type.align);
	else
		type.size = 0;
	if (type.size > SIZE_MOST) {
		type.is_variable = true;
		type.size = 0;
	}
	return type;
}

/* Append a member to struct S. */
static void
add_member(struct type *s, const char *name, const struct type *type)
{
	const uint64_t at = align_up(s->size, type->align);

	for (unsigned i = 0; i < TSDL_NAMES; i++)
		if (type->is_integer && type->size <= 64 &&
		    strcmp(field_names[i], name) == 0)
			s->fields[i] = (struct tsdl_field){
				.offset = (unsigned)at,
				.size = (unsigned)type->size,
				.is_little_endian = type->order == ORDER_LITTLE,
				.is_native = type->order == ORDER_NATIVE,
			};
	s->size = at + type->size;
	s->align = type->align > s->align ? type->align : s->align;
	s->is_variable |= type->is_variable || s->size > SIZE_MOST;
	if (s->is_variable)
		s->size = 0;
}

/* Take a typealias or typedef statement; false: there is none. */
static bool
type_alias(struct parser *p)
{
	const bool is_alias = is_at(p, "typealias");
	char name[NAME_LEN];
	struct type type;

	if (!is_alias && !is_at(p, "typedef"))
		return false;
	next(p);
	type = base_type(p, name);
	type = array_type(p, &type);
	if (is_alias) {
		expect(p, ":=");
		name[0] = '\0';
		take_words(p, name);
	}
	expect(p, ";");
	name_type(p, name, &type);
	return true;
}

/* Take the members: TYPE a, b[2], c; */
static void
struct_members(struct parser *p, struct type *s)
{
	char name[NAME_LEN];
	struct type base, type;

	while (p->st == OK && !skip(p, "}")) {
		if (type_alias(p))
			continue;
		base = base_type(p, name);
		type = array_type(p, &base);
		add_member(s, name, &type);
		while (skip(p, ",")) {
			name[0] = '\0';
			take_token(p, name, "");
			type = array_type(p, &base);
			add_member(s, name, &type);
		}
		expect(p, ";");
	}
}

/* Take what follows "struct": NAME, NAME { ... } or { ... }, align(N). */
static struct type
struct_type(struct parser *p)
{
	struct type type = { .is_struct = true, .align = 1 };
	char name[NAME_LEN] = "struct";
	const bool is_named = p->kind == TOKEN_WORD;
	unsigned align;

	if (is_named)
		take_token(p, name, " ");
	if (is_named && !is_at(p, "{"))
		return named_type(p, name);
	expect(p, "{");
	struct_members(p, &type);
	if (skip(p, "align")) {
		expect(p, "(");
		align = alignment(p);
		expect(p, ")");
		type.align = align > type.align ? align : type.align;
	}
	if (is_named)
		name_type(p, name, &type);
	return type;
}

/* Take what follows "enum": NAME? : TYPE { ... }; its size is that of TYPE. */
static struct type
enum_type(struct parser *p)
{
	char name[NAME_LEN] = "enum", words[NAME_LEN] = "";
	const bool is_named = p->kind == TOKEN_WORD;
	struct type type;

	if (is_named)
		take_token(p, name, " ");
	if (is_named && !is_at(p, ":") && !is_at(p, "{"))
		return named_type(p, name);
	if (skip(p, ":") && is_at(p, "integer")) {
		type = specifier(p);
	} else {
		take_words(p, words);
		type = named_type(p, words[0] == '\0' ? "int" : words);
	}
	expect(p, "{");
	skip_to(p, "}");
	if (is_named)
		name_type(p, name, &type);
	return type;
}

static bool
is_at_specifier(const struct parser *p)
{
	return is_at(p, "integer") || is_at(p, "floating_point") ||
	       is_at(p, "enum") || is_at(p, "struct") || is_at(p, "variant") ||
	       is_at(p, "string");
}

static struct type
specifier(struct parser *p)
{
	struct type type = { .is_variable = true, .align = 1 };

	if (++p->depth > DEPTH_MAX)
		fail(p, E_LIMIT, "types are nested too deeply");
	if (skip(p, "integer")) {
		type = number_type(p, true);
	} else if (skip(p, "floating_point")) {
		type = number_type(p, false);
	} else if (skip(p, "struct")) {
		type = struct_type(p);
	} else if (skip(p, "enum")) {
		type = enum_type(p);
	} else {
		if (skip(p, "variant") && p->kind == TOKEN_WORD)
			next(p);
		(void)skip(p, "string");
		if (skip(p, "<"))
			skip_to(p, ">");
		if (skip(p, "{"))
			skip_to(p, "}");
	}
	p->depth--;
	return type;
}

/* Take a type and the NAME of the first declarator; "" if there is none. */
static struct type
base_type(struct parser *p, char name[NAME_LEN])
{
	char words[NAME_LEN] = "", whole[NAME_LEN] = "";
	struct type type;

	name[0] = '\0';
	if (is_at_specifier(p)) {
		type = specifier(p);
		take_words(p, name);
		return type;
	}
	/* The last of several words is the name, unless they are a type
	 * together. */
	while (p->kind == TOKEN_WORD) {
		memcpy(words, whole, NAME_LEN);
		snprintf(name, NAME_LEN, "%.*s",
		    (int)(p->n < NAME_LEN ? p->n : NAME_LEN), p->word);
		take_token(p, whole, " ");
	}
	if (find_type(p, words) != NULL)
		return named_type(p, words);
	name[0] = '\0';
	return named_type(p, whole);
}

/* Take a definition of a type, which may occur wherever a statement may; false:
 * there is none. */
static bool
definition(struct parser *p)
{
	if (type_alias(p))
		return true;
	if (!is_at(p, "struct") && !is_at(p, "enum"))
		return false;
	(void)specifier(p);
	expect(p, ";");
	return true;
}

/* Take the type of a packet header or context. */
static void
layout(struct parser *p, struct tsdl_layout *out)
{
	char ignored[NAME_LEN];
	const struct type type = base_type(p, ignored);

	if (!type.is_struct || type.is_variable)
		fail(p, E_REFUSED,
		    "the size of a packet header or context is not constant");
	memcpy(out->fields, type.fields, sizeof(out->fields));
	out->size = (unsigned)type.size;
	out->align = type.align;
}

static void
trace_attribute(struct parser *p, const char *name)
{
	if (strcmp(name, "packet.header") == 0)
		layout(p, &p->out->header);
	else if (strcmp(name, "byte_order") == 0)
		p->native = byte_order(p);
	else if (strcmp(name, "major") == 0 && number(p) != 1)
		fail(p, E_REFUSED, "not CTF 1.8");
}

static void
stream_attribute(struct parser *p, const char *name)
{
	struct tsdl_stream *s = &p->out->streams[p->out->n_streams - 1];

	if (strcmp(name, "packet.context") == 0)
		layout(p, &s->context);
	else if (strcmp(name, "id") == 0)
		s->id = number(p);
}

/* Only the first clock counts. */
static void
clock_attribute(struct parser *p, const char *name)
{
	struct tsdl_clock *c = &p->out->clock;

	if (p->has_clock)
		return;
	if (strcmp(name, "freq") == 0)
		c->freq = number(p);
	else if (strcmp(name, "offset_s") == 0)
		c->offset_s = signed_number(p);
	else if (strcmp(name, "offset") == 0)
		c->offset = signed_number(p);
	if (c->freq == 0)
		fail(p, E_MALFORMED, "the frequency of a clock is 0");
}

/* Take { NAME = VALUE; NAME := TYPE; ... }; a NAME has words joined by dots. */
static void
block(struct parser *p, void (*attribute)(struct parser *p, const char *name))
{
	expect(p, "{");
	while (p->st == OK && !skip(p, "}")) {
		char name[NAME_LEN] = "";

		if (definition(p))
			continue;
		while (p->kind == TOKEN_WORD || is_at(p, "."))
			take_token(p, name, "");
		if (skip(p, "=") || skip(p, ":="))
			attribute(p, name);
		skip_to(p, ";");
	}
	expect(p, ";");
}

static void
stream_block(struct parser *p)
{
	struct tsdl *t = p->out;
	void *streams = reallocarray(
	    t->streams, (size_t)t->n_streams + 1, sizeof(*t->streams));

	if (streams != NULL)
		t->streams = streams;
	if (streams == NULL || t->n_streams == STREAMS_MAX) {
		fail(p, E_NOMEM, "too many stream classes");
		return;
	}
	t->streams[t->n_streams++] = (struct tsdl_stream){ .context = {
							       .align = 1 } };
	block(p, stream_attribute);
}

static void
statement(struct parser *p)
{
	if (definition(p))
		return;
	if (skip(p, "trace")) {
		p->has_trace = true;
		block(p, trace_attribute);
	} else if (skip(p, "stream")) {
		stream_block(p);
	} else if (skip(p, "clock")) {
		block(p, clock_attribute);
		p->has_clock = true;
	} else {
		skip_to(p, ";"); /* event, env, callsite, variant */
	}
}

/* The byte order of the trace may follow the types. */
static void
set_native(struct tsdl_layout *l, enum byte_order native)
{
	for (unsigned i = 0; i < TSDL_NAMES; i++)
		if (l->fields[i].is_native)
			l->fields[i].is_little_endian = native == ORDER_LITTLE;
}

enum status
tsdl_parse(struct tsdl *t, const char *text, size_t n)
{
	struct parser p = { .out = t, .at = text, .end = text + n, .line = 1 };

	*t = (struct tsdl){ .header = { .align = 1 },
		.clock = { .freq = 1000000000 } };
	next(&p);
	while (p.st == OK && p.kind != TOKEN_END)
		statement(&p);
	if (!p.has_trace)
		fail(&p, E_MALFORMED, "no trace block");
	if (p.native == ORDER_NATIVE)
		fail(&p, E_MALFORMED, "the trace has no byte order");
	set_native(&t->header, p.native);
	for (unsigned i = 0; i < t->n_streams; i++)
		set_native(&t->streams[i].context, p.native);
	free(p.names);
	return p.st;
}

void
tsdl_free(struct tsdl *t)
{
	free(t->streams);
	t->streams = NULL;
	t->n_streams = 0;
}

const struct tsdl_stream *
tsdl_stream_of(const struct tsdl *t, uint64_t id)
{
	for (unsigned i = 0; i < t->n_streams; i++)
		if (t->streams[i].id == id)
			return &t->streams[i];
	return NULL;
}

/* Bit N of the bytes at P, counted as numbers of that byte order count them. */
static unsigned
bit(const uint8_t *p, uint64_t n, bool is_little_endian)
{
	const unsigned in = (unsigned)(n % 8);

	return p[n / 8] >> (is_little_endian ? in : 7 - in) & 1;
}

uint64_t
tsdl_read(const uint8_t *p, const struct tsdl_field *f, uint64_t base)
{
	const uint64_t at = base + f->offset;
	const unsigned step = at % 8 == 0 && f->size % 8 == 0 ? 8 : 1;
	const unsigned n = f->size / step;
	const bool le = f->is_little_endian;
	uint64_t v = 0;

	assert(f->size <= 64);
	for (unsigned i = 0; i < n; i++) {
		const unsigned k = le ? n - 1 - i : i;

		v = step == 8 ? v << 8 | p[at / 8 + k]
			      : v << 1 | bit(p, at + k, le);
	}
	return v;
}
