/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/syscalls.h"

/* The kernel's interface, landlock(7). The headers of Debian 12 have the first
 * two versions only. The numbers are those of every architecture. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#define CREATE_VERSION 1u
#define RULE_PATH_BENEATH 1

struct ruleset {
	uint64_t fs, net, scoped;
};

struct path_rule {
	uint64_t allowed;
	int32_t dir_fd;
} __attribute__((packed));

#define FS_EXECUTE (UINT64_C(1) << 0)
#define FS_WRITE_FILE (UINT64_C(1) << 1)
#define FS_READ_FILE (UINT64_C(1) << 2)
#define FS_READ_DIR (UINT64_C(1) << 3)
#define FS_REMOVE_DIR (UINT64_C(1) << 4)
#define FS_REMOVE_FILE (UINT64_C(1) << 5)
#define FS_MAKE_DIR (UINT64_C(1) << 7)
#define FS_MAKE_REG (UINT64_C(1) << 8)
#define FS_REFER (UINT64_C(1) << 13)
#define FS_TRUNCATE (UINT64_C(1) << 14)
#define NET_BIND_TCP (UINT64_C(1) << 0)
#define NET_CONNECT_TCP (UINT64_C(1) << 1)
#define SCOPE_ABSTRACT_UNIX (UINT64_C(1) << 0)
#define SCOPE_SIGNAL (UINT64_C(1) << 1)

/* How many rights of files each version of the interface has: all of them are
 * taken, and only those that are named below given back. */
static uint64_t
rights_of(int abi)
{
	static const unsigned char n[] = { 0, 13, 14, 15, 15, 16 };
	const int last = (int)(sizeof(n) / sizeof(n[0])) - 1;

	return (UINT64_C(1) << n[abi < last ? abi : last]) - 1;
}

#define FS_READ (FS_READ_FILE | FS_READ_DIR)
#define FS_RECORD                                                            \
	(FS_READ | FS_WRITE_FILE | FS_TRUNCATE | FS_MAKE_REG | FS_MAKE_DIR | \
	    FS_REMOVE_FILE | FS_REMOVE_DIR | FS_REFER)

/* Files of the state directory, no directories. */
#define FS_NOTE \
	(FS_READ | FS_WRITE_FILE | FS_TRUNCATE | FS_MAKE_REG | FS_REMOVE_FILE)

struct domain {
	int fd;
	uint64_t handled; /* rights of files that the kernel knows */
	enum status st;
};

/* TAKE_FD may be negative: what is not there needs no rule. */
static void
allow(struct domain *d, int take_fd, uint64_t rights)
{
	const struct path_rule rule = {
		.allowed = rights & d->handled,
		.dir_fd = take_fd,
	};

	if (take_fd < 0)
		return;
	if (d->st == OK && syscall(SYS_landlock_add_rule, d->fd,
			       RULE_PATH_BENEATH, &rule, 0) != 0)
		d->st = E_IO;
	close(take_fd);
}

static void
allow_path(struct domain *d, const char *path, uint64_t rights)
{
	if (path != NULL)
		allow(d, open(path, O_PATH | O_CLOEXEC), rights);
}

