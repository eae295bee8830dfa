/* SPDX-License-Identifier: MIT */
/* Settings from files and variables, and what is said about them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "common/near.h"
#include "relayd/process/options_internal.h"
#include "relayd/process/reload.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"

static struct options got;
static char said[16384];

static void
set_up(void)
{
	static char dir[PATH_MAX];

	ck_assert_int_eq(clearenv(), 0);
	scratch_open();
	ck_assert_int_eq(setenv("HOME", scratch_path(""), 1), 0);
	ck_assert_int_eq(setenv("LTTNG_RUNDIR", scratch_path("run"), 1), 0);
	ck_assert_int_eq(mkdir(scratch_path("etc"), 0700), 0);
	ck_assert_int_eq(mkdir(scratch_path("etc/relayd.conf.d"), 0700), 0);
	snprintf(dir, sizeof(dir), "%s", scratch_path("etc"));
	options_set_config_dir(dir);
}

/* ARGS is split at blanks; @ at the start of a word is the scratch directory.
 */
static enum status
parse_args(const char *args)
{
	static char words[18][PATH_MAX], program[] = "relayd";
	static char line[1024];
	char *argv[20] = { program };
	int argc = 1;

	snprintf(line, sizeof(line), "%s", args);
	for (char *p = strtok(line, " "); p != NULL; p = strtok(NULL, " ")) {
		snprintf(words[argc], PATH_MAX, "%s",
		    *p == '@' ? scratch_path(p + 1) : p);
		argv[argc] = words[argc];
		argc++;
	}
	return options_parse(&got, argc, argv);
}

/* Where standard error and output go, to be read by captured(). */
static void
capture(void)
{
	int fd = open(scratch_path("said"), O_CREAT | O_RDWR | O_TRUNC, 0600);

	ck_assert_int_ge(fd, 0);
	(void)fflush(stdout);
	dup2(fd, STDERR_FILENO);
	dup2(fd, STDOUT_FILENO);
	close(fd);
}

static const char *
captured(void)
{
	int fd = open(scratch_path("said"), O_RDONLY);
	ssize_t n;

	(void)fflush(stdout);
	n = read(fd, said, sizeof(said) - 1);
	ck_assert_int_ge(n, 0);
	said[n] = '\0';
	close(fd);
	return said;
}

static const char *
shown(enum option_id id)
{
	static char text[OPTION_TEXT_MAX];

	options_show(&got, id, text);
	return text;
}

EACH_TEST(set_up, scratch_close)

TEST(what_is_said_later_counts)
{
	static const struct {
		const char *value;
		enum origin_kind kind;
	} steps[] = {
		{ "1", ORIGIN_FILE },
		{ "2", ORIGIN_FILE },
		{ "3", ORIGIN_FILE },
		{ "4", ORIGIN_FILE },
		{ "5", ORIGIN_VARIABLE },
		{ "6", ORIGIN_COMMAND_LINE },
	};
	const char *args = "";

	ck_assert_int_eq(parse_args(""), OK);
	ck_assert_int_eq(got.from[OPT_MAX_VIEWERS].kind, ORIGIN_DEFAULT);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		char text[64];

		snprintf(text, sizeof(text),
		    "[relayd]\nmax-viewers-per-session=%s\n", steps[i].value);
		if (i == 0)
			scratch_write("etc/relayd.conf", text);
		else if (i == 1)
			scratch_write("etc/relayd.conf.d/10-a.conf", text);
		else if (i == 2)
			scratch_write("etc/relayd.conf.d/9-b.conf", text);
		else if (i == 3)
			scratch_write("own", text);
		else if (i == 4)
			setenv("TRACEPULSE_MAX_VIEWERS_PER_SESSION", "5", 1);
		args = i < 3   ? ""
		       : i < 5 ? "-f @own"
			       : "--max-viewers-per-session 6 -f @own";
		ck_assert_int_eq(parse_args(args), OK);
		ck_assert_str_eq(shown(OPT_MAX_VIEWERS), steps[i].value);
		ck_assert_int_eq(got.from[OPT_MAX_VIEWERS].kind, steps[i].kind);
		if (steps[i].kind == ORIGIN_FILE)
			ck_assert_uint_eq(got.from[OPT_MAX_VIEWERS].line, 2);
	}
}

