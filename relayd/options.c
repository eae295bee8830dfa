/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "relayd/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "relayd/environment.h"
#include "relayd/parse.h"

#define FD_POOL_MIN 100
#define WORKERS_DEFAULT_MAX 8
#define MEMORY_MIN (UINT64_C(1) << 20)
/* Both sizes of a packet header are 32 bits wide (streaming 2.2). */
#define PACKET_SIZE_MAX (UINT64_C(2) * UINT32_MAX)
#define PACKET_SIZE_DEFAULT (UINT64_C(256) << 20)
#define LOCK_TIMEOUT_MAX (3600 * NS_PER_S)

enum option_id {
#define OPTION(id, short_name, name, arg, needs_trust, help) OPT_##id,
#include "relayd/options.tbl.h"
#undef OPTION
	N_OPTIONS
};

static const struct row {
	char letter; /* 0: none */
	const char *name;
	const char *arg;
	bool needs_trust; /* ignored when set-uid or set-gid */
	const char *help;
} rows[] = {
#define OPTION(id, short_name, name, arg, needs_trust, help) \
	{ short_name, name, arg, needs_trust, help },
#include "relayd/options.tbl.h"
#undef OPTION
};

/* Long options come back from getopt as this plus their row. */
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

static enum option_id
row_of(int c)
{
	size_t i = 0;

	if (c >= LONG_BASE)
		return (enum option_id)(c - LONG_BASE);
	while (rows[i].letter != c)
		i++;
	return (enum option_id)i;
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
	       "tcp6://[ADDRESS][:PORT].\nSee tracepulse-relayd(8).\n");
}

static enum status
set_url(struct listen_url *u, const char *which, const char *arg)
{
	const char *why;

	if (listen_url_parse(u, arg, &why) == OK)
		return OK;
	log_error("Invalid %s URL \"%s\": %s", which, arg, why);
	return E_REFUSED;
}

static enum status
bad_value(enum option_id id, const char *arg)
{
	log_error("Invalid value \"%s\" for --%s", arg, rows[id].name);
	return E_REFUSED;
}

static enum status
set_grouping(struct options *o, bool *is_set, bool by_session)
{
	if (*is_set) {
		log_error("Cannot set --group-output-by-%s, another "
			  "--group-output-by argument is present",
		    by_session ? "session" : "host");
		return E_REFUSED;
	}
	*is_set = true;
	o->group_by_session = by_session;
	return OK;
}

/* daemon_start() raises the soft limit to the hard one, so that one counts. */
static unsigned
descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 1024;
	return limit.rlim_max > INT_MAX ? INT_MAX : (unsigned)limit.rlim_max;
}

