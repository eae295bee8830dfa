/* SPDX-License-Identifier: MIT */
/* Settings in files and in variables. */
#include "config.h"

#include "relayd/process/options_internal.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/log.h"
#include "common/near.h"
#include "relayd/process/environment.h"

#define SECTION "relayd"
#define PREFIX "TRACEPULSE_"
/* A line with a path, for libraries that can be told so. */
#define LINE_BYTES (PATH_MAX + 256)

static const char *config_dir = CONFIG_DIR;

/* A file that is being read. */
struct file {
	struct options *o;
	FILE *stream;
	const char *name; /* lives for ever */
	unsigned line;
	bool is_bad;	  /* a mistake was logged */
	bool has_section; /* a section like ours was told about */
	char *text;	  /* of the line */
	size_t room;
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

/* Names of files stay, as options say where they are from. There are as many
 * as there are different names. */
static const char *
keep_name(const char *name)
{
	static struct kept {
		struct kept *next;
		char name[];
	} * all;
	const size_t n = strlen(name) + 1;
	struct kept *k;

	for (k = all; k != NULL; k = k->next)
		if (strcmp(k->name, name) == 0)
			return k->name;
	k = malloc(sizeof(*k) + n);
	if (k == NULL)
		return NULL;
	memcpy(k->name, name, n);
	k->next = all;
	all = k;
	return k->name;
}

enum option_id
options_find(const char *name)
{
	enum option_id id = 0;

	while (id < N_OPTIONS && strcmp(option_rows[id].name, name) != 0)
		id++;
	return id;
}

/* The setting that somebody who wrote NAME may have meant; NULL: none. */
static const struct option_row *
nearest(const char *name)
{
	const struct option_row *r = option_nearest(
	    option_rows, N_OPTIONS, name);

	return r != NULL && r->show != NULL ? r : NULL;
}

static void PRINTF_LIKE(2, 3) complain(struct file *f, const char *fmt, ...)
{
	char text[LOG_LINE_MAX];
	va_list ap;

	va_start(ap, fmt);
	if (vsnprintf(text, sizeof(text), fmt, ap) < 0)
		text[0] = '\0';
	va_end(ap);
	log_error("%s:%u: %s", f->name, f->line, text);
	f->is_bad = true;
}

/* What is not in our section is somebody else's, but for a slip of the pen. */
static void
look_at_section(struct file *f, const char *section, const char *key)
{
	if (*section == '\0')
		complain(f,
		    "\"%s\" stands before the first section: write [%s] "
		    "above it",
		    key, SECTION);
	else if (!f->has_section && near_distance(section, SECTION) <= 1) {
		log_warn("%s:%u: section [%s] is not read: did you mean [%s]?",
		    f->name, f->line, section, SECTION);
		f->has_section = true;
	}
}

/* Called by inih for "NAME = VALUE". Returns 1: go on, as we keep account of
 * mistakes ourselves. */
static int
on_key(void *arg, const char *section, const char *name, const char *value)
{
	struct file *f = arg;
	const struct origin here = {
		.kind = ORIGIN_FILE,
		.name = f->name,
		.line = f->line,
	};
	const struct option_row *near;
	enum option_id id;

	if (strcmp(section, SECTION) != 0) {
		look_at_section(f, section, name);
		return 1;
	}
	id = options_find(name);
	near = id == N_OPTIONS ? nearest(name) : NULL;
	if (near != NULL)
		complain(f, "unknown key \"%s\" (did you mean \"%s\"?)", name,
		    near->name);
	else if (id == N_OPTIONS)
		complain(f, "unknown key \"%s\"", name);
	else if (option_rows[id].show == NULL)
		complain(
		    f, "\"%s\" can be given on the command line only", name);
	else if (options_set(f->o, id, value, &here) != OK)
		f->is_bad = true;
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
	ssize_t got = getline(&f->text, &f->room, f->stream);
	const char *s = f->text;

	if (got < 0)
		return NULL;
	f->line++;
	if (strlen(s) != (size_t)got) {
		complain(f, "a NUL byte");
		s = "\n";
	}
	while (*s == ' ' || *s == '\t')
		s++;
	if (strlen(s) + 1 > (size_t)n) {
		complain(f, "a line of more than %d bytes", n - 1);
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
		log_errno(LOG_ERROR, "%s", f->name);
		f->is_bad = true;
	} else if (bad_line != 0) {
		if (bad_line > 0)
			f->line = (unsigned)bad_line;
		complain(f, bad_line > 0 ? "neither \"key = value\" nor "
					   "\"[section]\""
					 : "out of memory");
	}
}

/* A file that MUST_BE_THERE, or may be. */
static enum status
read_file(struct options *o, const char *path, bool must_be_there)
{
	struct file f = { .o = o, .name = keep_name(path) };

	if (f.name == NULL)
		return E_NOMEM;
	f.stream = fopen(path, "re");
	if (f.stream == NULL) {
		if (errno == ENOENT && !must_be_there)
			return OK;
		log_errno(LOG_ERROR, "configuration file %s", path);
		return E_REFUSED;
	}
	read_stream(&f);
	free(f.text);
	fclose(f.stream);
	return f.is_bad ? E_REFUSED : OK;
}

static int
is_conf(const struct dirent *e)
{
	const size_t n = strlen(e->d_name);

	return e->d_name[0] != '.' && n > strlen(".conf") &&
	       strcmp(e->d_name + n - strlen(".conf"), ".conf") == 0;
}

/* By bytes, in every language. */
static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static enum status
read_directory(struct options *o)
{
	char dir[PATH_MAX], path[PATH_MAX];
	struct dirent **found;
	enum status st = OK;
	int n;

	snprintf(dir, sizeof(dir), "%s/relayd.conf.d", config_dir);
	n = scandir(dir, &found, is_conf, by_name);
	if (n < 0) {
		if (errno == ENOENT)
			return OK;
		log_errno(LOG_ERROR, "%s", dir);
		return E_REFUSED;
	}
	for (int i = 0; i < n; i++) {
		if (snprintf(path, sizeof(path), "%s/%s", dir,
			found[i]->d_name) >= (int)sizeof(path) ||
		    read_file(o, path, true) != OK)
			st = E_REFUSED;
		free(found[i]);
	}
	free(found);
	return st;
}

enum status
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

/* TRACEPULSE_MAX_MEMORY of max-memory. */
static void
variable_name(const struct option_row *r, char *out, size_t n)
{
	snprintf(out, n, PREFIX "%s", r->name);
	for (char *c = out; *c != '\0'; c++)
		*c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
}

static bool
is_variable_of(const struct option_row *r, const char *name, size_t n)
{
	char wanted[NEAR_WORD_MAX + sizeof(PREFIX)];

	variable_name(r, wanted, sizeof(wanted));
	return r->show != NULL && strlen(wanted) == n &&
	       strncmp(wanted, name, n) == 0;
}

/* A variable with our prefix that is no setting: perhaps it was meant to be. */
static void
look_at_variable(const char *name, size_t n)
{
	/* Of the unit, of the program tracepulse, and ours. */
	static const char *const others[] = { "OPTIONS", "URL", "CONFIG" };
	char rest[NEAR_WORD_MAX + 1], meant[NEAR_WORD_MAX + sizeof(PREFIX)];
	const struct option_row *r;

	snprintf(rest, sizeof(rest), "%.*s", (int)(n - strlen(PREFIX)),
	    name + strlen(PREFIX));
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (strcmp(rest, others[i]) == 0)
			return;
	r = nearest(rest);
	if (r != NULL)
		variable_name(r, meant, sizeof(meant));
	log_warn("variable %.*s is not known%s%s%s", (int)n, name,
	    r == NULL ? "" : ": did you mean \"", r == NULL ? "" : meant,
	    r == NULL ? "" : "\"?");
}

static enum status
take_variable(struct options *o, const char *variable)
{
	const size_t n = strcspn(variable, "=");
	struct origin here = { .kind = ORIGIN_VARIABLE };
	enum option_id id = 0;
	char name[NEAR_WORD_MAX + sizeof(PREFIX)];

	while (id < N_OPTIONS && !is_variable_of(&option_rows[id], variable, n))
		id++;
	if (id == N_OPTIONS) {
		look_at_variable(variable, n);
		return OK;
	}
	if (variable[n] == '\0' || variable[n + 1] == '\0' ||
	    (option_rows[id].needs_trust && environment_is_secure()))
		return OK;
	variable_name(&option_rows[id], name, sizeof(name));
	here.name = keep_name(name);
	return here.name == NULL ? E_NOMEM
				 : options_set(o, id, variable + n + 1, &here);
}

enum status
options_read_variables(struct options *o)
{
	enum status st = OK;

	for (char **v = environ; v != NULL && *v != NULL; v++)
		if (strncmp(*v, PREFIX, strlen(PREFIX)) == 0 &&
		    take_variable(o, *v) != OK)
			st = E_REFUSED;
	return st;
}

enum status
options_config_variable(char out[PATH_MAX])
{
	const char *s = environment_is_secure() ? NULL
						: getenv(PREFIX "CONFIG");

	return s == NULL || *s == '\0' ? OK : environment_path(out, s);
}