/* The directory that PATH is in. */
static int
open_parent(const char *path)
{
	char copy[PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", path);
	return open(dirname(copy), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/*
 * When somebody removes the output directory, the next session makes it again
 * (doc/compat.md); but a rule is for the directory that is there now. So where
 * we could make it again, the rule is for its parent: not if that is the root
 * directory, if it is not ours to write to, or if the output directory is a
 * mount point or a link, which we cannot make. -1: no such parent.
 */
static int
open_writable_parent(const struct sandbox *s)
{
	struct stat parent, child, root;
	int fd = open_parent(s->output);

	if (fd < 0)
		return -1;
	if (fstat(fd, &parent) == 0 && lstat(s->output, &child) == 0 &&
	    stat("/", &root) == 0 && S_ISDIR(child.st_mode) &&
	    parent.st_dev == child.st_dev &&
	    (parent.st_dev != root.st_dev || parent.st_ino != root.st_ino) &&
	    faccessat(fd, ".", W_OK, AT_EACCESS) == 0)
		return fd;
	close(fd);
	return -1;
}

static void
allow_output(struct domain *d, const struct sandbox *s)
{
	int parent = -1;

	if (s->output == NULL)
		return;
	allow(d, openat(s->output_fd, ".", O_PATH | O_CLOEXEC), FS_RECORD);
	if (s->mode != SANDBOX_STRICT)
		parent = open_writable_parent(s);
	if (parent >= 0 && !s->is_quiet)
		log_info("sandbox: files beside %s stay accessible, so that "
			 "this directory can be created again (not with "
			 "--sandbox=strict)",
		    s->output);
	allow(d, parent, FS_RECORD);
}

/* PATH as it is now, and DIRECTORY_RIGHTS where somebody may put another file
 * in its place: not in the root directory, and not for devices. NULL or "": no
 * such file. */
static void
allow_replaced(struct domain *d, const char *path, uint64_t rights,
    uint64_t directory_rights)
{
	struct stat sb;

	if (path == NULL || *path == '\0')
		return;
	allow_path(d, path, rights);
	if (strrchr(path, '/') != path &&
	    (stat(path, &sb) != 0 || S_ISREG(sb.st_mode)))
		allow(d, open_parent(path), directory_rights);
}

static void
allow_reload(struct domain *d, const struct sandbox *s)
{
	allow_path(d, s->config_dir, FS_READ);
	allow_replaced(d, s->config, FS_READ_FILE, FS_READ_FILE);
	allow_replaced(
	    d, s->log_file, FS_WRITE_FILE, FS_WRITE_FILE | FS_MAKE_REG);
}

static void
allow_rest(struct domain *d, const struct sandbox *s)
{
	for (size_t i = 0; i < ARRAY_LEN(s->removes); i++)
		if (s->removes[i] != NULL && *s->removes[i] != '\0')
			allow(d, open_parent(s->removes[i]), FS_REMOVE_FILE);
	/* The log opens a terminal again for each line (common/log.c). */
	if (isatty(STDERR_FILENO))
		allow_path(d, "/proc/self/fd/2", FS_WRITE_FILE);
	/* liburcu and malloc ask for the number of processors. */
	allow_path(d, "/sys/devices/system/cpu", FS_READ);
	/* A journal says in which boot it was written (store/journal.h). */
	allow_path(d, "/proc/sys/kernel/random/boot_id", FS_READ_FILE);
#ifdef HAVE_SANITIZERS
	/* Reports: they read the program, and start one that names places. */
	allow_path(d, "/", FS_READ | FS_EXECUTE);
	allow_path(d, "/dev/null", FS_WRITE_FILE);
#endif
}

static struct ruleset
everything(const struct sandbox *s, int abi)
{
	const char *notify = secure_getenv("NOTIFY_SOCKET");
	struct ruleset all = { .fs = rights_of(abi) };

	if (abi >= 4)
		all.net = NET_BIND_TCP | NET_CONNECT_TCP;
	if (abi >= 6 && !s->signals_parent)
		all.scoped |= SCOPE_SIGNAL;
	if (abi >= 6 && (notify == NULL || *notify != '@'))
		all.scoped |= SCOPE_ABSTRACT_UNIX;
	return all;
}

/* Confine the calling thread, and those that it starts from now on. E_NOENT:
 * the kernel has no Landlock, or it is disabled or too old; E_IO: it failed.
 * Then errno is set. It requires PR_SET_NO_NEW_PRIVS. */
static enum status
landlock_confine(const struct sandbox *s)
{
	const long abi = syscall(
	    SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);
	struct ruleset all;
	struct domain d = { .st = OK };

	if (abi >= 0 && abi < LANDLOCK_ABI_MIN)
		errno = ENOSYS;
	if (abi < LANDLOCK_ABI_MIN)
		return E_NOENT;
	all = everything(s, (int)abi);
	/* An older kernel refuses bytes after those that it knows unless they
	 * are 0. */
	d.fd = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
	if (d.fd < 0)
		return E_IO;
	d.handled = all.fs;
	allow_output(&d, s);
	allow_path(&d, s->state_dir, FS_NOTE);
	allow_reload(&d, s);
	allow_rest(&d, s);
	if (d.st == OK && syscall(SYS_landlock_restrict_self, d.fd, 0) != 0)
		d.st = E_IO;
	close(d.fd);
	return d.st;
}

static void
report(const struct sandbox *s, enum status st, const char *what,
    const char *consequence)
{
	if (s->is_quiet)
		return;
	if (st == OK)
		log_info("sandbox: %s is on", what);
	else if (st == E_NOENT)
		log_errno(LOG_WARN, "sandbox: this kernel has no usable %s: %s",
		    what, consequence);
	else
		log_errno(LOG_WARN, "sandbox: %s failed", what);
}

/* valgrind translates the program while it runs, so it makes other system calls
 * and executable memory. It preloads a library. */
static bool
is_in_valgrind(void)
{
	const char *preload = secure_getenv("LD_PRELOAD");

	return preload != NULL && strstr(preload, "vgpreload_") != NULL;
}

static void
enter_seccomp(const struct sandbox *s)
{
	const char *off = NULL;

#ifndef HAVE_SECCOMP
	off = "seccomp is off: this build does not include it";
#endif
	if (off == NULL && is_in_valgrind())
		off = "seccomp is off under valgrind";
	if (off == NULL)
		report(s, syscalls_confine(), "seccomp",
		    "any system call can be made");
	else if (!s->is_quiet)
		log_info("sandbox: %s", off);
}

void
sandbox_enter(const struct sandbox *s)
{
	if (s->mode == SANDBOX_OFF)
		return;
	/* Read the file of the time zone now: later it is not accessible. */
	tzset();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
		log_errno(
		    LOG_WARN, "sandbox: off, cannot set PR_SET_NO_NEW_PRIVS");
		return;
	}
	/* In this order: the filter does not allow the calls of Landlock. */
	if (s->mode != SANDBOX_SECCOMP)
		report(s, landlock_confine(s), "Landlock",
		    "files outside of the output directory can be reached");
	if (s->mode != SANDBOX_LANDLOCK)
		enter_seccomp(s);
}

const char *
sandbox_built_in(void)
{
#if defined(HAVE_SECCOMP)
	return "Landlock and seccomp";
#elif defined(HAVE_SANITIZERS)
	return "Landlock (no seccomp: built with sanitizers)";
#else
	return "Landlock (built without seccomp)";
#endif
}
