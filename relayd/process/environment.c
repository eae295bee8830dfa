/* SPDX-License-Identifier: MIT */
#include "relayd/process/environment.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "common/log.h"
#include "relayd/process/options.h"
#include "common/parse.h"

#define ROOT_RUN_DIR "/var/run/lttng"
#define ROOT_STATE_DIR "/var/lib/tracepulse-relayd"
#define HOME_STATE_DIR ".local/state/tracepulse"

/* Where relative paths start, if it is not the current directory. */
static char start_dir[PATH_MAX];

bool
environment_is_secure(void)
{
	/* The kernel's word on set-uid, set-gid and capabilities of the program
	 * file; and what the process itself has done since. */
	return getauxval(AT_SECURE) != 0 || getuid() != geteuid() ||
	       getgid() != getegid();
}

/* A variable that names a file; NULL when it is unset, empty or not trusted. */
static const char *
get_path(const char *name)
{
	const char *s = environment_is_secure() ? NULL : getenv(name);

	return s != NULL && *s != '\0' ? s : NULL;
}

static enum status
join(char out[PATH_MAX], const char *dir, const char *name)
{
	int n = snprintf(out, PATH_MAX, "%s/%s", dir, name);

	if (n >= 0 && n < PATH_MAX)
		return OK;
	log_error("%s/%s: the path is too long", dir, name);
	return E_REFUSED;
}

enum status
environment_path(char out[PATH_MAX], const char *s)
{
	char cwd[PATH_MAX];

	if (s[0] == '/')
		return join(out, "", s + 1);
	if (start_dir[0] != '\0')
		snprintf(cwd, sizeof(cwd), "%s", start_dir);
	else if (getcwd(cwd, sizeof(cwd)) == NULL) {
		log_errno(
		    LOG_ERROR, "%s: cannot find the current directory", s);
		return E_REFUSED;
	}
	return join(out, strcmp(cwd, "/") == 0 ? "" : cwd, s);
}

void
environment_keep_directory(void)
{
	/* Without one no relative path was taken. */
	if (getcwd(start_dir, sizeof(start_dir)) == NULL)
		start_dir[0] = '\0';
}

/* Looked up once: a reload cannot (common/sandbox.h). */
static const char *
account_home(void)
{
	static char home[PATH_MAX];
	const struct passwd *pw = home[0] == '\0' ? getpwuid(getuid()) : NULL;

	if (pw != NULL)
		snprintf(home, sizeof(home), "%s", pw->pw_dir);
	return home[0] != '\0' ? home : NULL;
}

/* NULL: no home directory, or its path is not absolute. */
static const char *
get_home(void)
{
	const char *home = get_path("LTTNG_HOME");

	if (home == NULL)
		home = get_path("HOME");
	if (home == NULL)
		home = account_home();
	return home != NULL && home[0] == '/' ? home : NULL;
}

static const char *
find_home(void)
{
	const char *home = get_home();

	if (home != NULL)
		return home;
	log_error("No home directory as an absolute path: set LTTNG_HOME or "
		  "HOME");
	return NULL;
}

static enum status
apply_run_dir(struct options *o)
{
	const char *dir = get_path("LTTNG_RUNDIR");
	const char *home;
	enum status st;

	if (dir == NULL && geteuid() == 0)
		dir = ROOT_RUN_DIR;
	home = dir == NULL ? find_home() : NULL;
	if (dir != NULL)
		st = environment_path(o->run_dir, dir);
	else
		st = home == NULL ? E_REFUSED
				  : join(o->run_dir, home, ".lttng");
	if (st != OK || strlen(o->run_dir) < PATH_MAX - RUN_FILE_MAX)
		return st;
	log_error("run directory %s: the path is too long", o->run_dir);
	return E_REFUSED;
}

bool
environment_names_us(const char *name)
{
	const char *pid = getenv(name);
	uint64_t n;

	return pid != NULL && parse_u64(pid, 1, INT_MAX, &n) == OK &&
	       n == (uint64_t)getpid();
}

/* What the service manager has made for us (StateDirectory= of the unit), with
 * colons between several; NULL: none. Whom a service starts has its variables,
 * too: only the process that the manager itself started is meant. Seen once, as
 * the process may be another at a reload (--daemonize). */
