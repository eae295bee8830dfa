/* SPDX-License-Identifier: MIT */
#include "tools/send/tsdl_lex.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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

void
tsdl_lex_next(struct tsdl_lex *l)
{
	const bool is_whole = skip_space(l);

	l->now = (struct token){ .p = l->p, .line = l->line };
	l->now.kind = is_whole ? take(l) : TOKEN_BAD;
	l->now.n = (size_t)(l->p - l->now.p);
}

void
tsdl_lex_init(struct tsdl_lex *l, const char *p, size_t n)
{
	*l = (struct tsdl_lex){ .p = p, .end = p + n, .line = 1 };
	tsdl_lex_next(l);
}

bool
token_is(const struct token *t, const char *text)
{
	return t->n == strlen(text) && memcmp(t->p, text, t->n) == 0;
}
