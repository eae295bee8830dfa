/* SPDX-License-Identifier: MIT */
#include "tools/send/tsdl.h"

#include <assert.h>
#include <ctype.h>
#include <endian.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/send/tsdl_internal.h"

#define METADATA_MAGIC 0x75d11d57
/* magic 4, uuid 16, checksum 4, content size 4, packet size 4, compression,
 * encryption, checksum scheme, major, minor (CTF 1.8, 7.1). */
#define HEADER_LEN 37

static enum status
wrong(const char **why, enum status st, const char *text)
{
	*why = text;
	return st;
}

static uint32_t
u32(const uint8_t *p, bool is_little_endian)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return is_little_endian ? le32toh(v) : be32toh(v);
}

/* Unpack one packet; *LEN is its size. */
static enum status
unpack(struct buf *out, const uint8_t *p, uint64_t n, bool le, uint64_t *len,
    const char **why)
{
	uint32_t content;

	if (n < HEADER_LEN || u32(p, le) != METADATA_MAGIC)
		return wrong(
		    why, E_MALFORMED, "invalid packet header in the metadata");
	content = u32(p + 24, le) / 8;
	*len = u32(p + 28, le) / 8;
	if (p[32] != 0 || p[33] != 0)
		return wrong(why, E_REFUSED,
		    "compressed or encrypted metadata is not supported");
	if (content < HEADER_LEN || content > *len || *len > n)
		return wrong(
		    why, E_MALFORMED, "invalid packet in the metadata");
	buf_bytes(out, p + HEADER_LEN, content - HEADER_LEN);
	return OK;
}

enum status
tsdl_unpack(struct buf *out, const uint8_t *p, uint64_t n, const char **why)
{
	enum status st = OK;
	bool le;

	if (n == 0)
		return wrong(why, E_MALFORMED, "the metadata is empty");
	if (*p == '{' || *p == '\x1e')
		return wrong(why, E_REFUSED, "CTF 2 is not supported");
	le = n >= 4 && u32(p, true) == METADATA_MAGIC;
	if (!le && (n < 4 || u32(p, false) != METADATA_MAGIC)) {
		buf_bytes(out, p, n);
	} else {
		for (uint64_t len = 0; n > 0 && st == OK; p += len, n -= len) {
			len = 0;
			st = unpack(out, p, n, le, &len, why);
		}
	}
	if (st == OK && out->bad)
		st = wrong(why, E_NOMEM, "out of memory");
	return st;
}

static bool
starts(const struct tsdl_lex *l, const char *text)
{
	const size_t n = strlen(text);

	return (size_t)(l->end - l->p) >= n && memcmp(l->p, text, n) == 0;
}

static void
step(struct tsdl_lex *l)
{
	if (*l->p++ == '\n')
		l->line++;
}

/* Skip a comment; false: it has no end. */
static bool
skip_comment(struct tsdl_lex *l)
{
	const bool is_long = l->p[1] == '*';

	while (l->p < l->end && !starts(l, is_long ? "*/" : "\n"))
		step(l);
	if (!is_long)
		return true;
	if (l->p == l->end)
		return false;
	l->p += 2;
	return true;
}

static bool
skip_space(struct tsdl_lex *l)
{
	while (l->p < l->end) {
		if (starts(l, "//") || starts(l, "/*")) {
			if (!skip_comment(l))
				return false;
		} else if (isspace((unsigned char)*l->p)) {
			step(l);
		} else {
			break;
		}
	}
	return true;
}

static bool
is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static enum token_kind
take_string(struct tsdl_lex *l)
{
	step(l);
	while (l->p < l->end && *l->p != '"') {
		if (*l->p == '\\' && l->end - l->p > 1)
			step(l);
		step(l);
	}
	if (l->p == l->end)
		return TOKEN_BAD;
	l->p++;
	return TOKEN_STRING;
}

static enum token_kind
take_number(struct tsdl_lex *l)
{
	char digits[32] = "";
	size_t n = 0;

	while (l->p < l->end && is_word(*l->p)) {
		if (n < sizeof(digits) - 1)
			digits[n++] = *l->p;
		l->p++;
	}
	l->now.number = strtoull(digits, NULL, 0);
	return TOKEN_NUMBER;
}

static enum token_kind
take(struct tsdl_lex *l)
{
	if (l->p == l->end || *l->p == '\0')
		return TOKEN_END;
	if (*l->p == '"')
		return take_string(l);
	if (isdigit((unsigned char)*l->p))
		return take_number(l);
	if (starts(l, ":=")) {
		l->p += 2;
		return TOKEN_ASSIGN;
	}
	if (!is_word(*l->p)) {
		l->p++;
		return TOKEN_PUNCT;
	}
	while (l->p < l->end && is_word(*l->p))
		l->p++;
	return TOKEN_WORD;
}

static void
next_token(struct tsdl_lex *l)
{
	const bool is_whole = skip_space(l);

	l->now = (struct token){ .p = l->p, .line = l->line };
	l->now.kind = is_whole ? take(l) : TOKEN_BAD;
	l->now.n = (size_t)(l->p - l->now.p);
}

