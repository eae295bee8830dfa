/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "relayd/process/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "relayd/process/options.h"
#include "relayd/process/systemd.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"

/* What the daemon does after its start. */
enum fate {
	SERVE, /* ready, until SIGTERM */
	FAIL,  /* gives up before it is ready */
	DIE,   /* is killed before it is ready */
};

static struct options options;
static struct daemon the_daemon;
static int error_fd; /* what the command says on standard error */
static char errors[4096];
static volatile sig_atomic_t usr1;

static void
on_usr1(int sig)
{
	usr1++;
}

static void
serve(struct daemon *d)
{
	const struct daemon_ports ports = { 1, 22, 65535, 0, 0 };
	sigset_t term;
	int sig;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	if (daemon_write(d, &ports) != OK)
		return;
	daemon_ready(d, &ports);
	sigwait(&term, &sig);
	(void)systemd_notify("STOPPING=1\n");
}

/* The program, as main() will be. */
static _Noreturn void
command(enum fate fate, const char *args)
{
	static char line[4096], name[] = "relayd";
	char *argv[20] = { name };
	int argc = 1;

	/* No test leaves a daemon behind. Check's own handler is inherited. */
	(void)signal(SIGALRM, SIG_DFL);
	alarm(30);
	snprintf(line, sizeof(line), "%s", args);
	for (char *p = strtok(line, " "); p != NULL; p = strtok(NULL, " "))
		argv[argc++] = p;
	if (options_parse(&options, argc, argv) != OK)
		_exit(2);
	log_set_level(options_log_level(&options));
	if (daemon_start(&the_daemon, &options) != OK)
		_exit(EXIT_FAILURE);
	alarm(30);
	if (fate == DIE)
		raise(SIGKILL);
	if (fate == SERVE)
		serve(&the_daemon);
	daemon_end(&the_daemon);
	_exit(fate == SERVE ? EXIT_SUCCESS : EXIT_FAILURE);
}

static pid_t
launch(enum fate fate, const char *args)
{
	int fds[2];
	pid_t pid;

	ck_assert_int_eq(pipe(fds), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		dup2(fds[1], STDERR_FILENO);
		close(fds[0]);
		close(fds[1]);
		command(fate, args);
	}
	close(fds[1]);
	error_fd = fds[0];
	return pid;
}