TEST(other_files_are_left_alone)
{
	scratch_write("etc/relayd.conf.d/x.conf~", "[relayd]\nbogus=1\n");
	scratch_write("etc/relayd.conf.d/.hidden.conf", "[relayd]\nbogus=1\n");
	scratch_write("etc/relayd.conf.d/README", "hello\n");
	ck_assert_int_eq(parse_args(""), OK);
}

/* A file, and the one line that is said about it; "" for none. WANT is what
 * the setting is then; NULL: it is refused. */
static const struct {
	const char *text;
	enum option_id id;
	const char *want, *message;
} files[] = {
	{ "", OPT_WORKERS, "", "" },
	{ "[relayd]\noutput=/a", OPT_OUTPUT, "/a", "" },
	{ "[relayd]\noutput = /a ; there\n", OPT_OUTPUT, "/a", "" },
	{ "[relayd]\noutput : /a b\n", OPT_OUTPUT, "/a b", "" },
	{ "\xef\xbb\xbf[relayd]\r\noutput=/a\r\n", OPT_OUTPUT, "/a", "" },
	{ "# x\n[relayd]\n ; y\n\n  output=/a\n\tlive-hold=off\n",
	    OPT_LIVE_HOLD, "no", "" },
	{ "[sessiond]\nverbose=junk\n[relayd]\nlive-hold=off\n", OPT_LIVE_HOLD,
	    "no", "" },
	{ "[relayd]\nlive-hold=off\n[x]\nlive-hold=on\n", OPT_LIVE_HOLD, "no",
	    "" },
	{ "[relayd]\nlive-port=tcp://h:1\nlive-port=tcp://h:2\n", OPT_LIVE_PORT,
	    "tcp://h:2", "" },
	{ "[relayd]\nlive-port=tcp6://[::1]\n", OPT_LIVE_PORT,
	    "tcp6://[::1]:5344", "" },
	{ "[relayd]\ndaemonize=yes\n", OPT_DAEMONIZE, "yes", "" },
	{ "[relayd]\ndaemonize=Off\n", OPT_DAEMONIZE, "no", "" },
	{ "[relayd]\nverbose=2\n", OPT_VERBOSE, "2", "" },
	{ "[relayd]\nverbose=true\n", OPT_VERBOSE, "1", "" },
	{ "[relayd]\nverbose=0\n", OPT_VERBOSE, "0", "" },
	{ "[relayd]\nmax-memory=1536k\n", OPT_MAX_MEMORY, "1536k", "" },
	{ "[relayd]\nmax-memory=2048k\n", OPT_MAX_MEMORY, "2M", "" },
	{ "[relayd]\nmax-memory=1048577B\n", OPT_MAX_MEMORY, "1048577B", "" },
	{ "[relayd]\nindex-lock-timeout=700ms\n", OPT_INDEX_LOCK_TIMEOUT,
	    "700ms", "" },
	{ "[relayd]\nindex-lock-timeout=0\n", OPT_INDEX_LOCK_TIMEOUT, "0s",
	    "" },
	{ "[relayd]\nindex-lock-timeout=2m\n", OPT_INDEX_LOCK_TIMEOUT, "2m",
	    "" },
	{ "[relayd]\nsync=packet\n", OPT_SYNC, "packet", "" },
	{ "[relayd]\nsync=250ms\n", OPT_SYNC, "250ms", "" },
	{ "[relayd]\nsync=60s\n", OPT_SYNC, "1m", "" },
	{ "[relayd]\nmax-use=3T\n", OPT_MAX_USE, "3T", "" },
	{ "[relayd]\nmax-use=none\n", OPT_MAX_USE, "none", "" },
	{ "[relayd]\n", OPT_KEEP_FREE, "none", "" },
	{ "[relayd]\nkeep-free=1536M\n", OPT_KEEP_FREE, "1536M", "" },
	{ "[relayd]\nkeep-free=12%\n", OPT_KEEP_FREE, "12%", "" },
	{ "[relayd]\nkeep-free=none\n", OPT_KEEP_FREE, "none", "" },
	{ "[relayd]\nmax-age=2d\n", OPT_MAX_AGE, "2d", "" },
	{ "[relayd]\nkeep-at-least=120m\n", OPT_KEEP_AT_LEAST, "2h", "" },
	{ "[relayd]\nmax-age=none\n", OPT_MAX_AGE, "none", "" },
	{ "[relayd]\nadmin-socket=none\n", OPT_ADMIN_SOCKET, "none", "" },
	{ "[relayd]\nadmin-socket=/run/x\n", OPT_ADMIN_SOCKET, "/run/x", "" },
	{ "[relayd]\n", OPT_ADMIN_SOCKET, "", "" },
	{ "[relayd]\nsandbox=strict\n", OPT_SANDBOX, "strict", "" },
	{ "[relayd]\nsandbox=off\n", OPT_SANDBOX, "off", "" },
	{ "[relayd]\nudp-port=data\n", OPT_UDP_PORT, "data", "" },
	{ "[relayd]\nhttp=none\n", OPT_HTTP, "none", "" },
	{ "[relayd]\nhttp=unix:/run/x\n", OPT_HTTP, "unix:/run/x", "" },
	{ "[relayd]\nhttp=tcp://h:1\n", OPT_HTTP, "tcp://h:1", "" },
	{ "[relayd]\nhttp-host=a\nhttp-host= b c\n", OPT_HTTP_HOST, "a b c",
	    "" },
	{ "[relayd]\nudp-port=none\n", OPT_UDP_PORT, "none", "" },
	{ "[relayd]\nudp-port=9\n", OPT_UDP_PORT, "9", "" },
	{ "[relayd]\nfd-pool-size=100\n", OPT_FD_POOL_SIZE, "100", "" },
	{ "[relayd]\ngroup-output-by-session=yes\n", OPT_BY_SESSION, "yes",
	    "" },
	{ "[relayd]\ngroup-output-by-session=yes\n", OPT_BY_HOST, "no", "" },
	{ "[relayd]\ngroup-output-by-session=no\n", OPT_BY_HOST, "yes", "" },
	{ "[relay]\nbogus=1\nother=1\n", OPT_VERBOSE, "0",
	    "warning F:2: section [relay] is not read: did you mean "
	    "[relayd]?\n" },
	{ "[relayd]\nmax_memory=5M\n", 0, NULL,
	    "error F:2: unknown key \"max_memory\" (did you mean "
	    "\"max-memory\"?)\n" },
	{ "[relayd]\n\nouptut=/x\n", 0, NULL,
	    "error F:3: unknown key \"ouptut\" (did you mean \"output\"?)\n" },
	{ "[relayd]\nelephant=1\n", 0, NULL,
	    "error F:2: unknown key \"elephant\"\n" },
	{ "[relayd]\ndaemonize=maybe\n", 0, NULL,
	    "error F:2: invalid value \"maybe\" for --daemonize: expected yes "
	    "or "
	    "no\n" },
	{ "[relayd]\ndaemonize=\n", 0, NULL,
	    "error F:2: invalid value \"\" for --daemonize: expected yes or "
	    "no\n" },
	{ "[relayd]\nworkers=99\n", 0, NULL,
	    "error F:2: invalid value \"99\" for --workers=N: record with N "
	    "threads, "
	    "1 to 64 [one per core, at most 8]\n" },
	{ "[relayd]\nverbose=4\n", 0, NULL,
	    "error F:2: invalid value \"4\" for --verbose: expected a number "
	    "from 0 to 3, yes or no\n" },
	{ "[relayd]\nmax-age=30\nkeep-free=5\nmax-use=500\nsync=5\n"
	  "live-window=64\n",
	    0, NULL,
	    "error F:2: --max-age 30: a unit is missing (did you mean 30s? "
	    "units: s, ms, m, h, d)\n"
	    "error F:3: --keep-free 5: a unit is missing (did you mean 5G? "
	    "units: G, %, k, M, T)\n"
	    "error F:4: --max-use 500: a unit is missing (did you mean 500M? "
	    "units: M, B, k, G, T)\n"
	    "error F:5: --sync 5: a unit is missing (did you mean 5s? units: "
	    "s, ms, m, h, d)\n"
	    "error F:6: --live-window 64: a unit is missing (did you mean 64M? "
	    "units: M, k, G, T, s, m)\n" },
	{ "[relayd]\nlive-port=junk\n", 0, NULL,
	    "error F:2: Invalid live URL \"junk\": it must begin with "
	    "tcp://, tcp4:// or tcp6://\n" },
	{ "[relayd]\noutput=here\n", 0, NULL,
	    "error F:2: invalid value \"here\" for --output: the path must be "
	    "absolute\n" },
	{ "[relayd]\nfd-pool-size=9\n", 0, NULL,
	    "error F:2: invalid value \"9\" for --fd-pool-size=N: keep at most "
	    "N (100 or more) descriptors open [RLIMIT_NOFILE]\n" },
	{ "[relayd]\ngroup-output-by-session=yes\ngroup-output-by-host=yes\n",
	    0, NULL,
	    "error F:3: Cannot set --group-output-by-host, another "
	    "--group-output-by argument is present\n" },
	{ "[relayd]\nconfig=/x\n", 0, NULL,
	    "error F:2: \"config\" can be given on the command line only\n" },
	{ "[relayd]\nnonsense\n", 0, NULL,
	    "error F:2: neither \"key = value\" nor \"[section]\"\n" },
	{ "[relayd\noutput=/a\n", 0, NULL, NULL },
	{ "output=/a\n", 0, NULL,
	    "error F:1: \"output\" is before the first section: write "
	    "[relayd] above it\n" },
	{ "[relayd]\nworkers=x\nlive-workers=y\n", 0, NULL,
	    "error F:2: invalid value \"x\" for --workers=N: record with N "
	    "threads, "
	    "1 to 64 [one per core, at most 8]\n"
	    "error F:3: invalid value \"y\" for --live-workers=N: "
	    "serve viewers with N threads, 1 to 4 [1]\n" },
};

