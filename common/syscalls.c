/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/syscalls.h"

#include <errno.h>

#ifdef HAVE_SECCOMP
#include <asm/termbits.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

/* The action for calls that are not listed. With the macro, which is for
 * testing the list, the process ends. */
#ifdef SYSCALLS_STRICT
#define UNLISTED SCMP_ACT_KILL_PROCESS
#else
#define UNLISTED SCMP_ACT_ERRNO(ENOSYS)
#endif

enum permission { MAY, MAY_IF, MAY_NEVER };

static const struct row {
	const char *name;
	enum permission permission;
	unsigned arg;
	uint64_t mask, value;
} rows[] = {
#define CALL(name) { #name, MAY, 0, 0, 0 },
#define IF(name, n, mask, value) { #name, MAY_IF, n, mask, value },
#ifdef SYSCALLS_STRICT
#define NEVER(name)
#else
#define NEVER(name) { #name, MAY_NEVER, 0, 0, 0 },
#endif
#include "common/syscalls.tbl.h"
#undef CALL
#undef IF
#undef NEVER
};

static int
add(scmp_filter_ctx filter, const struct row *r)
{
	const int call = seccomp_syscall_resolve_name(r->name);

	/* Negative: unknown here. */
	if (call < 0)
		return 0;
	if (r->permission == MAY)
		return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0);
	if (r->permission == MAY_NEVER)
		return seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, call, 0);
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1,
	    SCMP_CMP(r->arg, SCMP_CMP_MASKED_EQ, r->mask, r->value));
}

static int
fill(scmp_filter_ctx filter)
{
	int err = 0;

#ifdef SYSCALLS_STRICT
	/* glibc tries it first for every thread. */
	err = seccomp_rule_add(
	    filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
#endif
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && err == 0; i++)
		err = add(filter, &rows[i]);
	/* Use a tree instead of a list, which helps on kernels before 5.11,
	 * without a cache of verdicts. libseccomp before 2.5 makes a list. */
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	(void)seccomp_attr_set(
	    filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	/* Kernels before 5.16 slow down a process with a filter, in case it
	 * runs untrusted code that it compiled; this one does not. */
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
	return err;
}

enum status
syscalls_confine(void)
{
	scmp_filter_ctx filter = seccomp_init(UNLISTED);
	int err;

	if (filter == NULL) {
		errno = ENOMEM;
		return E_NOMEM;
	}
	err = fill(filter);
	if (err == 0)
		err = seccomp_load(filter);
	seccomp_release(filter);
	if (err == 0)
		return OK;
	errno = -err;
	/* The kernel has no seccomp, or no filters. */
	return err == -EINVAL || err == -ENOSYS ? E_NOENT : E_IO;
}
#else
enum status
syscalls_confine(void)
{
	errno = ENOSYS;
	return E_NOENT;
}
#endif
