/* SPDX-License-Identifier: MIT */
/*
 * What the process can do in its sandbox, and what it cannot, whoever runs code
 * in it: each attempt is made by a process that has entered it.
 */
#include "config.h"

#include "common/sandbox.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/compiler.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"

#define KILLED 1000 /* by SIGSYS */
#ifdef HAVE_SANITIZERS
#define READS 0 /* reports read files */
#else
#define READS EACCES
#endif

/* What fails ends an attempt; its errno is the outcome. */
#define TRY(call)                  \
	do {                       \
		if ((call) < 0)    \
			return -1; \
	} while (0)

static int
make_file(const char *name)
{
	int fd = open(scratch_path(name),
	    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0660);

	return fd;
}

static int
record(void)
{
	char byte = 1;
	int fd, dir;

	TRY(mkdir(scratch_path("out/a"), 0770));
	TRY(mkdir(scratch_path("out/b"), 0770));
	TRY(dir = open(scratch_path("out"), O_RDONLY | O_DIRECTORY));
	TRY(flock(dir, LOCK_EX | LOCK_NB));
	TRY(fd = make_file("out/a/f"));
	TRY(pwrite(fd, &byte, 1, 0));
	TRY(fallocate(fd, 0, 0, 4096));
	TRY(ftruncate(fd, 1));
	TRY(fdatasync(fd));
	TRY(pread(fd, &byte, 1, 0));
	TRY(rename(scratch_path("out/a/f"), scratch_path("out/b/g")));
	TRY(renameat2(dir, "b", dir, "c", RENAME_NOREPLACE));
	TRY(renameat(dir, "c", dir, "a/c"));
	TRY(link(scratch_path("out/a/c/g"), scratch_path("out/a/h")));
	TRY(open(scratch_path("out/a/h"), O_RDWR | O_TRUNC));
	TRY(unlink(scratch_path("out/a/h")));
	TRY(unlink(scratch_path("out/a/c/g")));
	TRY(rmdir(scratch_path("out/a/c")));
	TRY(open(scratch_path("out/a"), O_TMPFILE | O_RDWR, 0660));
	return 0;
}

static int
map_file(void)
{
	const size_t size = 4096;
	void *p;
	int fd;

	TRY(fd = make_file("out/journal"));
	TRY(ftruncate(fd, (off_t)size));
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -1;
	memset(p, 1, size);
	return msync(p, size, MS_SYNC);
}

static void *
nothing(void *arg)
{
	/* A thread has the same rights. */
	if (open("/etc/passwd", O_WRONLY) >= 0 || errno != EACCES)
		_exit(EXIT_FAILURE);
	return arg;
}

static int
start_thread(void)
{
	pthread_t t;

	errno = pthread_create(&t, NULL, nothing, NULL);
	return errno == 0 && pthread_join(t, NULL) == 0 ? 0 : -1;
}