/* TEXT with the path of the file instead of F. */
static const char *
with_path(const char *text, const char *path)
{
	static char out[4096];
	size_t n = 0;

	for (; *text != '\0'; text++)
		if (*text == 'F' && (text[1] == ':'))
			n += (size_t)snprintf(
			    out + n, sizeof(out) - n, "%s", path);
		else
			out[n++] = *text;
	out[n] = '\0';
	return out;
}

TEST_ROWS(a_file_says_what_it_says, ARRAY_LEN(files))
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", scratch_path("own"));
	scratch_write("own", files[_i].text);
	capture();
	ck_assert_int_eq(
	    parse_args("-f @own"), files[_i].want != NULL ? OK : E_REFUSED);
	if (files[_i].message != NULL)
		ck_assert_str_eq(
		    captured(), with_path(files[_i].message, path));
	if (files[_i].want != NULL && files[_i].want[0] != '\0')
		ck_assert_str_eq(shown(files[_i].id), files[_i].want);
}

static void
write_bytes(const char *name, const char *bytes, size_t n)
{
	int fd = open(scratch_path(name), O_CREAT | O_WRONLY | O_TRUNC, 0600);

	ck_assert_int_eq(write(fd, bytes, n), (ssize_t)n);
	close(fd);
}

TEST(a_line_may_hold_a_path)
{
	static char text[3 * PATH_MAX];
	char *end = text + sprintf(text, "[relayd]\noutput=/");

	memset(end, 'x', 180);
	write_bytes("own", text, strlen(text));
	ck_assert_int_eq(parse_args("-f @own"), OK);
	ck_assert_uint_eq(strlen(got.output), 181);
	memset(end, 'x', 2 * PATH_MAX);
	memcpy(end + 2 * PATH_MAX, "\nlive-hold=off\n", 16);
	write_bytes("own", text, strlen(text));
	capture();
	ck_assert_int_eq(parse_args("-f @own"), E_REFUSED);
	ck_assert_ptr_nonnull(strstr(captured(), ":2: a line of more than "));
	ck_assert(!got.live_hold);
	write_bytes("own", "[relayd]\noutput=/a\0b\n", 21);
	capture();
	ck_assert_int_eq(parse_args("-f @own"), E_REFUSED);
	ck_assert_ptr_nonnull(strstr(captured(), ":2: a NUL byte"));
}

