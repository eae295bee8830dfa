/* SPDX-License-Identifier: MIT */
/* tracepulse-ftrace list: which guests the broker knows. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/log.h"
#include "tools/ftrace/arguments.h"
#include "tools/ftrace/command.h"
#include "tools/ftrace/link.h"

#define PROGRAM "tracepulse-ftrace list"

enum option_id {
#define OPTION(id, letter, name, arg, help) OPT_##id,
#include "tools/ftrace/list_options.tbl.h"
#undef OPTION
	N_OPTIONS
};

static const struct usage_row rows[] = {
#define OPTION(id, letter, name, arg, help) { letter, name, arg, help },
#include "tools/ftrace/list_options.tbl.h"
#undef OPTION
};

struct listing {
	const char *broker, *token_file;
};

static void
print_usage(void)
{
	printf("Usage: " PROGRAM " --broker HOST:PORT --token-file FILE\n"
	       "Prints of each guest: name, ready or busy, CPUs, address.\n\n");
	usage_print_rows(rows, N_OPTIONS, 24);
}

static bool
set_option(void *arg, size_t i, const char *value)
{
	struct listing *l = arg;

	switch ((enum option_id)i) {
	case OPT_BROKER:
		l->broker = value;
		return strchr(value, ':') != NULL;
	case OPT_TOKEN_FILE:
		l->token_file = value;
		return *value != '\0';
	default:
		return false;
	}
}

/* The first line is the broker's opinion, the others are guests. What is not
 * printable is not printed: a broker is a peer, too. */
static int
print_guests(FILE *f)
{
	char line[LINK_NAME_MAX + 256];
	int n = 0;

	for (; fgets(line, sizeof(line), f) != NULL; n++) {
		line[strcspn(line, "\n")] = '\0';
		for (char *c = line; *c != '\0'; c++)
			if (*c < ' ' || *c > '~')
				*c = '?';
		if (n > 0) {
			printf("%s\n", line);
		} else if (strcmp(line, "ok") != 0) {
			log_error("the broker says: %s", line);
			return 1;
		}
	}
	if (n == 0)
		log_error("the broker says nothing");
	return n == 0;
}

static int
ask(const struct listing *l)
{
	char token[TOKEN_BYTES], line[TOKEN_BYTES + 16];
	int fd, status = 1;
	ssize_t n;
	FILE *f;

	if (link_read_token(token, l->token_file) != OK)
		return 1;
	fd = link_dial(l->broker);
	if (fd < 0)
		return 1;
	n = snprintf(line, sizeof(line), "list %s\n", token);
	f = fdopen(fd, "r");
	if (f != NULL && send(fd, line, (size_t)n, MSG_NOSIGNAL) == n)
		status = print_guests(f);
	if (f != NULL)
		fclose(f);
	else
		close(fd);
	return status;
}

int
command_list(int argc, char **argv)
{
	struct listing l = { 0 };
	const struct arguments a = { .program = PROGRAM,
		.rows = rows,
		.n_rows = N_OPTIONS,
		.set = set_option,
		.print_usage = print_usage,
		.arg = &l };
	int first;
	const enum status st = arguments_parse(&a, argc, argv, &first);

	if (st == E_EXISTS)
		return 0;
	if (st != OK)
		return EXIT_USAGE;
	if (first < argc || l.broker == NULL || l.token_file == NULL) {
		fprintf(
		    stderr, PROGRAM ": --broker and --token-file are needed\n");
		return EXIT_USAGE;
	}
	return ask(&l);
}
