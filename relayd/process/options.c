/* SPDX-License-Identifier: MIT */
/* The sources of the settings, and their order: defaults, files, variables,
 * the command line. */
#include "config.h"

#include "relayd/process/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <glob.h>
#include <ini.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/near.h"
#include "common/parse.h"
#include "relayd/process/environment.h"
#include "relayd/process/machine.h"
#include "relayd/process/options_internal.h"
#include "common/sandbox.h"

#define WORKERS_DEFAULT_MAX 8
#define KEEP_AT_LEAST (3600 * NS_PER_S)
#define PACKET_SIZE_DEFAULT (UINT64_C(256) << 20)
#define SECTION "relayd"
#define PREFIX "TRACEPULSE_"
/* The longest line of a file, which may have a path. inih has a shorter
 * default, and a build of it may ignore this limit. */
#define LINE_BYTES (PATH_MAX + 256)

/* Of the value that is being set or checked. */
static const struct origin *busy_with;

const struct origin *
options_origin(void)
{
	return busy_with;
}

void
options_origin_text(const struct origin *from, char out[OPTION_TEXT_MAX])
{
	static const char *const fixed[] = {
		[ORIGIN_DEFAULT] = "default",
		[ORIGIN_COMMAND_LINE] = "command line",
	};

	if (from->kind == ORIGIN_FILE)
		snprintf(out, OPTION_TEXT_MAX, "%s:%u", from->name, from->line);
	else
		snprintf(out, OPTION_TEXT_MAX, "%s",
		    from->kind == ORIGIN_VARIABLE ? from->name
						  : fixed[from->kind]);
}

void
options_where(const struct origin *from, char *out, size_t n)
{
	const bool is_named = from->kind == ORIGIN_FILE ||
			      from->kind == ORIGIN_VARIABLE;
	char text[OPTION_TEXT_MAX];

	options_origin_text(from, text);
	snprintf(out, n, "%s%s", is_named ? text : "", is_named ? ": " : "");
}

enum status
options_refuse(const char *fmt, ...)
{
	char text[LOG_LINE_MAX], where[OPTION_TEXT_MAX + 2];
	va_list ap;

	va_start(ap, fmt);
	if (vsnprintf(text, sizeof(text), fmt, ap) < 0)
		text[0] = '\0';
	va_end(ap);
	options_where(busy_with, where, sizeof(where));
	log_error("%s%s", where, text);
	return E_REFUSED;
}

static enum status
options_set(struct options *o, enum option_id id, const char *arg,
    const struct origin *where)
{
	const struct option_row *r = &option_rows[id];
	char why[OPTION_WHY_LEN];
	enum status st;

	busy_with = where;
	st = r->take(r, (char *)o + r->at, arg);
	if (st == E_MALFORMED) {
		option_explain(r, arg, why);
		st = options_refuse("%s", why);
	}
	o->from[id] = *where;
	return st;
}

void
options_show(
    const struct options *o, enum option_id id, char out[OPTION_TEXT_MAX])
{
	const struct option_row *r = &option_rows[id];

	out[0] = '\0';
	if (r->show != NULL)
		r->show(r, (const char *)o + r->at, out, OPTION_TEXT_MAX);
}

/* daemon_start() raises the soft limit to the hard one. */
static unsigned
descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 1024;
	return limit.rlim_max > INT_MAX ? INT_MAX : (unsigned)limit.rlim_max;
}

static void
options_set_defaults(struct options *o)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	const uint64_t memory = machine_memory("");

	*o = (struct options){
		.control = { .family = AF_INET, .host = "0.0.0.0" },
		.data = { .family = AF_INET, .host = "0.0.0.0" },
		.live = { .family = AF_INET, .host = "localhost" },
		.has_http = true,
		.http = { .family = AF_INET, .host = "localhost" },
		.group = "tracing",
		.fd_pool_size = descriptor_limit(),
		.workers = 1,
		.live_workers = 1,
		.live_hold = true,
		.max_memory = UINT64_C(256) << 20,
		.max_packet_size = PACKET_SIZE_DEFAULT,
		.index_lock_timeout_ns = NS_PER_S,
		.resume_timeout_ns = RESUME_TIMEOUT,
		.keep_at_least_ns = KEEP_AT_LEAST,
	};
	if (cores > 0)
		o->workers = cores > WORKERS_DEFAULT_MAX ? WORKERS_DEFAULT_MAX
							 : (unsigned)cores;
	if (memory > 0)
		o->max_memory = memory / 4 > MEMORY_MIN ? memory / 4
							: MEMORY_MIN;
}

