/* SPDX-License-Identifier: MIT */
/*
 * What the process gives up after its start: Landlock leaves it the files below
 * the output directory, seccomp the system calls that it makes
 * (syscalls.tbl.h). doc/security.md says what that protects, and what not.
 */
#ifndef RELAYD_PROCESS_SANDBOX_H
#define RELAYD_PROCESS_SANDBOX_H

#include <stdbool.h>

/* Parts of it, as struct options has them. */
enum sandbox_part {
	SANDBOX_LANDLOCK = 1,
	SANDBOX_SECCOMP = 2,
	/* Landlock for the output directory that is there now, even if it could
	 * be made again in the same place. */
	SANDBOX_STRICT = 4,
};

/* Below this version of the interface, no file may be renamed into another
 * directory, which rotations do. */
#define LANDLOCK_ABI_MIN 2

#define SANDBOX_REMOVES_MAX 5

struct sandbox {
	unsigned parts;
	const char *output; /* absolute */
	const char *state_dir;
	int output_fd; /* borrowed */
	/* Files that are removed at the end; NULL or "": none. */
	const char *removes[SANDBOX_REMOVES_MAX];
	/* What a reload reads: a directory, and files that may be replaced. */
	const char *config_dir, *config;
	const char *log_file; /* opened again, or made anew */
	bool signals_parent;  /* SIGUSR1 is still to be sent */
	bool is_quiet;	      /* another thread tells what is lacking */
};

/*
 * For the calling thread and all that it starts, for ever. Call it when all
 * files outside of the output directory are open, and before there are threads
 * that do not call it. What the kernel, or this build, lacks is told by one
 * line, and left out: a relay that records is worth more than one that does not
 * start.
 */
void sandbox_enter(const struct sandbox *s);

/* What this build has, for --help: "Landlock and seccomp". */
const char *sandbox_built_in(void);

#endif
