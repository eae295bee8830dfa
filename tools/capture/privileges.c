/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/capture/privileges.h"

#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

/* How long that may take. */
#define DROP_MS 2000

/* CAP_NET_ADMIN: a larger buffer for packets (interface.h). CAP_DAC_OVERRIDE:
 * root may name files that belong to others, as with any other program, until
 * everything is open. */
static const cap_value_t wanted[] = { CAP_NET_RAW, CAP_NET_ADMIN,
	CAP_DAC_OVERRIDE };

static enum status
set_caps(cap_t caps)
{
	const int ret = cap_set_proc(caps);
	const int saved = errno;

	cap_free(caps);
	errno = saved;
	return ret == 0 ? OK : E_IO;
}

enum status
privileges_keep_capture(void)
{
	cap_t has = cap_get_proc(), keep = cap_init();
	cap_flag_value_t is_there;

	if (has == NULL || keep == NULL)
		return E_IO;
	for (unsigned i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		if (cap_get_flag(has, wanted[i], CAP_PERMITTED, &is_there) != 0)
			return E_IO;
		if (is_there != CAP_SET)
			continue;
		if (cap_set_flag(keep, CAP_PERMITTED, 1, &wanted[i], CAP_SET) !=
			0 ||
		    cap_set_flag(keep, CAP_EFFECTIVE, 1, &wanted[i], CAP_SET) !=
			0)
			return E_IO;
	}
	cap_free(has);
	return set_caps(keep);
}

/* In a handler of signals, so by system calls only. */
enum status
privileges_drop_own(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {
		{ 0 }
	};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		       syscall(SYS_capset, &head, none) == 0
		   ? OK
		   : E_IO;
}

static void
on_drop(int number)
{
	const int saved = errno;

	(void)number;
	(void)!privileges_drop_own();
	errno = saved;
}

/* Does a thread have capabilities? One that has ended has none. */
static bool
has_any(pid_t thread)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3, .pid = thread
	};
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3];

	return syscall(SYS_capget, &head, has) == 0 &&
	       (has[0].permitted | has[1].permitted) != 0;
}

/* Ask all threads that have any to drop them: E_LATER, until none has. */
static enum status
ask_threads(void)
{
	DIR *threads = opendir("/proc/self/task");
	enum status st = OK;
	struct dirent *e;

	if (threads == NULL)
		return E_IO;
	while ((e = readdir(threads)) != NULL) {
		const pid_t thread = (pid_t)atoi(e->d_name);

		if (thread <= 0 || !has_any(thread))
			continue;
		st = E_LATER;
		(void)syscall(SYS_tgkill, getpid(), thread, PRIVILEGES_SIGNAL);
	}
	closedir(threads);
	return st;
}

enum status
privileges_drop(void)
{
	const struct sigaction act = { .sa_handler = on_drop,
		.sa_flags = SA_RESTART };
	const struct timespec pause = { .tv_nsec = NS_PER_MS };
	enum status st = E_LATER;

	if (privileges_drop_own() != OK ||
	    sigaction(PRIVILEGES_SIGNAL, &act, NULL) != 0)
		return E_IO;
	for (int i = 0; i < DROP_MS && st == E_LATER; i++) {
		st = ask_threads();
		if (st == E_LATER)
			nanosleep(&pause, NULL);
	}
#ifdef HAVE_SANITIZERS /* ThreadSanitizer's own thread takes no signal */
	if (st == E_LATER)
		st = OK;
#endif
	if (st == E_LATER)
		errno = ETIMEDOUT;
	return st == OK ? OK : E_IO;
}