enum log_level
options_log_level(const struct options *o)
{
	if (o->from[OPT_LOG_LEVEL].kind != ORIGIN_DEFAULT &&
	    (o->verbose == 0 ||
		o->from[OPT_LOG_LEVEL].kind >= o->from[OPT_VERBOSE].kind))
		return (enum log_level)o->log_level;
	if (o->verbose == 0)
		return o->is_watched || o->log_file[0] != '\0' ? LOG_NOTICE
							       : LOG_WARN;
	return o->verbose == 1 ? LOG_INFO : LOG_DEBUG;
}

static const char *config_dir = CONFIG_DIR;

/* A file that is being read. */
struct file {
	struct options *o;
	FILE *stream;
	struct origin here;
	enum status st;	  /* E_REFUSED: a mistake was logged */
	bool has_section; /* a similar section was reported */
	char *text;	  /* of the line */
	size_t text_size;
};

const char *
options_config_dir(void)
{
	return config_dir;
}

void
options_set_config_dir(const char *dir)
{
	config_dir = dir;
}

/* Names of files are kept, as the sources of options. There are only a few
 * different names. */
static const char *
keep_name(const char *name, size_t n)
{
	static struct kept {
		struct kept *next;
		char name[];
	} * all;
	struct kept *k;

	for (k = all; k != NULL; k = k->next)
		if (strncmp(k->name, name, n) == 0 && k->name[n] == '\0')
			return k->name;
	k = calloc(1, sizeof(*k) + n + 1);
	if (k == NULL)
		return NULL;
	memcpy(k->name, name, n);
	k->next = all;
	all = k;
	return k->name;
}

/* The row of a long name; N_OPTIONS: none. */
static enum option_id
options_find(const char *name)
{
	enum option_id id = 0;

	while (id < N_OPTIONS && strcmp(option_rows[id].name, name) != 0)
		id++;
	return id;
}

/* The setting that NAME may be a misspelling of, or NULL. */
static const struct option_row *
nearest(const char *name)
{
	const struct option_row *r = option_nearest(
	    option_rows, N_OPTIONS, name);

	return r != NULL && r->show != NULL ? r : NULL;
}

/* Other sections are ignored, but warn about misspelled ones. */
static void
check_section(struct file *f, const char *section, const char *key)
{
	if (*section == '\0')
		f->st = options_refuse(
		    "\"%s\" is before the first section: write [%s] "
		    "above it",
		    key, SECTION);
	else if (!f->has_section && near_distance(section, SECTION) <= 1) {
		log_warn("%s:%u: section [%s] is not read: did you mean [%s]?",
		    f->here.name, f->here.line, section, SECTION);
		f->has_section = true;
	}
}

/* Called by inih for "NAME = VALUE". Returns 1, so that inih continues: errors
 * are recorded in the file. */
static int
on_key(void *arg, const char *section, const char *name, const char *value)
{
	struct file *f = arg;
	const struct option_row *near;
	enum option_id id;

	if (strcmp(section, SECTION) != 0) {
		check_section(f, section, name);
		return 1;
	}
	id = options_find(name);
	near = id == N_OPTIONS ? nearest(name) : NULL;
	if (near != NULL)
		f->st = options_refuse(
		    "unknown key \"%s\" (did you mean \"%s\"?)", name,
		    near->name);
	else if (id == N_OPTIONS)
		f->st = options_refuse("unknown key \"%s\"", name);
	else if (option_rows[id].show == NULL)
		f->st = options_refuse(
		    "\"%s\" can be given on the command line only", name);
	else if (options_set(f->o, id, value, &f->here) != OK)
		f->st = E_REFUSED;
	return 1;
}

/*
 * Called by inih for a line, as fgets(). White space at the start is left out:
 * an indented key is a key, not more of the value above it. A line that is too
 * long for the library is empty for it.
 */
static char *
next_line(char *out, int n, void *arg)
{
	struct file *f = arg;
	ssize_t got = getline(&f->text, &f->text_size, f->stream);
	const char *s = f->text;

	if (got < 0)
		return NULL;
	f->here.line++;
	if (strlen(s) != (size_t)got) {
		f->st = options_refuse("a NUL byte");
		s = "\n";
	}
	while (*s == ' ' || *s == '\t')
		s++;
	if (strlen(s) + 1 > (size_t)n) {
		f->st = options_refuse("a line of more than %d bytes", n - 1);
		s = "\n";
	}
	memcpy(out, s, strlen(s) + 1);
	return out;
}

