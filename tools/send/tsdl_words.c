/* SPDX-License-Identifier: MIT */
/* How the parser goes through the text. */
#include <stdarg.h>
#include <stdio.h>

#include "tools/send/tsdl_internal.h"

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
	tsdl_lex_next(&p->lex);
	if (p->lex.now.kind == TOKEN_BAD)
		parser_fail(p, E_MALFORMED, "a comment or string without end");
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
		parser_fail(p, E_MALFORMED, "a number expected");
	parser_next(p);
	return v;
}