TEST(a_file_that_is_asked_for_must_be_readable)
{
	capture();
	ck_assert_int_eq(parse_args("-f @missing"), E_REFUSED);
	ck_assert_ptr_nonnull(strstr(captured(), "missing: No such file"));
	ck_assert_int_eq(parse_args("-f @etc"), E_REFUSED);
	ck_assert_ptr_nonnull(strstr(captured(), "etc: Is a directory"));
	ck_assert_int_eq(setenv("TRACEPULSE_CONFIG", "/nowhere", 1), 0);
	ck_assert_int_eq(parse_args(""), E_REFUSED);
	scratch_write("own", "[relayd]\nworkers=3\n");
	ck_assert_int_eq(parse_args("-f @own"), OK);
	ck_assert_uint_eq(got.workers, 3);
}

TEST(variables_are_settings)
{
	capture();
	setenv("TRACEPULSE_DAEMONIZE", "yes", 1);
	setenv("TRACEPULSE_MAX_MEMORY", "2M", 1);
	setenv("TRACEPULSE_WORKERS", "", 1);
	setenv("TRACEPULSE_OPTIONS", "-x", 1);
	ck_assert_int_eq(parse_args(""), OK);
	ck_assert(got.daemonize);
	ck_assert_uint_eq(got.max_memory, UINT64_C(2) << 20);
	ck_assert_str_eq(captured(), "");
	setenv("TRACEPULSE_MAX_MEMROY", "2M", 1);
	ck_assert_int_eq(parse_args(""), OK);
	ck_assert_str_eq(captured(),
	    "warning unknown variable TRACEPULSE_MAX_MEMROY (did you mean the "
	    "one "
	    "of --max-memory?)\n");
	setenv("TRACEPULSE_MAX_MEMORY", "x", 1);
	capture();
	ck_assert_int_eq(parse_args(""), E_REFUSED);
	ck_assert_ptr_nonnull(strstr(captured(),
	    "error TRACEPULSE_MAX_MEMORY: invalid value \"x\" for "
	    "--max-memory=SIZE: hold at most SIZE (B, k, M, G) of packets "
	    "[a "
	    "quarter of RAM]\n"));
}