bool
token_is(const struct token *t, const char *text)
{
	return t->n == strlen(text) && memcmp(t->p, text, t->n) == 0;
}

void
parser_fail(struct parser *p, enum status st, const char *fmt, ...)
{
	char what[160];
	va_list args;

	if (p->st != OK)
		return;
	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	snprintf(p->out->error, sizeof(p->out->error), "line %u: %s",
	    p->lex.now.line, what);
	p->st = st;
	/* Nothing more is parsed. */
	p->lex.p = p->lex.end;
	p->lex.now = (struct token){ .kind = TOKEN_END, .p = "" };
}

void
parser_next(struct parser *p)
{
	next_token(&p->lex);
	if (p->lex.now.kind == TOKEN_BAD)
		parser_fail(p, E_MALFORMED, "unterminated comment or string");
}

bool
parser_at(const struct parser *p, const char *text)
{
	return p->lex.now.kind != TOKEN_STRING && token_is(&p->lex.now, text);
}

bool
parser_skip(struct parser *p, const char *text)
{
	if (!parser_at(p, text))
		return false;
	parser_next(p);
	return true;
}

void
parser_need(struct parser *p, const char *text)
{
	if (!parser_skip(p, text))
		parser_fail(p, E_MALFORMED, "\"%s\" expected", text);
}

void
parser_skip_block(struct parser *p)
{
	for (unsigned depth = 1; depth > 0;) {
		if (p->lex.now.kind == TOKEN_END) {
			parser_fail(p, E_MALFORMED, "\"}\" expected");
			return;
		}
		depth += parser_at(p, "{");
		depth -= parser_at(p, "}");
		parser_next(p);
	}
}

void
parser_skip_statement(struct parser *p)
{
	while (p->lex.now.kind != TOKEN_END && !parser_at(p, ";")) {
		if (parser_skip(p, "{"))
			parser_skip_block(p);
		else
			parser_next(p);
	}
	parser_need(p, ";");
}

uint64_t
parser_number(struct parser *p)
{
	uint64_t v = p->lex.now.number;

	if (p->lex.now.kind != TOKEN_NUMBER)
		parser_fail(p, E_MALFORMED, "number expected");
	parser_next(p);
	return v;
}

#define STREAMS_MAX 4096
#define VERSION_MAJOR 1

/* An attribute's name: words joined by dots, as packet.header. */
static void
dotted(struct parser *p, char out[NAME_LEN])
{
	size_t n = 0;

	while (p->lex.now.kind == TOKEN_WORD || parser_at(p, ".")) {
		if (n + p->lex.now.n >= NAME_LEN)
			parser_fail(p, E_MALFORMED, "a name is too long");
		else
			memcpy(out + n, p->lex.now.p, p->lex.now.n);
		n += p->lex.now.n;
		parser_next(p);
	}
	out[n < NAME_LEN ? n : 0] = '\0';
}

/* The type after "packet.header :=". */
static int
assigned_type(struct parser *p)
{
	char ignored[NAME_LEN];
	int type;

	if (p->lex.now.kind != TOKEN_ASSIGN)
		parser_fail(p, E_MALFORMED, "\":=\" expected");
	parser_next(p);
	type = parser_declaration(p, ignored);
	parser_need(p, ";");
	return type;
}

static int64_t
signed_number(struct parser *p)
{
	const bool is_negative = parser_skip(p, "-");
	const uint64_t v = parser_number(p);

	return (int64_t)(is_negative ? -v : v);
}

static void
trace_statement(struct parser *p)
{
	char name[NAME_LEN];

	dotted(p, name);
	if (strcmp(name, "packet.header") == 0) {
		p->header = assigned_type(p);
		return;
	}
	parser_need(p, "=");
	if (strcmp(name, "byte_order") == 0)
		p->native = parser_order(p);
	else if (strcmp(name, "major") == 0 &&
		 parser_number(p) != VERSION_MAJOR)
		parser_fail(p, E_REFUSED, "not CTF 1.8");
	parser_skip_statement(p);
}

static struct tsdl_stream *
add_stream(struct parser *p)
{
	struct tsdl *t = p->out;
	const size_t n = (size_t)t->n_streams + 1;
	void *streams = realloc(t->streams, n * sizeof(*t->streams));
	void *contexts;

	if (streams != NULL)
		t->streams = streams;
	contexts = realloc(p->contexts, n * sizeof(*p->contexts));
	if (contexts != NULL)
		p->contexts = contexts;
	if (streams == NULL || contexts == NULL || n > STREAMS_MAX) {
		parser_fail(p, E_NOMEM, "too many stream classes");
		return NULL;
	}
	p->contexts[t->n_streams] = TYPE_NONE;
	t->streams[t->n_streams] = (struct tsdl_stream){ 0 };
	return &t->streams[t->n_streams++];
}

static void
stream_statement(struct parser *p, struct tsdl_stream *s)
{
	char name[NAME_LEN];

	dotted(p, name);
	if (strcmp(name, "packet.context") == 0) {
		p->contexts[p->out->n_streams - 1] = assigned_type(p);
		return;
	}
	if (strcmp(name, "id") == 0) {
		parser_need(p, "=");
		s->id = parser_number(p);
	}
	parser_skip_statement(p);
}

