/* SPDX-License-Identifier: MIT */
/* The command line, and the order of all sources. */
#include "relayd/process/options_internal.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "relayd/process/environment.h"
#include "relayd/process/sandbox.h"

static const struct option_table table = {
	.program = "tracepulse-relayd", .rows = option_rows, .n = N_OPTIONS
};

void
options_usage(void)
{
	printf("Usage: tracepulse-relayd [OPTION]...\n"
	       "Receives LTTng traces over the network, writes them to disk "
	       "and serves them live.\n\n");
	option_print_rows(option_rows, N_OPTIONS);
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

static enum status
read_command_line(struct options *o, int argc, char **argv, bool is_first)
{
	static const struct origin here = { .kind = ORIGIN_COMMAND_LINE };
	const bool is_secure = environment_is_secure();
	char why[OPTION_WHY_LEN];
	int i;

	option_rewind();
	while ((i = option_next(&table, argc, argv, why)) >= 0) {
		const struct option_row *r = &option_rows[i];

		if (is_secure && r->needs_trust) {
			if (is_first)
				log_warn("--%s is ignored when set-uid or "
					 "set-gid",
				    r->name);
			continue;
		}
		if (options_set(o, (enum option_id)i, optarg, &here) != OK)
			return E_REFUSED;
		if (o->is_done)
			return OK;
	}
	if (i == OPTION_END)
		return OK;
	log_error("%s", why);
	return E_REFUSED;
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
