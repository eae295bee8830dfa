/* SPDX-License-Identifier: MIT */
/* runfile, rundir and notify: what other programs see of the daemon. */
#include "config.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "relayd/process/machine.h"
#include "relayd/process/systemd.h"
#include "relayd/process/rundir.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"

static struct runfile file;

static unsigned
mode_of(const char *name)
{
	struct stat st;

	ck_assert_int_eq(stat(scratch_path(name), &st), 0);
	return st.st_mode & 07777;
}

/* proc/self/cgroup, and a limit in that group and the one above it. */
static uint64_t
memory_with(const char *cgroup, const char *folder, const char *limit,
    const char *above, const char *own)
{
	char command[512], name[512];
	uint64_t memory;

	scratch_open();
	snprintf(command, sizeof(command),
	    "mkdir -p '%s/proc/self' '%s/sys/fs/cgroup%s/a/b'",
	    scratch_path(""), scratch_path(""), folder);
	ck_assert_int_eq(system(command), 0);
	scratch_write("proc/self/cgroup", cgroup);
	snprintf(name, sizeof(name), "sys/fs/cgroup%s/a/%s", folder, limit);
	scratch_write(name, above);
	snprintf(name, sizeof(name), "sys/fs/cgroup%s/a/b/%s", folder, limit);
	scratch_write(name, own);
	memory = machine_memory(scratch_path(""));
	scratch_close();
	return memory;
}

/* 0: that of the machine. */
static const struct {
	const char *cgroup, *folder, *file, *above, *own;
	uint64_t memory;
} groups[] = {
	{ "0::/a/b\n", "", "memory.max", "max\n", "1048576\n", 1048576 },
	{ "0::/a/b\n", "", "memory.max", "524288\n", "max\n", 524288 },
	{ "1:cpu:/a\n9:memory:/a/b\n", "/memory", "memory.limit_in_bytes",
	    "9999999999999999\n", "4096\n", 4096 },
	{ "0::/a/b\n", "", "memory.max", "max\n", "max\n", 0 },
	{ "what\n", "", "memory.max", "1\n", "1\n", 0 },
};

EACH_TEST(NULL, scratch_close)

TEST_ROWS(memory_is_that_of_the_control_group, ARRAY_LEN(groups))
{
	const uint64_t all = machine_memory("/nowhere");

	ck_assert_uint_gt(all, 1 << 20);
	ck_assert_uint_eq(
	    memory_with(groups[_i].cgroup, groups[_i].folder, groups[_i].file,
		groups[_i].above, groups[_i].own),
	    groups[_i].memory != 0 ? groups[_i].memory : all);
}

TEST(a_file_appears_whole_and_goes)
{
	scratch_open();
	umask(0);
	ck_assert_int_eq(
	    runfile_write(&file, scratch_path("f"), UINT64_MAX), OK);
	ck_assert_str_eq(scratch_read("f"), "18446744073709551615\n");
	ck_assert(!scratch_exists("f.tmp"));
	ck_assert_uint_eq(mode_of("f"), 0644);
	ck_assert_int_eq(runfile_write(&file, scratch_path("f"), 7), OK);
	ck_assert_str_eq(scratch_read("f"), "7\n");
	runfile_remove(&file);
	ck_assert(!scratch_exists("f"));
	runfile_remove(&file);
}

TEST(the_umask_counts)
{
	scratch_open();
	umask(077);
	ck_assert_int_eq(runfile_write(&file, scratch_path("f"), 1), OK);
	ck_assert_uint_eq(mode_of("f"), 0600);
}

TEST(a_file_of_a_successor_stays)
{
	struct runfile second;

	scratch_open();
	ck_assert_int_eq(runfile_write(&file, scratch_path("f"), 1), OK);
	ck_assert_int_eq(runfile_write(&second, scratch_path("f"), 2), OK);
	runfile_remove(&file);
	ck_assert_str_eq(scratch_read("f"), "2\n");
	runfile_remove(&second);
	ck_assert(!scratch_exists("f"));
}

TEST(a_planted_link_is_not_written_through)
{
	scratch_open();
	scratch_write("victim", "precious");
	ck_assert_int_eq(
	    symlink(scratch_path("victim"), scratch_path("f.tmp")), 0);
	ck_assert_int_eq(runfile_write(&file, scratch_path("f"), 1), OK);
	ck_assert_str_eq(scratch_read("victim"), "precious");
	ck_assert_str_eq(scratch_read("f"), "1\n");
}

