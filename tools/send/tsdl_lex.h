/* SPDX-License-Identifier: MIT */
/* The words of TSDL: one token of look-ahead over borrowed text. */
#ifndef TOOLS_SEND_TSDL_LEX_H
#define TOOLS_SEND_TSDL_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

void tsdl_lex_init(struct tsdl_lex *l, const char *p, size_t n);
void tsdl_lex_next(struct tsdl_lex *l);
bool token_is(const struct token *t, const char *text);

#endif
