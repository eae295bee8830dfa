/* SPDX-License-Identifier: MIT */
/*
 * The tokens by which the broker identifies peers: one for those who reach
 * guests and, with a list, one for each guest. They are in files that nobody
 * else may read. Any thread.
 */
#ifndef TOOLS_FTRACE_TOKEN_H
#define TOOLS_FTRACE_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/compiler.h"
#include "common/status.h"

/* Up to MOST letters, digits and "._-", of which the last two do not begin
 * it. */
bool token_is_word(const char *s, size_t most);
/* The size of a guest's name. */
#define GUEST_NAME_MAX 64
bool token_is_name(const char *s);

/* A printable word of 16 to 126 characters, a line end, and a NUL. */
#define TOKEN_BYTES 128
/* Reads the token in the file PATH. Failures are logged. */
enum status token_read(char out[TOKEN_BYTES], const char *path) MUST_CHECK;
/* Compares in a time that does not depend on the difference. */
bool token_is_same(const char *a, const char *b);

/* The most guests of a list. */
#define TOKEN_GUESTS_MAX 4096

/* The size of HOST:PORT. */
#define GUEST_ADDRESS_SIZE 128

struct token_guest {
	char name[GUEST_NAME_MAX];
	char token[TOKEN_BYTES];	/* "": none */
	char agent[GUEST_ADDRESS_SIZE]; /* HOST:PORT; "": the guest connects to
				    the broker */
};

struct token_list {
	struct token_guest *guests;
	size_t n;
};

/* Reads lines "NAME TOKEN" and "NAME agent=HOST:PORT"; # begins a comment.
 * Failures are logged with the line. */
enum status token_list_read(
    struct token_list *out, const char *path) MUST_CHECK;
void token_list_free(struct token_list *l);
/* Is this the token of that guest? */
bool token_list_has(
    const struct token_list *l, const char *name, const char *token);
/* Does the list have this guest, with this agent? */
bool token_list_has_agent(
    const struct token_list *l, const struct token_guest *guest);

#endif