static void
clock_statement(struct parser *p, struct tsdl_clock *c)
{
	char name[NAME_LEN];

	dotted(p, name);
	parser_need(p, "=");
	if (strcmp(name, "freq") == 0)
		c->freq = parser_number(p);
	else if (strcmp(name, "offset_s") == 0)
		c->offset_s = signed_number(p);
	else if (strcmp(name, "offset") == 0)
		c->offset = signed_number(p);
	if (c->freq == 0)
		parser_fail(p, E_MALFORMED, "the frequency of a clock is 0");
	parser_skip_statement(p);
}

/* Read the definition of a type, which may occur wherever a statement may.
 * False: there is none. */
static bool
definition(struct parser *p)
{
	char ignored[NAME_LEN];

	if (parser_alias(p))
		return true;
	if (!parser_at(p, "struct") && !parser_at(p, "enum"))
		return false;
	(void)parser_declaration(p, ignored);
	parser_need(p, ";");
	return true;
}

/* Is the next statement of a block one for the caller? */
static bool
in_block(struct parser *p)
{
	while (p->st == OK && definition(p))
		;
	return p->st == OK && !parser_skip(p, "}");
}

static void
trace_block(struct parser *p)
{
	p->has_trace = true;
	parser_need(p, "{");
	while (in_block(p))
		trace_statement(p);
	parser_need(p, ";");
}

static void
stream_block(struct parser *p)
{
	struct tsdl_stream *s = add_stream(p);

	parser_need(p, "{");
	while (s != NULL && in_block(p))
		stream_statement(p, s);
	parser_need(p, ";");
}

static void
clock_block(struct parser *p)
{
	struct tsdl_clock c = { .freq = 1000000000 };

	parser_need(p, "{");
	while (in_block(p))
		clock_statement(p, &c);
	parser_need(p, ";");
	if (!p->has_clock)
		p->out->clock = c;
	p->has_clock = true;
}

static void
top_statement(struct parser *p)
{
	if (definition(p))
		return;
	if (parser_skip(p, "trace"))
		trace_block(p);
	else if (parser_skip(p, "stream"))
		stream_block(p);
	else if (parser_skip(p, "clock"))
		clock_block(p);
	else
		parser_skip_statement(p); /* event, env, callsite, variant */
}

static void
layout(struct parser *p, int type, const char *what, struct tsdl_layout *out)
{
	enum status st = OK;

	*out = (struct tsdl_layout){ .align = 1 };
	if (p->st == OK && type != TYPE_NONE)
		st = types_layout(&p->types, type, p->native, out);
	if (st != OK)
		parser_fail(p, E_REFUSED,
		    "the size of the packet %s is not constant", what);
}

static void
layouts(struct parser *p)
{
	if (!p->has_trace)
		parser_fail(p, E_MALFORMED, "no trace block");
	if (p->native == ORDER_NATIVE)
		parser_fail(p, E_MALFORMED, "the trace has no byte order");
	layout(p, p->header, "header", &p->out->header);
	for (unsigned i = 0; i < p->out->n_streams; i++)
		layout(
		    p, p->contexts[i], "context", &p->out->streams[i].context);
}

enum status
tsdl_parse(struct tsdl *t, const char *text, size_t n)
{
	struct parser p = { .out = t, .header = TYPE_NONE };

	*t = (struct tsdl){ .clock = { .freq = 1000000000 } };
	p.lex = (struct tsdl_lex){ .p = text, .end = text + n, .line = 1 };
	next_token(&p.lex);
	if (p.lex.now.kind == TOKEN_BAD)
		parser_fail(&p, E_MALFORMED, "unterminated comment");
	while (p.st == OK && p.lex.now.kind != TOKEN_END)
		top_statement(&p);
	layouts(&p);
	types_free(&p.types);
	free(p.contexts);
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

/* Read a field of whole 4 or 8 bytes, as most fields are. */
static bool
read_whole(const uint8_t *p, unsigned size, bool is_little_endian, uint64_t *v)
{
	uint64_t v64;
	uint32_t v32;

	switch (size) {
	case 64:
		memcpy(&v64, p, sizeof(v64));
		*v = is_little_endian ? le64toh(v64) : be64toh(v64);
		return true;
	case 32:
		memcpy(&v32, p, sizeof(v32));
		*v = is_little_endian ? le32toh(v32) : be32toh(v32);
		return true;
	default:
		return false;
	}
}

uint64_t
tsdl_read(const uint8_t *p, const struct tsdl_field *f, uint64_t base)
{
	const uint64_t at = base + f->offset;
	const bool le = f->is_little_endian;
	uint64_t v = 0;

	assert(f->size <= 64);
	if (at % 8 == 0 && read_whole(p + at / 8, f->size, le, &v))
		return v;
	for (unsigned i = 0; i < f->size; i++)
		v = v << 1 | bit(p, at + (le ? f->size - 1 - i : i), le);
	return v;
}