TEST(old_variables_stand_between_file_and_command_line)
{
	scratch_write("own", "[relayd]\ndisallow-clear=yes\n"
			     "working-directory=/file\n");
	ck_assert_int_eq(parse_args("-f @own"), OK);
	ck_assert(got.disallow_clear);
	setenv("LTTNG_RELAYD_DISALLOW_CLEAR", "0", 1);
	setenv("LTTNG_RELAYD_WORKING_DIRECTORY", "/old", 1);
	ck_assert_int_eq(parse_args("-f @own"), OK);
	ck_assert(!got.disallow_clear);
	ck_assert_str_eq(got.working_dir, "/old");
	setenv("TRACEPULSE_WORKING_DIRECTORY", "/new", 1);
	ck_assert_int_eq(parse_args("-f @own -x"), OK);
	ck_assert(got.disallow_clear);
	ck_assert_str_eq(got.working_dir, "/new");
}

TEST(a_count_of_v_begins_anew_on_the_command_line)
{
	scratch_write("own", "[relayd]\nverbose=3\n"
			     "group-output-by-session=yes\n");
	ck_assert_int_eq(parse_args("-f @own -v -v"), OK);
	ck_assert_uint_eq(got.verbose, 2);
	ck_assert_int_eq(parse_args("-f @own -p"), OK);
	ck_assert(!got.group_by_session);
	ck_assert_int_eq(parse_args("-f @own -p -s"), E_REFUSED);
}

