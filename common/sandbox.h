/* SPDX-License-Identifier: MIT */
/*
 * The restrictions of the process after its start: Landlock allows only files
 * below the output directory, seccomp only the system calls in use
 * (syscalls.tbl.h). doc/security.md says what that protects.
 */
#ifndef COMMON_SANDBOX_H
#define COMMON_SANDBOX_H

#include <stdbool.h>

/* --sandbox, in the order of its words. */
enum sandbox_mode {
	SANDBOX_ON,
	/* Allow only the current output directory, not one created again at the
	 * same path. */
	SANDBOX_STRICT,
	SANDBOX_LANDLOCK, /* one of the two only */
	SANDBOX_SECCOMP,
	SANDBOX_OFF,
};

/* Older versions of the interface do not allow renames into another directory,
 * which rotations require. */
#define LANDLOCK_ABI_MIN 2

struct sandbox {
	enum sandbox_mode mode;
	/* Absolute; NULL: no such directory. */
	const char *output, *state_dir;
	int output_fd; /* borrowed */
	/* Files to remove at the end; NULL or "": none. */
	const char *removes[7];
	/* Read by a reload: a directory, and a file that may be replaced. */
	const char *config_dir, *config;
	const char *log_file; /* opened or created again by a reload */
	bool signals_parent;  /* SIGUSR1 will be sent */
	bool is_quiet;	      /* another thread logs what is missing */
};

/*
 * Restrict the calling thread and all threads that it starts, forever. Call it
 * after all files outside of the output directory are open, and before starting
 * threads that do not call it. What the kernel or this build does not support
 * is logged in one line and skipped: a relay that records is better than one
 * that does not start.
 */
void sandbox_enter(const struct sandbox *s);

/* What this build supports, for --help: "Landlock and seccomp". */
const char *sandbox_built_in(void);

#endif
