/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "relayd/process/sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "common/log.h"
#include "relayd/process/landlock.h"
#include "relayd/process/syscalls.h"

static void
enter_landlock(const struct sandbox *s)
{
	const enum status st = landlock_confine(s);

	if (s->is_quiet)
		return;
	if (st == OK)
		log_info("sandbox: Landlock is on");
	else if (st == E_NOENT)
		log_errno(LOG_WARN,
		    "sandbox: this kernel has no Landlock that we can use "
		    "(version %d): files outside of the output directory can "
		    "be reached",
		    LANDLOCK_ABI_MIN);
	else
		log_errno(LOG_WARN, "sandbox: Landlock failed");
}

/* valgrind translates the program as it runs, so it makes system calls of its
 * own, and memory that is executed. It preloads a library. */
static bool
is_in_valgrind(void)
{
	const char *preload = secure_getenv("LD_PRELOAD");

	return preload != NULL && strstr(preload, "vgpreload_") != NULL;
}

static void
enter_seccomp(const struct sandbox *s)
{
	enum status st;

#ifndef HAVE_SECCOMP
	if (!s->is_quiet)
		log_info("sandbox: this build has no seccomp");
	return;
#endif
	if (is_in_valgrind()) {
		if (!s->is_quiet)
			log_info("sandbox: no seccomp in valgrind");
		return;
	}
	st = syscalls_confine();
	if (s->is_quiet)
		return;
	if (st == OK)
		log_info("sandbox: seccomp is on");
	else if (st == E_NOENT)
		log_errno(LOG_WARN, "sandbox: this kernel has no filters of "
				    "seccomp: any system "
				    "call can be made");
	else
		log_errno(LOG_WARN, "sandbox: seccomp failed");
}

void
sandbox_enter(const struct sandbox *s)
{
	if (s->parts == 0)
		return;
	/* The time zone's file is read now: later it cannot be. */
	tzset();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
		log_errno(LOG_WARN, "sandbox: PR_SET_NO_NEW_PRIVS");
		return;
	}
	/* This order: the filter does not know the calls of Landlock. */
	if ((s->parts & SANDBOX_LANDLOCK) != 0)
		enter_landlock(s);
	if ((s->parts & SANDBOX_SECCOMP) != 0)
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
