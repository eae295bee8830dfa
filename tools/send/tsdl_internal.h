/* SPDX-License-Identifier: MIT */
/* The parser of TSDL: tsdl.c has words and blocks, tsdl_type.c types. */
#ifndef TOOLS_SEND_TSDL_INTERNAL_H
#define TOOLS_SEND_TSDL_INTERNAL_H

#include "tools/send/tsdl.h"

/* Words: one token of look-ahead over borrowed text. */
enum token_kind {
	TOKEN_END,
	TOKEN_WORD,   /* identifier or keyword */
	TOKEN_NUMBER, /* unsigned; a sign is a TOKEN_PUNCT of its own */
	TOKEN_STRING, /* with its quotes */
	TOKEN_ASSIGN, /* := */
	TOKEN_PUNCT,  /* any other character */
	TOKEN_BAD,    /* a comment or string without end */
};

struct token {
	enum token_kind kind;
	const char *p;
	size_t n;
	uint64_t number;
	unsigned line; /* from 1 */
};

struct tsdl_lex {
	const char *p, *end;
	unsigned line;
	struct token now; /* the look-ahead */
};

/*
 * The types of TSDL as far as their size matters. Types are in one table, and
 * identified by their place in it. A name may be defined again; the last
 * definition counts.
 */
enum byte_order { ORDER_NATIVE, ORDER_LITTLE, ORDER_BIG };

enum type_kind {
	TYPE_NUMBER, /* integer or floating point */
	TYPE_STRUCT,
	TYPE_ARRAY,    /* of constant length */
	TYPE_VARIABLE, /* its size is not constant */
};

#define TYPE_NONE (-1)
#define NAME_LEN 64 /* longer names are cut: none that we need is longer */

struct type {
	enum type_kind kind;
	bool is_integer;
	unsigned size;	/* bits, of a number */
	unsigned align; /* bits; of a struct: at least that of its members */
	enum byte_order order;
	int element;	 /* of an array */
	unsigned length; /* of an array: elements */
	int first;	 /* of a struct: its first member, TYPE_NONE: empty */
};

struct member {
	char name[NAME_LEN];
	int type;
	int next; /* TYPE_NONE: the last */
};

struct type_name {
	char name[NAME_LEN];
	int type;
};

struct types {
	struct type *types;
	struct member *members;
	struct type_name *names;
	int n_types, n_members, n_names;
	int cap_types, cap_members, cap_names;
};

#define TSDL_DEPTH_MAX 64

bool token_is(const struct token *t, const char *text);

struct parser {
	struct tsdl *out;
	struct tsdl_lex lex;
	struct types types;
	enum byte_order native;
	int header;    /* a type, or TYPE_NONE */
	int *contexts; /* of each of out->streams; a type, or TYPE_NONE */
	unsigned depth;
	bool has_clock, has_trace;
	enum status st; /* sticky: after a failure nothing is parsed */
};

/* tsdl.c: words. */
void parser_fail(struct parser *p, enum status st, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
void parser_next(struct parser *p);
bool parser_at(const struct parser *p, const char *text);
bool parser_skip(struct parser *p, const char *text);
void parser_need(struct parser *p, const char *text);
/* Skip all up to the bracket that closes the one just skipped, and that
 * bracket. */
void parser_skip_block(struct parser *p);
/* Skip all up to a statement's semicolon, and the semicolon. */
void parser_skip_statement(struct parser *p);
uint64_t parser_number(struct parser *p);

/* tsdl_type.c */
enum byte_order parser_order(struct parser *p);
/* Take "TYPE NAME[N]"; NAME may be missing: "". Returns the type, with its
 * arrays. */
int parser_declaration(struct parser *p, char name[NAME_LEN]);
/* Take a whole typealias or typedef statement; false: there is none. */
bool parser_alias(struct parser *p);

/* Find where the known fields of a struct are; numbers of native order have the
 * order NATIVE. E_REFUSED: its size is not constant; E_LIMIT: it is too
 * large. */
enum status types_layout(const struct types *t, int type,
    enum byte_order native, struct tsdl_layout *out) MUST_CHECK;
void types_free(struct types *t);

#endif