TEST(only_files_are_replaced)
{
	scratch_open();
	ck_assert_int_eq(runfile_write(&file, "/dev/null", 1), E_EXISTS);
	ck_assert_int_eq(mkdir(scratch_path("d"), 0700), 0);
	ck_assert_int_eq(runfile_write(&file, scratch_path("d"), 1), E_EXISTS);
	ck_assert_int_eq(runfile_write(&file, scratch_path("x/f"), 1), E_IO);
	runfile_remove(&file);
	ck_assert(scratch_exists("d"));
}

TEST(root_shares_the_run_directory_with_the_group)
{
	struct stat st;

	if (geteuid() != 0)
		return;
	scratch_open();
	umask(077);
	ck_assert_int_eq(rundir_create(scratch_path("r"), 65534), OK);
	ck_assert_uint_eq(mode_of("r"), 0755);
	ck_assert_uint_eq(mode_of("r/relayd"), 0755);
	ck_assert_int_eq(stat(scratch_path("r/relayd"), &st), 0);
	ck_assert_uint_eq(st.st_gid, 65534);
	/* What exists is somebody's choice. */
	ck_assert_int_eq(chmod(scratch_path("r/relayd"), 0700), 0);
	ck_assert_int_eq(rundir_create(scratch_path("r"), 0), OK);
	ck_assert_uint_eq(mode_of("r/relayd"), 0700);
}

TEST(a_user_keeps_the_run_directory)
{
	scratch_open();
	umask(0);
	ck_assert_int_eq(chmod(scratch_path(""), 0777), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(65534), 0);
	ck_assert_int_eq(rundir_create(scratch_path("r"), 0), OK);
	ck_assert_uint_eq(mode_of("r"), 0700);
	ck_assert_uint_eq(mode_of("r/relayd"), 0700);
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
}

static void
a_link(const char *path)
{
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(symlink(scratch_path("elsewhere"), path), 0);
}

static void
owned_by_another(const char *path)
{
	if (geteuid() == 0)
		ck_assert_int_eq(chown(path, 65534, 0), 0);
	else
		a_link(path); /* only root can give it away */
}

static void
writable_by_all(const char *path)
{
	ck_assert_int_eq(chmod(path, 0777), 0);
}

static void
writable_by_a_group(const char *path)
{
	if (geteuid() == 0)
		ck_assert_int_eq(chown(path, 0, 65534), 0);
	ck_assert_int_eq(chmod(path, geteuid() == 0 ? 0770 : 0777), 0);
}

static const struct {
	const char *which;
	void (*spoil)(const char *path);
} spoilt[] = {
	{ "r", owned_by_another },
	{ "r", a_link },
	{ "r/relayd", owned_by_another },
	{ "r/relayd", writable_by_all },
	{ "r/relayd", writable_by_a_group },
	{ "r/relayd", a_link },
};

TEST_ROWS(a_run_directory_that_others_can_change_is_refused, ARRAY_LEN(spoilt))
{
	scratch_open();
	ck_assert_int_eq(mkdir(scratch_path("elsewhere"), 0700), 0);
	ck_assert_int_eq(mkdir(scratch_path("r"), 0700), 0);
	if (strcmp(spoilt[_i].which, "r") != 0)
		ck_assert_int_eq(
		    mkdir(scratch_path(spoilt[_i].which), 0700), 0);
	spoilt[_i].spoil(scratch_path(spoilt[_i].which));
	ck_assert_int_eq(rundir_create(scratch_path("r"), 0), E_IO);
	ck_assert(!scratch_exists("elsewhere/relayd"));
}

/* As the test environment of lttng-tools 2.16 makes it. */
static const mode_t open_modes[] = { 0707, 0777, 0770, 01777 };

TEST_ROWS(a_run_directory_of_ours_may_be_open_to_others, ARRAY_LEN(open_modes))
{
	scratch_open();
	ck_assert_int_eq(mkdir(scratch_path("r"), 0700), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(chown(scratch_path("r"), 0, 65534), 0);
	ck_assert_int_eq(chmod(scratch_path("r"), open_modes[_i]), 0);
	ck_assert_int_eq(rundir_create(scratch_path("r"), 0), OK);
	ck_assert_int_eq(rundir_create(scratch_path("r"), 0), OK);
}

TEST(a_run_directory_that_cannot_be_is_an_error)
{
	scratch_open();
	ck_assert_int_eq(rundir_create(scratch_path("a/b/c"), 0), E_IO);
	scratch_write("file", "");
	ck_assert_int_eq(rundir_create(scratch_path("file"), 0), E_IO);
}

/* A socket file; bound, and listening if asked. */
static int
make_socket(const char *name, bool listens)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	snprintf(
	    addr.sun_path, sizeof(addr.sun_path), "%s", scratch_path(name));
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	if (listens)
		ck_assert_int_eq(listen(fd, 1), 0);
	return fd;
}