static enum status
set_fd_pool(struct options *o, const char *arg)
{
	uint64_t n;

	if (parse_u64(arg, 0, UINT64_MAX, &n) != OK)
		return bad_value(OPT_FD_POOL_SIZE, arg);
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
set_count(unsigned *count, enum option_id id, const char *arg, unsigned min,
    unsigned max)
{
	uint64_t n;

	if (parse_u64(arg, min, max, &n) != OK)
		return bad_value(id, arg);
	*count = (unsigned)n;
	return OK;
}

static enum status
set_sync(struct options *o, const char *arg)
{
	static const char *const names[] = {
		[SYNC_NONE] = "none",
		[SYNC_CLOSE] = "close",
		[SYNC_PACKET] = "packet",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(arg, names[i]) == 0) {
			o->sync = (enum sync_mode)i;
			return OK;
		}
	return bad_value(OPT_SYNC, arg);
}

static enum status
set_udp_port(struct options *o, const char *arg)
{
	uint64_t port;

	o->has_udp = strcmp(arg, "none") != 0;
	if (!o->has_udp)
		return OK;
	if (parse_u64(arg, 1, UINT16_MAX, &port) != OK)
		return bad_value(OPT_UDP_PORT, arg);
	o->has_udp_port = true;
	o->udp_port = (uint16_t)port;
	return OK;
}

static enum status
set_output(struct options *o, const char *arg)
{
	if (arg[0] != '/') {
		log_error("Please specify an absolute path for -o, --output "
			  "PATH");
		return E_REFUSED;
	}
	return environment_path(o->output, arg);
}

static enum status
refuse_config(const char *arg)
{
	log_error("--config \"%s\": configuration files are not supported by "
		  "this version; use command-line options",
	    arg);
	return E_REFUSED;
}

/* Limits and choices that lttng-relayd does not have. */
static enum status
apply_limit(struct options *o, enum option_id id, const char *arg)
{
	enum status st = E_REFUSED;

	switch (id) {
	case OPT_WORKERS:
		return set_count(&o->workers, id, arg, 1, WORKERS_MAX);
	case OPT_LIVE_WORKERS:
		return set_count(
		    &o->live_workers, id, arg, 1, LIVE_WORKERS_MAX);
	case OPT_MAX_VIEWERS:
		return set_count(&o->max_viewers, id, arg, 0, UINT32_MAX);
	case OPT_SYNC:
		return set_sync(o, arg);
	case OPT_UDP_PORT:
		return set_udp_port(o, arg);
	case OPT_LIVE_HOLD:
		st = parse_bool(arg, &o->live_hold);
		break;
	case OPT_MAX_MEMORY:
		st = parse_size(arg, MEMORY_MIN, SIZE_MAX, &o->max_memory);
		break;
	case OPT_MAX_PACKET_SIZE:
		st = parse_size(arg, 1, PACKET_SIZE_MAX, &o->max_packet_size);
		break;
	case OPT_INDEX_LOCK_TIMEOUT:
		st = parse_duration(
		    arg, LOCK_TIMEOUT_MAX, &o->index_lock_timeout_ns);
		break;
	default:
		break;
	}
	return st == OK ? OK : bad_value(id, arg);
}

/* One option. *GROUPED remembers that a grouping was asked for. */
static enum status
apply(struct options *o, enum option_id id, const char *arg, bool *grouped)
{
	switch (id) {
	case OPT_CONTROL_PORT:
		return set_url(&o->control, "control", arg);
	case OPT_DATA_PORT:
		return set_url(&o->data, "data", arg);
	case OPT_LIVE_PORT:
		return set_url(&o->live, "live", arg);
	case OPT_DYNAMIC_PORTS:
		o->dynamic_ports = true;
		return OK;
	case OPT_OUTPUT:
		return set_output(o, arg);
	case OPT_BY_HOST:
		return set_grouping(o, grouped, false);
	case OPT_BY_SESSION:
		return set_grouping(o, grouped, true);
	case OPT_DISALLOW_CLEAR:
		o->disallow_clear = true;
		return OK;
	case OPT_BACKGROUND:
		o->background = true;
		return OK;
	case OPT_DAEMONIZE:
		o->daemonize = true;
		return OK;
	case OPT_PID_FILE:
		if (*arg == '\0')
			return bad_value(id, arg);
		return environment_path(o->pid_file, arg);
	case OPT_SIG_PARENT:
		o->sig_parent = true;
		return OK;
	case OPT_WORKING_DIR:
		o->working_dir = arg;
		return OK;
	case OPT_GROUP:
		o->group = arg;
		return OK;
	case OPT_CONFIG:
		return refuse_config(arg);
	case OPT_FD_POOL_SIZE:
		return set_fd_pool(o, arg);
	case OPT_VERBOSE:
		o->verbose += o->verbose < 3;
		return OK;
	case OPT_HELP:
		print_usage();
		o->is_done = true;
		return OK;
	case OPT_VERSION:
		puts(PACKAGE_VERSION);
		o->is_done = true;
		return OK;
	default:
		return apply_limit(o, id, arg);
	}
}

static void
set_defaults(struct options *o)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

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
	};
	if (cores > 0)
		o->workers = cores > WORKERS_DEFAULT_MAX ? WORKERS_DEFAULT_MAX
							 : (unsigned)cores;
	if (pages > 0 && page > 0)
		o->max_memory = (uint64_t)pages / 4 * (uint64_t)page;
}

/* Only now is it known whether the system may choose ports. */
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
	bool is_secure = environment_is_secure(), grouped = false;
	int c;

	build_getopt_tables(longs, letters);
	optind = 0; /* start afresh, whoever used getopt before */
	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		enum option_id id;

		if (c == '?')
			return E_REFUSED;
		id = row_of(c);
		if (is_secure && rows[id].needs_trust) {
			log_warn("--%s is ignored when set-uid or set-gid",
			    rows[id].name);
			continue;
		}
		if (apply(o, id, optarg, &grouped) != OK)
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