static int
finish(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		ck_assert_int_eq(errno, EINTR);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Until all processes that have our standard error are gone. */
static const char *
read_errors(void)
{
	size_t len = 0;
	ssize_t n;

	while ((n = read(error_fd, errors + len, sizeof(errors) - 1 - len)) > 0)
		len += (size_t)n;
	errors[len] = '\0';
	close(error_fd);
	return errors;
}

/* "-g root -b -P SCRATCH/pid", with LTTNG_RUNDIR in the scratch directory.
 * Every machine has the group root. */
static const char *
background(const char *more)
{
	static char args[512];

	snprintf(
	    args, sizeof(args), "-g root %s -P %s", more, scratch_path("pid"));
	return args;
}

static void
open_scratch(void)
{
	clearenv();
	scratch_open();
	ck_assert_int_eq(setenv("HOME", scratch_path(""), 1), 0);
	ck_assert_int_eq(setenv("LTTNG_RUNDIR", scratch_path("run"), 1), 0);
}

static pid_t
daemon_pid(void)
{
	return (pid_t)atoi(scratch_read("pid"));
}

static void
end_daemon(pid_t pid)
{
	ck_assert_int_gt(pid, 1);
	ck_assert_int_eq(kill(pid, SIGTERM), 0);
	for (int i = 0; i < 3000 && scratch_exists("pid"); i++)
		usleep(10 * 1000);
	ck_assert(!scratch_exists("pid"));
}

/* Where a link in /proc/PID points. */
static const char *
proc_link(pid_t pid, const char *name)
{
	static char target[PATH_MAX];
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	n = readlink(path, target, sizeof(target) - 1);
	ck_assert_int_gt(n, 0);
	target[n] = '\0';
	return target;
}

static const char *const detached[] = { "-b", "-d", "-b -d" };

EACH_TEST(open_scratch, scratch_close)

TEST_ROWS(when_the_command_returns_all_is_there, ARRAY_LEN(detached))
{
	pid_t pid;

	ck_assert_int_eq(finish(launch(SERVE, background(detached[_i]))), 0);
	ck_assert_str_eq(scratch_read("run/relayd/control.port"), "1\n");
	ck_assert_str_eq(scratch_read("run/relayd/data.port"), "22\n");
	ck_assert_str_eq(scratch_read("run/relayd/live.port"), "65535\n");
	pid = daemon_pid();
	ck_assert_int_eq(getsid(pid), pid);
	ck_assert_str_eq(proc_link(pid, "cwd"), "/");
	ck_assert_str_eq(proc_link(pid, "fd/0"), "/dev/null");
	end_daemon(pid);
	ck_assert_str_eq(read_errors(), "");
	ck_assert(!scratch_exists("run/relayd/control.port"));
	ck_assert(!scratch_exists("run/relayd/data.port"));
	ck_assert(!scratch_exists("run/relayd/live.port"));
}

TEST_ROWS(only_daemonize_hides_an_unknown_group, ARRAY_LEN(detached))
{
	const bool is_said = strcmp(detached[_i], "-b") == 0 && geteuid() == 0;
	char args[64];

	snprintf(args, sizeof(args), "%s -g no_such_group", detached[_i]);
	ck_assert_int_eq(finish(launch(SERVE, background(args))), 0);
	end_daemon(daemon_pid());
	ck_assert_str_eq(read_errors(),
	    is_said ? "warning No tracing group detected: \"no_such_group\"\n"
		    : "");
}

TEST_ROWS(only_daemonize_leaves_standard_error, ARRAY_LEN(detached))
{
	const bool is_kept = strcmp(detached[_i], "-b") == 0;
	pid_t pid;

	ck_assert_int_eq(finish(launch(SERVE, background(detached[_i]))), 0);
	pid = daemon_pid();
	ck_assert_int_eq(
	    strcmp(proc_link(pid, "fd/2"), "/dev/null") != 0, is_kept);
	if (!is_kept)
		ck_assert_str_eq(proc_link(pid, "fd/1"), "/dev/null");
	end_daemon(pid);
	close(error_fd);
}

/* Status 1, and at once: not when somebody looks again. */
static const struct {
	enum fate fate;
	const char *args, *message;
} failures[] = {
	{ FAIL, "-b", "" },
	{ FAIL, "-d", "" },
	{ DIE, "-b", "" },
	{ DIE, "-d", "" },
	{ SERVE, "-b -w /nonexistent",
	    "Failed to change working directory to \"/nonexistent\"" },
	{ SERVE, "-d -w /nonexistent",
	    "Failed to change working directory to \"/nonexistent\"" },
	{ SERVE, "-w /nonexistent",
	    "Failed to change working directory to \"/nonexistent\"" },
	{ FAIL, "", "" },
};

/* How long that takes. */
static uint64_t
failed_start(int i)
{
	const uint64_t start = clock_now_ns();
	uint64_t took;

	scratch_close();
	open_scratch();
	ck_assert_int_eq(
	    finish(launch(failures[i].fate, background(failures[i].args))), 1);
	took = clock_now_ns() - start;
	ck_assert_ptr_nonnull(strstr(read_errors(), failures[i].message));
	ck_assert(!scratch_exists("pid"));
	ck_assert(!scratch_exists("run/relayd/control.port"));
	scratch_close();
	return took;
}

/* One of some tries is as quick: a busy machine may delay the others. */
TEST_ROWS(a_failed_start_is_reported_at_once, ARRAY_LEN(failures))
{
	uint64_t took = failed_start(_i);

	for (int tries = 1; tries < 8 && took >= NS_PER_S / 2; tries++)
		took = failed_start(_i);
	ck_assert_uint_lt(took, NS_PER_S / 2);
}

TEST(an_unwritable_place_for_the_pid_fails_the_start)
{
	ck_assert_int_eq(finish(launch(SERVE, "-b -P /nonexistent/pid")), 1);
	ck_assert_ptr_nonnull(strstr(read_errors(), "/nonexistent/pid"));
	ck_assert(!scratch_exists("run/relayd/control.port"));
}

static const struct {
	const char *args, *cwd;
} directories[] = {
	{ "-b -w /usr", "/usr" },
	{ "-b -w usr", "/usr" },
	{ "-d --working-dir=/usr", "/usr" },
};

TEST_ROWS(the_working_directory_is_taken, ARRAY_LEN(directories))
{
	pid_t pid;

	ck_assert_int_eq(
	    finish(launch(SERVE, background(directories[_i].args))), 0);
	pid = daemon_pid();
	ck_assert_str_eq(proc_link(pid, "cwd"), directories[_i].cwd);
	end_daemon(pid);
	close(error_fd);
}

static const struct {
	const char *args;
	bool is_told;
} unwritable[] = {
	{ "-v -b -w /usr", true },
	{ "-v -w /usr", true },
	{ "-b -w /usr", false },
};

TEST_ROWS(
    an_unwritable_directory_is_reported_when_verbose, ARRAY_LEN(unwritable))
{
	const char *said;

	/* Root may write anywhere. */
	if (geteuid() == 0) {
		ck_assert_int_eq(chmod(scratch_path(""), 0777), 0);
		ck_assert_int_eq(setresuid(65534, 65534, 0), 0);
	}
	(void)finish(launch(FAIL, unwritable[_i].args));
	said = strstr(
	    read_errors(), "Working directory \"/usr\" is not writable");
	ck_assert_int_eq(said != NULL, unwritable[_i].is_told);
	if (getuid() == 65534)
		(void)setresuid(0, 0, 0);
}

static const char *const starts[] = { "-b -S", "-d --sig-parent", "-S" };

TEST_ROWS(the_parent_gets_its_signal_when_all_is_there, ARRAY_LEN(starts))
{
	struct sigaction sa = { .sa_handler = on_usr1 };
	sigset_t block, old;
	pid_t child, pid;

	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	ck_assert_int_eq(sigprocmask(SIG_BLOCK, &block, &old), 0);
	ck_assert_int_eq(sigaction(SIGUSR1, &sa, NULL), 0);
	child = launch(SERVE, background(starts[_i]));
	for (int i = 0; i < 1000 && usr1 == 0; i++) {
		const struct timespec ts = { .tv_nsec = 10 * 1000 * 1000 };

		ppoll(NULL, 0, &ts, &old);
	}
	ck_assert_int_eq(usr1, 1);
	pid = daemon_pid();
	ck_assert_int_eq(pid == child, strchr("bd", starts[_i][1]) == NULL);
	end_daemon(pid);
	ck_assert_int_eq(finish(child), 0);
	close(error_fd);
}

TEST(without_the_option_no_process_is_signalled)
{
	pid_t pid;

	ck_assert(signal(SIGUSR1, on_usr1) != SIG_ERR);
	ck_assert_int_eq(finish(launch(SERVE, background("-b"))), 0);
	pid = daemon_pid();
	/* Reserved: a running daemon is not impressed. */
	ck_assert_int_eq(kill(pid, SIGUSR1), 0);
	usleep(50 * 1000);
	ck_assert_int_eq(kill(pid, 0), 0);
	end_daemon(pid);
	ck_assert_int_eq(usr1, 0);
	close(error_fd);
}

TEST(systemd_hears_of_start_and_end)
{
	char want[64];
	int fd;
	pid_t pid;

	fd = scratch_notify_socket();
	ck_assert_int_eq(setenv("NOTIFY_SOCKET", scratch_path("n"), 1), 0);
	ck_assert_int_eq(finish(launch(SERVE, background("-d"))), 0);
	pid = daemon_pid();
	snprintf(want, sizeof(want), "READY=1\nMAINPID=%d\n", (int)pid);
	ck_assert_str_eq(scratch_receive(fd), want);
	end_daemon(pid);
	ck_assert_str_eq(scratch_receive(fd), "STOPPING=1\n");
	close(fd);
	close(error_fd);
}

TEST(the_descriptor_limit_is_raised)
{
	struct rlimit limit;
	pid_t pid;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = 64;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(finish(launch(SERVE, background("-b"))), 0);
	pid = daemon_pid();
	ck_assert_int_eq(prlimit(pid, RLIMIT_NOFILE, NULL, &limit), 0);
	ck_assert_uint_eq(limit.rlim_cur, limit.rlim_max);
	end_daemon(pid);
	close(error_fd);
}

/* Else the first sockets would be taken for standard output and error. */
TEST(closed_standard_streams_are_opened)
{
	pid_t pid;

	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	pid = launch(SERVE, background(""));
	for (int i = 0; i < 3000 && !scratch_exists("pid"); i++)
		usleep(10 * 1000);
	ck_assert_int_eq(daemon_pid(), pid);
	ck_assert_str_eq(proc_link(pid, "fd/0"), "/dev/null");
	ck_assert_str_eq(proc_link(pid, "fd/1"), "/dev/null");
	end_daemon(pid);
	ck_assert_int_eq(finish(pid), 0);
	close(error_fd);
}

TEST(the_health_path_is_our_own)
{
	char want[PATH_MAX];
	static char arg[] = "relayd";
	char *argv[] = { arg, NULL };

	ck_assert_int_eq(options_parse(&options, 1, argv), OK);
	ck_assert_int_eq(daemon_start(&the_daemon, &options), OK);
	snprintf(want, sizeof(want), "%s/relayd/health-%d",
	    getenv("LTTNG_RUNDIR"), (int)getpid());
	ck_assert_str_eq(the_daemon.health_path, want);
	ck_assert_int_eq(the_daemon.has_group, geteuid() == 0);
	ck_assert_int_eq(setenv("LTTNG_RELAYD_HEALTH", "/h", 1), 0);
	ck_assert_int_eq(options_parse(&options, 1, argv), OK);
	ck_assert_int_eq(daemon_start(&the_daemon, &options), OK);
	ck_assert_str_eq(the_daemon.health_path, "/h");
}