/* Connects until no further client can wait there. */
static void
fill_backlog(const char *name)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	snprintf(
	    addr.sun_path, sizeof(addr.sun_path), "%s", scratch_path(name));
	do
		fd = socket(
		    AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	while (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0);
	ck_assert_int_eq(errno, EAGAIN);
}

/* The pid of a process that has been and is no more. */
static pid_t
dead_pid(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	return pid;
}

TEST(only_sockets_of_the_dead_are_removed)
{
	char dead[64], listening[64], alive[64], plain[64];
	int fd;

	scratch_open();
	ck_assert_int_eq(rundir_create(scratch_path("r"), 0), OK);
	snprintf(dead, sizeof(dead), "r/relayd/health-%d", (int)dead_pid());
	close(make_socket(dead, false));
	/* As seen from another pid namespace: the pid says nothing. */
	snprintf(listening, sizeof(listening), "r/relayd/health-%d",
	    (int)dead_pid());
	fd = make_socket(listening, true);
	fill_backlog(listening);
	/* Just starting: bound, not listening yet. */
	snprintf(alive, sizeof(alive), "r/relayd/health-%d", (int)getpid());
	close(make_socket(alive, false));
	snprintf(plain, sizeof(plain), "r/relayd/health-%d", (int)dead_pid());
	scratch_write(plain, "no socket");
	close(make_socket("r/relayd/health-", false));
	close(make_socket("r/relayd/health-1x", false));
	close(make_socket("r/relayd/other-1", false));

	ck_assert_int_eq(rundir_create(scratch_path("r"), 0), OK);
	ck_assert(!scratch_exists(dead));
	ck_assert(scratch_exists(listening));
	ck_assert(scratch_exists(alive));
	ck_assert(scratch_exists(plain));
	ck_assert(scratch_exists("r/relayd/health-"));
	ck_assert(scratch_exists("r/relayd/health-1x"));
	ck_assert(scratch_exists("r/relayd/other-1"));
	close(fd);
}

TEST(an_unknown_group_is_that_of_root)
{
	const struct group *g;

	ck_assert_uint_eq(rundir_group("no such group", LOG_WARN), 0);
	g = getgrgid(65534);
	if (g != NULL)
		ck_assert_uint_eq(rundir_group(g->gr_name, LOG_WARN), 65534);
}

TEST(a_notification_arrives_at_a_path)
{
	int fd;

	scratch_open();
	fd = scratch_notify_socket();
	ck_assert_int_eq(setenv("NOTIFY_SOCKET", scratch_path("n"), 1), 0);
	ck_assert(systemd_notify("READY=1"));
	ck_assert_str_eq(scratch_receive(fd), "READY=1");
	close(fd);
}

TEST(a_notification_arrives_at_an_abstract_name)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int n = snprintf(
	    addr.sun_path, sizeof(addr.sun_path), "@check-%d", (int)getpid());
	char name[64];

	ck_assert_int_ge(fd, 0);
	memcpy(name, addr.sun_path, (size_t)n + 1);
	addr.sun_path[0] = '\0';
	ck_assert_int_eq(
	    bind(fd, (struct sockaddr *)&addr,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) +
			    (size_t)n)),
	    0);
	ck_assert_int_eq(setenv("NOTIFY_SOCKET", name, 1), 0);
	ck_assert(systemd_notify("STOPPING=1\n"));
	ck_assert_str_eq(scratch_receive(fd), "STOPPING=1\n");
	close(fd);
}

static const struct {
	const char *address;
	bool want;
} addresses[] = {
	{ NULL, true },
	{ "", true },
	{ "/", false },
	{ "@", false },
	{ "relative", false },
	{ "vsock:2:1234", false },
	{ "/nonexistent/notify", false },
	{ "@nobody-listens-to-this", false },
	{ "/23456789012345678901234567890123456789012345678901234567890"
	  "123456789012345678901234567890123456789012345678",
	    false },
};

TEST_ROWS(other_addresses_are_survived, ARRAY_LEN(addresses))
{
	if (addresses[_i].address != NULL)
		ck_assert_int_eq(
		    setenv("NOTIFY_SOCKET", addresses[_i].address, 1), 0);
	ck_assert_int_eq(systemd_notify("READY=1"), addresses[_i].want);
}