static int
tell_systemd(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd;

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", scratch_path("n"));
	TRY(fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	return (int)sendto(
	    fd, "READY=1", 7, MSG_NOSIGNAL, (struct sockaddr *)&to, sizeof(to));
}

static int
remove_pid_file(void)
{
	return unlink(scratch_path("run/pid"));
}

static int
tell_parent(void)
{
	return kill(getppid(), SIGUSR1);
}

static int
write_passwd(void)
{
	return open("/etc/passwd", O_WRONLY | O_APPEND);
}

static int
read_passwd(void)
{
	return open("/etc/passwd", O_RDONLY);
}

static int
write_above(void)
{
	return make_file("../tracepulse-sandbox");
}

static int
write_beside(void)
{
	return make_file("beside");
}

static int
write_run_dir(void)
{
	return make_file("run/other");
}

static int
write_run_file(void)
{
	return open(scratch_path("run/pid"), O_WRONLY);
}

static int
replace_output(void)
{
	TRY(rmdir(scratch_path("out")));
	TRY(mkdir(scratch_path("out"), 0770));
	return make_file("out/f");
}

static int
move_out(void)
{
	TRY(make_file("out/mine"));
	return rename(scratch_path("out/mine"), scratch_path("run/pid"));
}

static int
make_link(void)
{
	return symlink("/etc", scratch_path("out/link"));
}

static int
make_device(void)
{
	return mknod(scratch_path("out/device"), S_IFIFO | 0600, 0);
}

static int
connect_tcp(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	int fd;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	TRY(fd = socket(AF_INET, SOCK_STREAM, 0));
	return connect(fd, (struct sockaddr *)&to, sizeof(to));
}

#ifdef HAVE_SECCOMP
static int
run_program(void)
{
	return execl("/bin/true", "true", NULL);
}

static int
start_process(void)
{
	const pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid;
}

static int
trace_parent(void)
{
	return (int)ptrace(PTRACE_SEIZE, getppid(), NULL, NULL);
}

static int
make_executable(void)
{
	return mmap(NULL, 4096, PROT_WRITE | PROT_EXEC,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
		   ? -1
		   : 0;
}

static int
turn_executable(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mprotect(p, 4096, PROT_READ | PROT_EXEC);
}

static int
make_packet_socket(void)
{
	return socket(AF_PACKET, SOCK_RAW, 0);
}

static int
make_netlink_socket(void)
{
	return socket(AF_NETLINK, SOCK_RAW, 0);
}

static int
type_into_terminal(void)
{
	return ioctl(STDIN_FILENO, TIOCSTI, "x");
}

static int
leave_name_space(void)
{
	return unshare(CLONE_NEWUSER);
}

static int
use_io_uring(void)
{
	char params[256] = { 0 };

	return (int)syscall(SYS_io_uring_setup, 1, params);
}

static int
kill_parent(void)
{
	return kill(getppid(), SIGKILL);
}

static int
change_mode(void)
{
	return chmod(scratch_path("out"), 0777);
}
#endif

static const struct {
	int (*attempt)(void);
	enum sandbox_mode mode;
	int want; /* 0, an errno, or KILLED */
} attempts[] = {
	{ record, SANDBOX_ON, 0 },
	{ record, SANDBOX_STRICT, 0 },
	{ map_file, SANDBOX_STRICT, 0 },
	{ start_thread, SANDBOX_STRICT, 0 },
	{ tell_systemd, SANDBOX_STRICT, 0 },
	{ remove_pid_file, SANDBOX_STRICT, 0 },
	{ tell_parent, SANDBOX_STRICT, 0 },
	{ replace_output, SANDBOX_ON, 0 },
	{ replace_output, SANDBOX_STRICT, EACCES },
	{ write_passwd, SANDBOX_ON, EACCES },
	{ write_passwd, SANDBOX_STRICT, EACCES },
	{ write_passwd, SANDBOX_LANDLOCK, EACCES },
	{ write_passwd, SANDBOX_SECCOMP, 0 },
	{ write_passwd, SANDBOX_OFF, 0 },
	{ read_passwd, SANDBOX_ON, READS },
	{ write_above, SANDBOX_ON, EACCES },
	{ write_above, SANDBOX_OFF, 0 },
	{ write_beside, SANDBOX_ON, 0 }, /* as it may be made again */
	{ write_beside, SANDBOX_STRICT, EACCES },
	{ write_run_dir, SANDBOX_STRICT, EACCES },
	{ write_run_file, SANDBOX_STRICT, EACCES },
	{ move_out, SANDBOX_STRICT, EACCES },
	{ make_link, SANDBOX_LANDLOCK, EACCES },
	{ make_device, SANDBOX_LANDLOCK, EACCES },
#ifdef HAVE_SECCOMP
	{ connect_tcp, SANDBOX_ON, ENOSYS },
	{ run_program, SANDBOX_ON, KILLED },
	{ run_program, SANDBOX_SECCOMP, KILLED },
	{ run_program, SANDBOX_LANDLOCK, EACCES },
	{ start_process, SANDBOX_ON, ENOSYS },
	{ start_process, SANDBOX_OFF, 0 },
	{ trace_parent, SANDBOX_ON, KILLED },
	{ make_executable, SANDBOX_ON, ENOSYS },
	{ make_executable, SANDBOX_LANDLOCK, 0 },
	{ turn_executable, SANDBOX_ON, ENOSYS },
	{ make_packet_socket, SANDBOX_ON, ENOSYS },
	{ make_netlink_socket, SANDBOX_ON, ENOSYS },
	{ type_into_terminal, SANDBOX_ON, ENOSYS },
	{ leave_name_space, SANDBOX_ON, KILLED },
	{ use_io_uring, SANDBOX_ON, KILLED },
	{ kill_parent, SANDBOX_ON, ENOSYS },
	{ change_mode, SANDBOX_ON, ENOSYS },
#else
	{ connect_tcp, SANDBOX_ON, EACCES },
#endif
};

static void
enter(enum sandbox_mode mode)
{
	char output[4096], pid_file[4096];
	const struct sandbox s = {
		.mode = mode,
		.output = output,
		.output_fd = open(scratch_path("out"), O_RDONLY | O_DIRECTORY),
		.state_dir = "", /* there is no place for one */
		.removes = { pid_file },
		.signals_parent = true,
	};

	snprintf(output, sizeof(output), "%s", scratch_path("out"));
	snprintf(pid_file, sizeof(pid_file), "%s", scratch_path("run/pid"));
	sandbox_enter(&s);
}

static void
open_place(void)
{
	scratch_open();
	ck_assert_int_eq(mkdir(scratch_path("out"), 0770), 0);
	ck_assert_int_eq(mkdir(scratch_path("run"), 0770), 0);
	scratch_write("run/pid", "1\n");
	(void)unlink(scratch_path("../tracepulse-sandbox"));
	(void)signal(SIGUSR1, SIG_IGN);
}

TEST_ROWS(only_what_serving_needs_can_be_done, ARRAY_LEN(attempts))
{
	int status, got, fd;
	pid_t pid;

	open_place();
	fd = scratch_notify_socket();
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		enter(attempts[_i].mode);
		_exit(attempts[_i].attempt() >= 0 ? 0 : errno);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		got = WTERMSIG(status) == SIGSYS ? KILLED : -WTERMSIG(status);
	else
		got = WEXITSTATUS(status);
	ck_assert_msg(got == attempts[_i].want,
	    "attempt %d: got %d (%s), not %d", _i, got,
	    got == KILLED ? "killed" : strerror(got), attempts[_i].want);
	close(fd);
	(void)unlink(scratch_path("../tracepulse-sandbox"));
	scratch_close();
}

/* The output directory is a link, which could not be made again. */
TEST(what_is_beside_a_link_is_closed)
{
	int status;
	pid_t pid;

	open_place();
	scratch_remove("out");
	ck_assert_int_eq(mkdir(scratch_path("run/real"), 0770), 0);
	ck_assert_int_eq(symlink("run/real", scratch_path("out")), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		enter(SANDBOX_ON);
		MUST(write_beside() < 0 && errno == EACCES);
		MUST(write_run_dir() < 0 && errno == EACCES);
		_exit(record() >= 0 ? 0 : errno);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	scratch_close();
}

int
main(void)
{
	/* LANDLOCK_CREATE_RULESET_VERSION */
	if (syscall(444, NULL, 0, 1) < LANDLOCK_ABI_MIN) {
		puts("SKIP: this kernel has no Landlock");
		return 77;
	}
#ifndef HAVE_SECCOMP
	puts("Without system calls: this build has no seccomp.");
#endif
	return unit_run();
}