TEST(set_uid_trusts_no_variable_that_names_files)
{
	if (geteuid() != 0)
		return;
	ck_assert_int_eq(chmod(scratch_path(""), 0755), 0);
	ck_assert_int_eq(setresuid(65534, 0, 0), 0);
	setenv("TRACEPULSE_OUTPUT", "/evil", 1);
	setenv("TRACEPULSE_CONFIG", "/evil", 1);
	setenv("TRACEPULSE_WORKERS", "2", 1);
	unsetenv("LTTNG_RUNDIR");
	ck_assert_int_eq(parse_args(""), OK);
	ck_assert_ptr_null(strstr(got.output, "evil"));
	ck_assert_uint_eq(got.workers, 2);
	ck_assert_int_eq(setresuid(0, 0, 0), 0);
}

TEST(what_is_printed_can_be_read)
{
	static struct options before;
	char text[OPTION_TEXT_MAX];

	scratch_write("own", "[relayd]\nmax-memory=3M\nsync=close\n");
	setenv("TRACEPULSE_LIVE_HOLD", "no", 1);
	ck_assert_int_eq(
	    parse_args("-f @own -s --workers 3 -L tcp6://[::1]:0 "
		       "--dynamic-port-allocation --udp-port none -P @p"),
	    OK);
	capture();
	options_print(&got);
	ck_assert_ptr_nonnull(strstr(captured(), "own:2\n"));
	ck_assert_ptr_nonnull(strstr(said, "; TRACEPULSE_LIVE_HOLD\n"));
	ck_assert_ptr_nonnull(strstr(said, "; command line\n"));
	ck_assert_ptr_nonnull(strstr(said, "; default\n"));
	ck_assert_ptr_nonnull(strstr(said, "\n;working-directory = "));
	before = got;
	scratch_write("printed", said);
	unsetenv("TRACEPULSE_LIVE_HOLD");
	capture();
	ck_assert_msg(parse_args("-f @printed") == OK, "%s", captured());
	for (enum option_id id = 0; id < N_OPTIONS; id++) {
		options_show(&before, id, text);
		ck_assert_str_eq(shown(id), text);
	}
}

static unsigned told;

static void
on_reload(const struct options *o, void *arg)
{
	ck_assert_ptr_eq(o, arg);
	told++;
}

TEST(a_reload_notifies_its_subscribers)
{
	static char name[] = "relayd", option[] = "-f", relative[] = "own";
	char *argv[] = { name, option, relative, NULL };
	static struct reload r;

	ck_assert_int_eq(chdir(scratch_path("")), 0);
	scratch_write("own", "[relayd]\nverbose=1\nworkers=2\n");
	ck_assert_int_eq(options_parse(&got, 3, argv), OK);
	reload_init(&r, &got, 3, argv, on_reload, &got);
	got.workers = 1; /* as where descriptors are few */
	ck_assert_int_eq(chdir("/"), 0);
	capture();
	scratch_write("own", "[relayd]\nverbose=3\nworkers=2\n");
	ck_assert_int_eq(reload_now(&r), OK);
	ck_assert_uint_eq(told, 1);
	ck_assert_uint_eq(got.verbose, 3);
	ck_assert(log_wants(LOG_DEBUG));
	ck_assert_ptr_null(strstr(captured(), "--workers"));
	scratch_write("own", "[relayd]\nverbose=0\nworkers=x\n");
	ck_assert_int_eq(reload_now(&r), E_REFUSED);
	ck_assert_uint_eq(told, 1);
	ck_assert_uint_eq(got.verbose, 3);
	scratch_write("own", "[relayd]\nverbose=3\nworkers=4\n");
	ck_assert_int_eq(reload_now(&r), OK);
	ck_assert_uint_eq(got.workers, 1);
	ck_assert_ptr_nonnull(strstr(captured(),
	    "reload: --workers stays \"2\" until a restart, then it is \"4\""));
}

