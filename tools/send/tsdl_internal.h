/* SPDX-License-Identifier: MIT */
/* What the two halves of the TSDL parser share. */
#ifndef TOOLS_SEND_TSDL_INTERNAL_H
#define TOOLS_SEND_TSDL_INTERNAL_H

#include "tools/send/tsdl_lex.h"
#include "tools/send/tsdl_type.h"

#define TSDL_DEPTH_MAX 64

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

/* Words. */
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

/* Types. */
enum byte_order parser_order(struct parser *p);
/* Take "TYPE NAME[N]"; NAME may be missing: "". Returns the type, with its
 * arrays. */
int parser_declaration(struct parser *p, char name[NAME_LEN]);
/* Take a whole typealias or typedef statement; false: there is none. */
bool parser_alias(struct parser *p);

#endif