static const char *
state_directories(void)
{
	static char dirs[2 * PATH_MAX];
	static bool is_known;
	const char *all = get_path("STATE_DIRECTORY");

	if (!is_known && all != NULL && all[0] == '/' &&
	    environment_names_us("SYSTEMD_EXEC_PID"))
		snprintf(dirs, sizeof(dirs), "%s", all);
	is_known = true;
	return dirs[0] != '\0' ? dirs : NULL;
}

static enum status
apply_output(struct options *o)
{
	const char *home, *dirs = state_directories();
	char first[PATH_MAX];

	if (o->output[0] != '\0')
		return OK;
	if (dirs != NULL) {
		o->from[OPT_OUTPUT] = (struct origin){
			.kind = ORIGIN_VARIABLE,
			.name = "STATE_DIRECTORY",
		};
		snprintf(first, sizeof(first), "%.*s", (int)strcspn(dirs, ":"),
		    dirs);
		return environment_path(o->output, first);
	}
	home = find_home();
	return home != NULL ? join(o->output, home, "lttng-traces") : E_REFUSED;
}

/* Not the output directory, which may be the first that the service manager has
 * made. */
static enum status
apply_state_dir(struct options *o)
{
	const char *dirs = state_directories();
	const char *colon = dirs == NULL ? NULL : strrchr(dirs, ':');
	const char *last = colon == NULL ? dirs : colon + 1;
	const char *xdg = get_path("XDG_STATE_HOME"), *home = get_home();

	if (o->state_dir[0] != '\0')
		return OK;
	if (last != NULL && strcmp(last, o->output) != 0) {
		o->from[OPT_STATE_DIR] = (struct origin){
			.kind = ORIGIN_VARIABLE,
			.name = "STATE_DIRECTORY",
		};
		return environment_path(o->state_dir, last);
	}
	if (geteuid() == 0)
		return environment_path(o->state_dir, ROOT_STATE_DIR);
	if (xdg != NULL && xdg[0] == '/')
		return join(o->state_dir, xdg, "tracepulse");
	return home == NULL ? OK : join(o->state_dir, home, HOME_STATE_DIR);
}

/* A number for the kernel; for -1 and 0 the system chooses. */
static void
get_count(const char *name, int *out)
{
	const char *s = getenv(name);
	int value;

	if (s == NULL)
		return;
	if (parse_int(s, -1, INT_MAX, &value) != OK) {
		log_warn("%s=%s ignored: not a number from -1 to %d", name, s,
		    INT_MAX);
		return;
	}
	*out = value > 0 ? value : 0;
}

static void
apply_keepalive(struct keepalive *k)
{
	const char *on = getenv("LTTNG_RELAYD_TCP_KEEP_ALIVE");

	if (on != NULL && parse_bool(on, &k->on) != OK)
		log_warn("LTTNG_RELAYD_TCP_KEEP_ALIVE=%s ignored: neither true "
			 "nor false",
		    on);
	get_count("LTTNG_RELAYD_TCP_KEEP_ALIVE_IDLE_TIME", &k->idle);
	get_count("LTTNG_RELAYD_TCP_KEEP_ALIVE_PROBE_INTERVAL", &k->interval);
	get_count("LTTNG_RELAYD_TCP_KEEP_ALIVE_MAX_PROBE_COUNT", &k->count);
	if (getenv("LTTNG_RELAYD_TCP_KEEP_ALIVE_ABORT_THRESHOLD") != NULL)
		log_warn("LTTNG_RELAYD_TCP_KEEP_ALIVE_ABORT_THRESHOLD ignored: "
			 "not supported by this platform");
}

enum status
environment_apply(struct options *o)
{
	const char *abort_on = getenv("LTTNG_ABORT_ON_ERROR");
	const char *health = get_path("LTTNG_RELAYD_HEALTH");
	int timeout_ms = 0;

	if (apply_output(o) != OK || apply_state_dir(o) != OK ||
	    apply_run_dir(o) != OK ||
	    (health != NULL && environment_path(o->health_path, health) != OK))
		return E_REFUSED;
	get_count("LTTNG_NETWORK_SOCKET_TIMEOUT", &timeout_ms);
	o->socket_timeout_ms = (unsigned)timeout_ms;
	apply_keepalive(&o->keepalive);
	o->abort_on_error = abort_on != NULL && strcmp(abort_on, "1") == 0;
	return OK;
}