static void
read_stream(struct file *f)
{
	int bad_line;

#ifdef HAVE_INI_MAX_LINE
	ini_use_stack = false;
	ini_max_line = LINE_BYTES;
	ini_initial_alloc = LINE_BYTES;
#endif
	bad_line = ini_parse_stream(next_line, f, on_key, f);
	if (ferror(f->stream)) {
		log_errno(LOG_ERROR, "%s", f->here.name);
		f->st = E_REFUSED;
	} else if (bad_line != 0) {
		if (bad_line > 0)
			f->here.line = (unsigned)bad_line;
		f->st = options_refuse(bad_line > 0
					   ? "neither \"key = value\" nor "
					     "\"[section]\""
					   : "out of memory");
	}
}

/* A file that MUST_BE_THERE, or may be. */
static enum status
read_file(struct options *o, const char *path, bool must_be_there)
{
	struct file f = { .o = o, .here.kind = ORIGIN_FILE };

	f.here.name = keep_name(path, strlen(path));
	if (f.here.name == NULL)
		return E_NOMEM;
	f.stream = fopen(path, "re");
	if (f.stream == NULL) {
		if (errno == ENOENT && !must_be_there)
			return OK;
		log_errno(LOG_ERROR, "configuration file %s", path);
		return E_REFUSED;
	}
	busy_with = &f.here;
	read_stream(&f);
	free(f.text);
	fclose(f.stream);
	return f.st;
}

/* By bytes, in every language: the program has none. */
static enum status
read_directory(struct options *o)
{
	char pattern[PATH_MAX];
	enum status st = OK;
	glob_t found;
	int error;

	snprintf(
	    pattern, sizeof(pattern), "%s/relayd.conf.d/*.conf", config_dir);
	error = glob(pattern, GLOB_ERR, NULL, &found);
	if (error == GLOB_NOMATCH || (error == GLOB_ABORTED && errno == ENOENT))
		return OK;
	if (error != 0) {
		log_errno(LOG_ERROR, "%s", pattern);
		return E_REFUSED;
	}
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (read_file(o, found.gl_pathv[i], true) != OK)
			st = E_REFUSED;
	globfree(&found);
	return st;
}

/* Read the files in their order. All mistakes in them are logged. */
static enum status
options_read_files(struct options *o)
{
	char path[PATH_MAX];
	enum status main_file, others, given = OK;

	snprintf(path, sizeof(path), "%s/relayd.conf", config_dir);
	main_file = read_file(o, path, false);
	others = read_directory(o);
	if (o->config[0] != '\0')
		given = read_file(o, o->config, true);
	return main_file == OK && others == OK && given == OK ? OK : E_REFUSED;
}

/* Report the variable NAME, which has our prefix; REST is not a setting. */
static void
check_variable(const char *name, const char *rest)
{
	/* Of the unit, of the program tracepulse, and ours. */
	static const char *const others[] = { "options", "url", "config" };
	const struct option_row *r = nearest(rest);
	char meant[OPTION_WHY_LEN] = "";

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (strcmp(rest, others[i]) == 0)
			return;
	if (r != NULL)
		snprintf(meant, sizeof(meant),
		    " (did you mean the one of --%s?)", r->name);
	log_warn("unknown variable %s%s", name, meant);
}

static enum status
set_from_variable(
    struct options *o, enum option_id id, const char *name, const char *value)
{
	const struct origin here = { .kind = ORIGIN_VARIABLE, .name = name };

	/* An empty name of a file is not set. */
	if (option_rows[id].needs_trust &&
	    (*value == '\0' || environment_is_secure()))
		return OK;
	return options_set(o, id, value, &here);
}

/* TRACEPULSE_MAX_MEMORY is max-memory. */
static enum status
take_variable(struct options *o, const char *variable)
{
	const size_t n = strcspn(variable, "=");
	const char *name = keep_name(variable, n);
	char rest[NEAR_WORD_MAX + 1];
	enum option_id id;

	if (name == NULL)
		return E_NOMEM;
	snprintf(rest, sizeof(rest), "%s", name + strlen(PREFIX));
	for (char *c = rest; *c != '\0'; c++)
		*c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
	id = options_find(rest);
	if (id < N_OPTIONS && option_rows[id].show != NULL)
		return variable[n] == '\0' || variable[n + 1] == '\0'
			   ? OK
			   : set_from_variable(o, id, name, variable + n + 1);
	check_variable(name, rest);
	return OK;
}

/* Read all other variables TRACEPULSE_*. */
static enum status
options_read_variables(struct options *o)
{
	enum status st = OK;

	for (char **v = environ; v != NULL && *v != NULL; v++)
		if (strncmp(*v, PREFIX, strlen(PREFIX)) == 0 &&
		    take_variable(o, *v) != OK)
			st = E_REFUSED;
	return st;
}

