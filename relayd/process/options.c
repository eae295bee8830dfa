/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "relayd/process/options.h"

#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/parse.h"
#include "relayd/process/environment.h"
#include "relayd/process/machine.h"
#include "relayd/process/sandbox.h"

#define FD_POOL_MIN 100
#define WORKERS_DEFAULT_MAX 8
#define MEMORY_MIN (UINT64_C(1) << 20)
/* Both sizes of a packet header are 32 bits wide (streaming 2.2). */
#define PACKET_SIZE_MAX (UINT64_C(2) * UINT32_MAX)
#define PACKET_SIZE_DEFAULT (UINT64_C(256) << 20)
#define LOCK_TIMEOUT_MAX (3600 * NS_PER_S)

enum option_id {
#define OPTION(id, short_name, name, arg, needs_trust, kind, help) OPT_##id,
#include "relayd/process/options.tbl.h"
#undef OPTION
	N_OPTIONS
};

struct row {
	char letter; /* 0: none */
	const char *name;
	const char *arg;
	bool needs_trust; /* ignored when set-uid or set-gid */
	const char *help;
	/* Handles ARG. TO points AT bytes into struct options. */
	enum status (*take)(const struct row *r, void *to, const char *arg);
	size_t at;
	uint64_t min, max;
};

static const struct row rows[N_OPTIONS];

/* getopt_long() returns a long option as this plus the number of its row. */
#define LONG_BASE 256

static void
build_getopt_tables(struct option *longs, char *letters)
{
	for (size_t i = 0; i < N_OPTIONS; i++) {
		longs[i] = (struct option){
			.name = rows[i].name,
			.has_arg = rows[i].arg != NULL ? required_argument
						       : no_argument,
			.val = LONG_BASE + (int)i,
		};
		if (rows[i].letter != 0) {
			*letters++ = rows[i].letter;
			if (rows[i].arg != NULL)
				*letters++ = ':';
		}
	}
	*letters = '\0';
}

static const struct row *
row_of(int c)
{
	const struct row *r = rows;

	if (c >= LONG_BASE)
		return &rows[c - LONG_BASE];
	while (r->letter != c)
		r++;
	return r;
}

