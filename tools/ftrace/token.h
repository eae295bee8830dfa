/* SPDX-License-Identifier: MIT */
/*
 * The words by which the broker knows who connects: one for those who reach
 * guests, and, if there is a list, one for each guest. They stand in files that
 * nobody else may read. Any thread.
 */
#ifndef TOOLS_FTRACE_TOKEN_H
#define TOOLS_FTRACE_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/compiler.h"
#include "common/status.h"

/* "a-Z0-9._-", at most GUEST_NAME_MAX - 1 of them: the name of a guest. */
#define GUEST_NAME_MAX 64
bool token_is_name(const char *s);

/* A printable word of 16 to 126 characters, and its end. */
#define TOKEN_BYTES 128
/* The word in the file PATH. Failures are logged. */
enum status token_read(char out[TOKEN_BYTES], const char *path) MUST_CHECK;
/* The same, in a time that does not tell where they differ. */
bool token_is_same(const char *a, const char *b);

/* Guests of a list. */
#define TOKEN_GUESTS_MAX 4096

/* Room for HOST:PORT. */
#define GUEST_PLACE 128

struct token_guest {
	char name[GUEST_NAME_MAX];
	char token[TOKEN_BYTES]; /* "": nobody has it */
	char agent[GUEST_PLACE]; /* HOST:PORT; "": its connect dials out */
};

struct token_list {
	struct token_guest *guests;
	size_t n;
};

/* Lines "NAME TOKEN" and "NAME agent=HOST:PORT" of the file PATH; # begins a
 * comment. Failures are logged, with the line. */
enum status token_list_read(
    struct token_list *out, const char *path) MUST_CHECK;
void token_list_free(struct token_list *l);
/* Is this the token of that guest? */
bool token_list_has(
    const struct token_list *l, const char *name, const char *token);
/* Is this guest there, with this agent? */
bool token_list_has_agent(
    const struct token_list *l, const struct token_guest *guest);

#endif
