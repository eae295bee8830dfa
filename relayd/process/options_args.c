/* SPDX-License-Identifier: MIT */
/* The command line, and the order of all sources. */
#include "relayd/process/options_internal.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "common/near.h"
#include "relayd/process/environment.h"
#include "relayd/process/sandbox.h"

/* getopt_long() returns a long option as this plus the number of its row. */
#define LONG_BASE 256

static void
build_getopt_tables(struct option *longs, char *letters)
{
	for (size_t i = 0; i < N_OPTIONS; i++) {
		longs[i] = (struct option){
			.name = option_rows[i].name,
			.has_arg = option_rows[i].arg != NULL
				       ? required_argument
				       : no_argument,
			.val = LONG_BASE + (int)i,
		};
		if (option_rows[i].letter != 0) {
			*letters++ = option_rows[i].letter;
			if (option_rows[i].arg != NULL)
				*letters++ = ':';
		}
	}
	*letters = '\0';
}

static const struct row *
row_of(int c)
{
	const struct row *r = option_rows;

	if (c >= LONG_BASE)
		return &option_rows[c - LONG_BASE];
	while (r->letter != c)
		r++;
	return r;
}

void
options_usage(void)
{
	printf("Usage: tracepulse-relayd [OPTION]...\n"
	       "Receives LTTng traces over the network, writes them to disk "
	       "and serves them live.\n\n");
	for (size_t i = 0; i < N_OPTIONS; i++) {
		const struct row *r = &option_rows[i];
		char letter[8] = "    ", name[64];

		if (r->letter != 0)
			snprintf(letter, sizeof(letter), "-%c, ", r->letter);
		snprintf(name, sizeof(name), "%s%s%s", r->name,
		    r->arg != NULL ? "=" : "", r->arg != NULL ? r->arg : "");
		printf("  %s--%-26s %s\n", letter, name, r->help);
	}
	printf("\nURL is tcp://HOST[:PORT], tcp4:// for the same, or "
	       "tcp6://[ADDRESS][:PORT].\nThe sandbox of this build: %s.\n"
	       "See tracepulse-relayd(8).\n",
	    sandbox_built_in());
}

/* Called after all options are parsed: only then DYNAMIC is known. */
static enum status
settle_port(struct listen_url *u, uint16_t usual, bool dynamic)
{
	if (!u->has_port) {
		u->port = dynamic ? 0 : usual;
		return OK;
	}
	if (u->port == 0 && !dynamic) {
		log_error("Invalid port number 0: it needs "
			  "--dynamic-port-allocation");
		return E_REFUSED;
	}
	return OK;
}

/* getopt has complained about WORD. It may be unknown, or a short form of more
 * than one, which are named then. */
static void
look_at_option(const char *word)
{
	char name[NEAR_WORD_MAX + 1];
	const char *hint;

	if (strncmp(word, "--", 2) != 0)
		return;
	snprintf(
	    name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	for (size_t i = 0; i < N_OPTIONS; i++)
		if (strncmp(option_rows[i].name, name, strlen(name)) == 0)
			return;
	hint = options_hint(name, "--");
	if (*hint != '\0')
		log_error("unknown option --%s%s", name, hint);
}

static enum status
read_command_line(struct options *o, int argc, char **argv, bool is_first)
{
	static const struct origin here = { .kind = ORIGIN_COMMAND_LINE };
	struct option longs[N_OPTIONS + 1] = { 0 };
	char letters[2 * N_OPTIONS + 1];
	const bool is_secure = environment_is_secure();
	int c;

	build_getopt_tables(longs, letters);
	optind = 0; /* reset getopt, which may have been used before */
	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const struct row *r;

		if (c == '?') {
			look_at_option(argv[optind - 1]);
			return E_REFUSED;
		}
		r = row_of(c);
		if (is_secure && r->needs_trust) {
			if (is_first)
				log_warn("--%s is ignored when set-uid or "
					 "set-gid",
				    r->name);
			continue;
		}
		if (options_set(o, (enum option_id)(r - option_rows), optarg,
			&here) != OK)
			return E_REFUSED;
		if (o->is_done)
			break;
	}
	return OK;
}

static enum status
read_all(struct options *o, int argc, char **argv, const char config[PATH_MAX])
{
	enum status files, variables;

	options_set_defaults(o);
	memcpy(o->config, config, PATH_MAX);
	files = options_read_files(o);
	variables = options_read_variables(o);
	if (files != OK || variables != OK)
		return E_REFUSED;
	return read_command_line(o, argc, argv, false);
}

/*
 * The command line is read twice: it says which file to read, and what stands
 * on it counts more than the file. Mistakes are told the first time.
 */
enum status
options_parse(struct options *o, int argc, char **argv)
{
	char config[PATH_MAX] = "";

	options_set_defaults(o);
	if (read_command_line(o, argc, argv, true) != OK)
		return E_REFUSED;
	if (o->is_done)
		return OK;
	if (o->config[0] == '\0' && options_config_variable(config) != OK)
		return E_REFUSED;
	if (o->config[0] != '\0')
		memcpy(config, o->config, sizeof(config));
	if (read_all(o, argc, argv, config) != OK)
		return E_REFUSED;
	if (settle_port(&o->control, 5342, o->dynamic_ports) != OK ||
	    settle_port(&o->data, 5343, o->dynamic_ports) != OK ||
	    settle_port(&o->live, 5344, o->dynamic_ports) != OK ||
	    settle_port(&o->http, 5340, o->dynamic_ports) != OK ||
	    options_compare_ages(o) != OK)
		return E_REFUSED;
	return environment_apply(o);
}