static void
print_usage(void)
{
	printf("Usage: tracepulse-relayd [OPTION]...\n"
	       "Receives LTTng traces over the network, writes them to disk "
	       "and serves them live.\n\n");
	for (size_t i = 0; i < N_OPTIONS; i++) {
		const struct row *r = &rows[i];
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

static enum status
bad_value(const struct row *r, const char *arg)
{
	log_error("Invalid value \"%s\" for --%s", arg, r->name);
	return E_REFUSED;
}

/* Kinds of options. */

static enum status
take_flag(const struct row *r, void *to, const char *arg)
{
	*(bool *)to = true;
	return OK;
}

static enum status
take_bool(const struct row *r, void *to, const char *arg)
{
	return parse_bool(arg, to) == OK ? OK : bad_value(r, arg);
}

static enum status
take_text(const struct row *r, void *to, const char *arg)
{
	*(const char **)to = arg;
	return OK;
}

static enum status
take_path(const struct row *r, void *to, const char *arg)
{
	return *arg == '\0' ? bad_value(r, arg) : environment_path(to, arg);
}

static enum status
take_number(const struct row *r, void *to, const char *arg)
{
	uint64_t n;

	if (parse_u64(arg, r->min, r->max, &n) != OK)
		return bad_value(r, arg);
	*(unsigned *)to = (unsigned)n;
	return OK;
}

static enum status
take_size(const struct row *r, void *to, const char *arg)
{
	return parse_size(arg, r->min, r->max, to) == OK ? OK
							 : bad_value(r, arg);
}

static enum status
take_time(const struct row *r, void *to, const char *arg)
{
	return parse_duration(arg, r->max, to) == OK ? OK : bad_value(r, arg);
}

static enum status
take_url(const struct row *r, void *to, const char *arg)
{
	const char *why;

	if (listen_url_parse(to, arg, &why) == OK)
		return OK;
	/* --control-port: "control" */
	log_error("Invalid %.*s URL \"%s\": %s", (int)strcspn(r->name, "-"),
	    r->name, arg, why);
	return E_REFUSED;
}

/* Options with a function of their own; OPTIONS is struct options. */

static enum status
set_grouping(struct options *o, bool by_session)
{
	if (o->has_grouping) {
		log_error("Cannot set --group-output-by-%s, another "
			  "--group-output-by argument is present",
		    by_session ? "session" : "host");
		return E_REFUSED;
	}
	o->has_grouping = true;
	o->group_by_session = by_session;
	return OK;
}

static enum status
take_by_host(const struct row *r, void *options, const char *arg)
{
	return set_grouping(options, false);
}

static enum status
take_by_session(const struct row *r, void *options, const char *arg)
{
	return set_grouping(options, true);
}

/* The hard limit counts, as daemon_start() raises the soft limit to it. */
static unsigned
descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 1024;
	return limit.rlim_max > INT_MAX ? INT_MAX : (unsigned)limit.rlim_max;
}

static enum status
take_fd_pool(const struct row *r, void *options, const char *arg)
{
	struct options *o = options;
	uint64_t n;

	if (parse_u64(arg, 0, UINT64_MAX, &n) != OK)
		return bad_value(r, arg);
	if (n < FD_POOL_MIN) {
		log_error("File descriptor pool size must be set to at least "
			  "%d",
		    FD_POOL_MIN);
		return E_REFUSED;
	}
	if (n > descriptor_limit()) {
		log_error("File descriptor pool size argument (%s) exceeds the "
			  "limit of the process (%u)",
		    arg, descriptor_limit());
		return E_REFUSED;
	}
	o->fd_pool_size = (unsigned)n;
	return OK;
}

static enum status
take_sync(const struct row *r, void *options, const char *arg)
{
	static const char *const names[] = {
		[SYNC_NONE] = "none",
		[SYNC_CLOSE] = "close",
		[SYNC_PACKET] = "packet",
	};
	struct options *o = options;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(arg, names[i]) == 0) {
			o->sync = (enum sync_mode)i;
			return OK;
		}
	if (parse_duration(arg, SYNC_TIME_MAX, &o->sync_time_ns) != OK ||
	    o->sync_time_ns < SYNC_TIME_MIN)
		return bad_value(r, arg);
	o->sync = SYNC_TIME;
	return OK;
}

static enum status
take_sandbox(const struct row *r, void *options, const char *arg)
{
	static const struct {
		const char *name;
		unsigned parts;
	} values[] = {
		{ "on", SANDBOX_LANDLOCK | SANDBOX_SECCOMP },
		{ "strict",
		    SANDBOX_LANDLOCK | SANDBOX_SECCOMP | SANDBOX_STRICT },
		{ "landlock", SANDBOX_LANDLOCK },
		{ "seccomp", SANDBOX_SECCOMP },
		{ "off", 0 },
	};
	struct options *o = options;

	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		if (strcmp(arg, values[i].name) == 0) {
			o->sandbox = values[i].parts;
			return OK;
		}
	return bad_value(r, arg);
}

static enum status
take_udp_port(const struct row *r, void *options, const char *arg)
{
	struct options *o = options;
	uint64_t port;

	o->has_udp = strcmp(arg, "none") != 0;
	if (!o->has_udp)
		return OK;
	if (parse_u64(arg, 1, UINT16_MAX, &port) != OK)
		return bad_value(r, arg);
	o->has_udp_port = true;
	o->udp_port = (uint16_t)port;
	return OK;
}

static enum status
take_output(const struct row *r, void *options, const char *arg)
{
	struct options *o = options;

	if (arg[0] != '/') {
		log_error("Please specify an absolute path for -o, --output "
			  "PATH");
		return E_REFUSED;
	}
	return environment_path(o->output, arg);
}

static enum status
refuse_config(const struct row *r, void *options, const char *arg)
{
	log_error("--config \"%s\": configuration files are not supported by "
		  "this version; use command-line options",
	    arg);
	return E_REFUSED;
}

static enum status
take_verbose(const struct row *r, void *options, const char *arg)
{
	struct options *o = options;

	o->verbose += o->verbose < 3;
	return OK;
}