/* What --check-config says, beside mistakes in files. */
static const struct {
	const char *args, *message; /* NULL: all is well */
} checks[] = {
	{ "", NULL },
	{ "-o @not/yet/there", NULL },
	{ "-L tcp://no-such-host.invalid:1", "--live-port: \"no-such-host" },
	{ "-C tcp://127.0.0.1:1 -D tcp://0.0.0.0:1",
	    "--control-port and --data-port have" },
	{ "-o @file", "--output " },
	{ "-o @file/below", "--output " },
	{ "-o /proc/1/x", "--output /proc/1/x: cannot write in /proc" },
	{ "-P @missing/pid", "--pid-file " },
	{ "-w @missing", "--working-directory " },
	{ "-w @file", "--working-directory " },
};

TEST_ROWS(a_check_reports_what_would_fail, ARRAY_LEN(checks))
{
	scratch_write("file", "");
	ck_assert_int_eq(parse_args(checks[_i].args), OK);
	capture();
	ck_assert_int_eq(
	    options_check(&got), checks[_i].message == NULL ? OK : E_REFUSED);
	if (checks[_i].message == NULL)
		ck_assert_ptr_null(strstr(captured(), "error"));
	else
		ck_assert_ptr_nonnull(strstr(captured(), checks[_i].message));
	ck_assert(!scratch_exists("run"));
	ck_assert(!scratch_exists("not"));
}

TEST(every_setting_is_key_variable_and_text)
{
	char text[OPTION_TEXT_MAX], line[OPTION_TEXT_MAX + 128];

	ck_assert_int_eq(parse_args("-P @p -w / --udp-port 7"), OK);
	for (enum option_id id = 0; id < N_OPTIONS; id++) {
		const struct option_row *r = &option_rows[id];

		ck_assert_uint_lt(strlen(r->name), NEAR_WORD_MAX);
		if (r->show == NULL)
			continue;
		options_show(&got, id, text);
		if (text[0] == '\0') /* nothing is set */
			continue;
		snprintf(
		    line, sizeof(line), "[relayd]\n%s=%s\n", r->name, text);
		scratch_write("own", line);
		ck_assert_msg(parse_args("-f @own --udp-port 7 "
					 "--dynamic-port-allocation") == OK,
		    "%s", line);
		ck_assert_int_eq(parse_args("-P @p -w / --udp-port 7"), OK);
	}
}

static const struct {
	const char *a, *b;
	unsigned distance;
	bool is_near;
} words[] = {
	{ "", "", 0, true },
	{ "output", "output", 0, true },
	{ "max_memory", "MAX-memory", 0, true },
	{ "ouptut", "output", 1, true },
	{ "outpt", "output", 1, true },
	{ "outputs", "output", 1, true },
	{ "oxtpux", "output", 2, true },
	{ "sync", "live", 4, false },
	{ "", "abc", 3, false },
};

TEST_ROWS(near_words_are_near, ARRAY_LEN(words))
{
	ck_assert_uint_eq(
	    near_distance(words[_i].a, words[_i].b), words[_i].distance);
	ck_assert_int_eq(
	    near_enough(words[_i].a, words[_i].distance), words[_i].is_near);
}