/* As in lttng-relayd, these are not read if an option says the same. */
static enum status
read_old_variables(struct options *o)
{
	static const struct {
		const char *name;
		enum option_id id;
	} old[] = { { "LTTNG_RELAYD_DISALLOW_CLEAR", OPT_DISALLOW_CLEAR },
		{ "LTTNG_RELAYD_WORKING_DIRECTORY", OPT_WORKING_DIR } };

	for (size_t i = 0; i < ARRAY_LEN(old); i++) {
		const char *value = getenv(old[i].name);

		if (value != NULL &&
		    o->from[old[i].id].kind < ORIGIN_VARIABLE &&
		    set_from_variable(o, old[i].id, old[i].name, value) != OK)
			return E_REFUSED;
	}
	return OK;
}

static void
print_usage(void)
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

/* E_REFUSED, logged: limits contradict each other, or the process's own. */
static enum status
check_limits(const struct options *o)
{
	char age[32], least[32];

	busy_with = &o->from[OPT_FD_POOL_SIZE];
	if (o->fd_pool_size > descriptor_limit())
		return options_refuse("--fd-pool-size=%u exceeds the limit of "
				      "the process (%u)",
		    o->fd_pool_size, descriptor_limit());
	if (o->max_age_ns == 0 || o->max_age_ns >= o->keep_at_least_ns)
		return OK;
	option_show_ns(o->max_age_ns, age, sizeof(age));
	option_show_ns(o->keep_at_least_ns, least, sizeof(least));
	busy_with = &o->from[OPT_MAX_AGE];
	if (busy_with->kind == ORIGIN_DEFAULT ||
	    busy_with->kind == ORIGIN_COMMAND_LINE)
		busy_with = &o->from[OPT_KEEP_AT_LEAST];
	return options_refuse("--max-age=%s is less than --keep-at-least=%s: "
			      "set --keep-at-least=%s, or a longer --max-age",
	    age, least, age);
}

/* Called after all options are parsed: only then DYNAMIC_PORTS is known. */
static enum status
settle_ports(struct options *o)
{
	const struct {
		struct listen_url *url;
		uint16_t usual;
	} ports[] = { { &o->control, 5342 }, { &o->data, 5343 },
		{ &o->live, 5344 }, { &o->http, 5340 } };

	for (size_t i = 0; i < ARRAY_LEN(ports); i++) {
		struct listen_url *u = ports[i].url;

		if (u->has_port && u->port == 0 && !o->dynamic_ports) {
			log_error(
			    "Invalid port number 0: set "
			    "--dynamic-port-allocation, or another number");
			return E_REFUSED;
		}
		if (!u->has_port)
			u->port = o->dynamic_ports ? 0 : ports[i].usual;
	}
	return OK;
}

static enum status
read_command_line(struct options *o, int argc, char **argv, bool is_first)
{
	static const struct origin here = { .kind = ORIGIN_COMMAND_LINE };
	const struct option_table table = { .rows = option_rows,
		.n = N_OPTIONS };
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
		if (r->take == NULL) {
			if (i == OPT_HELP)
				print_usage();
			else
				puts(PACKAGE_VERSION);
			o->is_done = true;
			return OK;
		}
		if (options_set(o, (enum option_id)i, optarg, &here) != OK)
			return E_REFUSED;
	}
	if (i == OPTION_END)
		return OK;
	log_error("%s", why);
	return E_REFUSED;
}

/*
 * The command line is read twice: it says which file to read, and what stands
 * on it counts more than the file. Mistakes are reported the first time.
 */
enum status
options_parse(struct options *o, int argc, char **argv)
{
	const char *variable = getenv(PREFIX "CONFIG");
	char config[PATH_MAX];
	enum status files, variables;

	options_set_defaults(o);
	if (variable != NULL && *variable != '\0' && !environment_is_secure() &&
	    environment_path(o->config, variable) != OK)
		return E_REFUSED;
	if (read_command_line(o, argc, argv, true) != OK)
		return E_REFUSED;
	if (o->is_done)
		return OK;
	memcpy(config, o->config, sizeof(config));
	options_set_defaults(o);
	memcpy(o->config, config, sizeof(config));
	files = options_read_files(o);
	variables = options_read_variables(o);
	if (files != OK || variables != OK ||
	    read_command_line(o, argc, argv, false) != OK ||
	    read_old_variables(o) != OK || settle_ports(o) != OK ||
	    check_limits(o) != OK)
		return E_REFUSED;
	return environment_apply(o);
}
