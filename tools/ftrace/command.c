/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/command.h"

#include <stdio.h>
#include <string.h>

#include "common/fds.h"
#include "common/log.h"
#include "common/parse.h"
#include "tools/ftrace/tcp_port.h"

int
command_parse(const struct option_table *t, void *options, int argc,
    char **argv, uint64_t needed, int most, struct option_words *words)
{
	enum status st = option_parse(t, options, argc, argv, words);

	if (st == OK && words->is_done)
		return 0;
	for (unsigned i = 0; st == OK && i < t->n; i++)
		if ((needed & ~words->given) >> i & 1)
			st = option_refuse(
			    t, "--%s is required", t->rows[i].name);
	if (st == OK && argc - words->first > most)
		st = option_refuse(
		    t, "unexpected argument \"%s\"", argv[words->first + most]);
	return st == OK ? COMMAND_RUNS : EXIT_USAGE;
}

int
command_parse_names(const struct option_table *t, void *options, int argc,
    char **argv, uint64_t needed, int most, struct option_words *words)
{
	const int status = command_parse(
	    t, options, argc, argv, needed, most, words);
	enum status st = OK;

	if (status != COMMAND_RUNS)
		return status;
	if (words->first == argc)
		st = option_refuse(t, "the name of a guest is required");
	for (int i = words->first; st == OK && i < argc; i++)
		if (!token_is_name(argv[i]))
			st = option_refuse(t,
			    "invalid name of a guest \"%s\" (letters, digits "
			    "and .-_)",
			    argv[i]);
	return st == OK ? COMMAND_RUNS : EXIT_USAGE;
}

enum status
command_start(struct command_loop *loop, char token[TOKEN_BYTES],
    const char *token_file, event_callback_fn stop, void *arg)
{
	enum status st = token_read(token, token_file);

	log_set_level(LOG_NOTICE);
	(void)fds_raise_limit();
	if (st == OK)
		st = command_loop_create(loop);
	if (st == OK)
		st = command_loop_catch_signals(loop, stop, arg);
	return st;
}

enum status
command_take_address(const struct option_row *r, void *to, const char *arg)
{
	struct address a;

	(void)r;
	*(const char **)to = arg;
	return address_parse(&a, arg) ? OK : E_MALFORMED;
}

enum status
command_take_bind(const struct option_row *r, void *to, const char *arg)
{
	struct command_bind *b = to;
	struct sockaddr_storage local;
	struct address a;
	socklen_t n;
	uint64_t port;

	(void)r;
	b->host = arg;
	if (!address_parse(&a, arg) || !address_is_local(&a, &local, &n))
		return strncmp(arg, "unix:", 5) == 0 ||
			       strncmp(arg, "vsock:", 6) == 0
			   ? E_MALFORMED
			   : OK;
	if (local.ss_family == AF_UNIX)
		return OK;
	snprintf(b->vsock, sizeof(b->vsock), "%s", a.host);
	b->host = b->vsock;
	if (parse_u64(a.port, 0, UINT16_MAX, &port) != OK)
		return E_MALFORMED;
	b->port = (unsigned)port;
	return OK;
}
