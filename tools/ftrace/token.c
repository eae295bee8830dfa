/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/token.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/log.h"
#include "tools/ftrace/tcp_port.h"

#define TOKEN_LEAST 16
/* A line of a list: a name, a token, a comment. */
#define LINE_SIZE 512
/* Replaces a token: the broker connects to this agent. */
#define AGENT "agent="
#define BLANKS " \t\r\n"

bool
token_is_word(const char *s, size_t most)
{
	const size_t n = strlen(s);

	return n > 0 && n <= most && *s != '.' && *s != '-' &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyz"
			 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == n;
}

bool
token_is_name(const char *s)
{
	return token_is_word(s, GUEST_NAME_MAX - 1);
}

static bool
is_token(const char *s)
{
	const size_t n = strlen(s);

	for (const char *c = s; *c != '\0'; c++)
		if (*c <= ' ' || *c >= 127)
			return false;
	return n >= TOKEN_LEAST && n <= TOKEN_BYTES - 2;
}

/* A copy made by systemd, whose mode may include a group without members. */
static bool
is_credential(const char *path)
{
	const char *directory = getenv("CREDENTIALS_DIRECTORY");
	const size_t n = directory == NULL ? 0 : strlen(directory);

	return n > 0 && strncmp(path, directory, n) == 0 && path[n] == '/';
}

/* Opens the file, unless others may read it. */
static FILE *
open_private(const char *path)
{
	FILE *f = fopen(path, "re");
	struct stat st;

	if (f == NULL || fstat(fileno(f), &st) != 0) {
		log_errno(LOG_ERROR, "cannot read %s", path);
	} else if ((st.st_mode & 077) != 0 && !is_credential(path)) {
		log_error("%s: others can read this file; use chmod 600", path);
	} else {
		return f;
	}
	if (f != NULL)
		fclose(f);
	return NULL;
}

enum status
token_read(char out[TOKEN_BYTES], const char *path)
{
	FILE *f = open_private(path);
	bool is_read;

	if (f == NULL)
		return E_REFUSED;
	is_read = fgets(out, TOKEN_BYTES, f) != NULL;
	if (!is_read && feof(f))
		log_error("%s is empty", path);
	else if (!is_read)
		log_errno(LOG_ERROR, "cannot read %s", path);
	fclose(f);
	if (!is_read)
		return E_IO;
	out[strcspn(out, "\r\n")] = '\0';
	/* Without a line end it may have been cut. */
	if (is_token(out))
		return OK;
	log_error("%s: not a token: one word of %d to %d characters", path,
	    TOKEN_LEAST, TOKEN_BYTES - 2);
	return E_REFUSED;
}

bool
token_is_same(const char *a, const char *b)
{
	char x[TOKEN_BYTES] = "", y[TOKEN_BYTES] = "";
	unsigned char different = 0;

	snprintf(x, sizeof(x), "%s", a);
	snprintf(y, sizeof(y), "%s", b);
	for (size_t i = 0; i < sizeof(x); i++)
		different |= (unsigned char)(x[i] ^ y[i]);
	return different == 0 && strlen(a) < sizeof(x);
}

static const struct token_guest *
find_listed(const struct token_list *l, const char *name)
{
	assert(l->n <= TOKEN_GUESTS_MAX);
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->guests[i].name, name) == 0)
			return &l->guests[i];
	return NULL;
}

/* Returns what is wrong with the line, or NULL. */
static const char *
add_guest_line(struct token_list *l, char *line)
{
	const size_t prefix = sizeof(AGENT) - 1;
	struct token_guest *g;
	char *at = line, *name, *token;
	struct address agent;
	bool is_agent;

	if (strchr(line, '\n') == NULL && strlen(line) == LINE_SIZE - 1)
		return "the line is too long";
	line[strcspn(line, "#")] = '\0';
	name = strtok_r(line, BLANKS, &at);
	if (name == NULL)
		return NULL;
	token = strtok_r(NULL, BLANKS, &at);
	if (token == NULL || strtok_r(NULL, BLANKS, &at) != NULL)
		return "expected NAME TOKEN";
	is_agent = strncmp(token, AGENT, prefix) == 0;
	if (is_agent && (strlen(token + prefix) >= sizeof(g->agent) ||
			    !address_parse(&agent, token + prefix)))
		return "expected NAME agent=HOST:PORT";
	if (!token_is_name(name))
		return "invalid name (letters, digits and .-_)";
	if (!is_agent && !is_token(token))
		return "invalid token (16 to 126 characters)";
	if (find_listed(l, name) != NULL)
		return "this name is listed twice";
	if (l->n == TOKEN_GUESTS_MAX)
		return "too many guests";
	g = &l->guests[l->n];
	snprintf(g->name, sizeof(g->name), "%s", name);
	if (is_agent)
		snprintf(g->agent, sizeof(g->agent), "%s", token + prefix);
	else
		snprintf(g->token, sizeof(g->token), "%s", token);
	l->n++;
	return NULL;
}

enum status
token_list_read(struct token_list *out, const char *path)
{
	FILE *f = open_private(path);
	const char *why = NULL;
	char line[LINE_SIZE];
	unsigned n = 0;

	*out = (struct token_list){ 0 };
	if (f == NULL)
		return E_REFUSED;
	out->guests = calloc(TOKEN_GUESTS_MAX, sizeof(*out->guests));
	while (out->guests != NULL && why == NULL &&
	       fgets(line, sizeof(line), f) != NULL) {
		n++;
		why = add_guest_line(out, line);
	}
	if (why == NULL && (out->guests == NULL || ferror(f)))
		why = strerror(errno);
	fclose(f);
	if (why == NULL)
		return OK;
	log_error("%s:%u: %s", path, n, why);
	token_list_free(out);
	return E_REFUSED;
}

void
token_list_free(struct token_list *l)
{
	free(l->guests);
	*l = (struct token_list){ 0 };
}

bool
token_list_has(const struct token_list *l, const char *name, const char *token)
{
	const struct token_guest *g = find_listed(l, name);

	return g != NULL && *g->token != '\0' && token_is_same(token, g->token);
}

bool
token_list_has_agent(
    const struct token_list *l, const struct token_guest *guest)
{
	const struct token_guest *g = find_listed(l, guest->name);

	return g != NULL && strcmp(g->agent, guest->agent) == 0;
}