static enum status
take_help(const struct row *r, void *options, const char *arg)
{
	struct options *o = options;

	print_usage();
	o->is_done = true;
	return OK;
}

static enum status
take_version(const struct row *r, void *options, const char *arg)
{
	struct options *o = options;

	puts(PACKAGE_VERSION);
	o->is_done = true;
	return OK;
}

/* The offset of FIELD. If it is not of the type TYPE, the compiler warns. */
#define PLACE(field, type)                                 \
	(offsetof(struct options, field) +                 \
	    0 * sizeof(&((struct options *)NULL)->field == \
		       (__typeof__(type) *)NULL))

static const struct row rows[N_OPTIONS] = {
#define FLAG(field) take_flag, PLACE(field, bool), 0, 0
#define BOOL(field) take_bool, PLACE(field, bool), 0, 0
#define TEXT(field) take_text, PLACE(field, const char *), 0, 0
#define FILE_PATH(field) take_path, PLACE(field, char[PATH_MAX]), 0, 0
#define NUMBER(field, min, max) take_number, PLACE(field, unsigned), min, max
#define SIZE(field, min, max) take_size, PLACE(field, uint64_t), min, max
#define TIME(field, max) take_time, PLACE(field, uint64_t), 0, max
#define URL(field) take_url, PLACE(field, struct listen_url), 0, 0
#define CALL(function) function, 0, 0, 0
#define OPTION(id, short_name, name, arg, needs_trust, kind, help) \
	{ short_name, name, arg, needs_trust, help, kind },
#include "relayd/process/options.tbl.h"
#undef OPTION
};

static void
set_defaults(struct options *o)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	const uint64_t memory = machine_memory("");

	*o = (struct options){
		.control = { .family = AF_INET, .host = "0.0.0.0" },
		.data = { .family = AF_INET, .host = "0.0.0.0" },
		.live = { .family = AF_INET, .host = "localhost" },
		.has_udp = true,
		.group = "tracing",
		.fd_pool_size = descriptor_limit(),
		.workers = 1,
		.live_workers = 1,
		.live_hold = true,
		.max_memory = UINT64_C(256) << 20,
		.max_packet_size = PACKET_SIZE_DEFAULT,
		.index_lock_timeout_ns = NS_PER_S,
		.sandbox = SANDBOX_LANDLOCK | SANDBOX_SECCOMP,
	};
	if (cores > 0)
		o->workers = cores > WORKERS_DEFAULT_MAX ? WORKERS_DEFAULT_MAX
							 : (unsigned)cores;
	if (memory > 0)
		o->max_memory = memory / 4 > MEMORY_MIN ? memory / 4
							: MEMORY_MIN;
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
parse_command_line(struct options *o, int argc, char **argv)
{
	struct option longs[N_OPTIONS + 1] = { 0 };
	char letters[2 * N_OPTIONS + 1];
	const bool is_secure = environment_is_secure();
	int c;

	build_getopt_tables(longs, letters);
	optind = 0; /* reset getopt, which may have been used before */
	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const struct row *r;

		if (c == '?')
			return E_REFUSED;
		r = row_of(c);
		if (is_secure && r->needs_trust) {
			log_warn(
			    "--%s is ignored when set-uid or set-gid", r->name);
			continue;
		}
		if (r->take(r, (char *)o + r->at, optarg) != OK)
			return E_REFUSED;
		if (o->is_done)
			break;
	}
	return OK;
}

enum status
options_parse(struct options *o, int argc, char **argv)
{
	set_defaults(o);
	if (parse_command_line(o, argc, argv) != OK)
		return E_REFUSED;
	if (o->is_done)
		return OK;
	if (settle_port(&o->control, 5342, o->dynamic_ports) != OK ||
	    settle_port(&o->data, 5343, o->dynamic_ports) != OK ||
	    settle_port(&o->live, 5344, o->dynamic_ports) != OK)
		return E_REFUSED;
	return environment_apply(o);
}

enum log_level
options_log_level(const struct options *o)
{
	if (o->verbose == 0)
		return LOG_WARN;
	return o->verbose == 1 ? LOG_INFO : LOG_DEBUG;
}
