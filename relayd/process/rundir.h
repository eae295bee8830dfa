/* SPDX-License-Identifier: MIT */
/* The run directory and its folder relayd/ (streaming 6.5). Main thread. */
#ifndef RELAYD_PROCESS_RUNDIR_H
#define RELAYD_PROCESS_RUNDIR_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/compiler.h"
#include "common/log.h"
#include "common/status.h"

/*
 * Creates RUN_DIR and RUN_DIR/relayd if they are missing: with mode 0700, or,
 * as root, 0755 and GROUP. Existing ones are not changed, and are refused
 * (E_IO) if another user than root could put files there: one that is a link,
 * that belongs to somebody else, or that others may write to (the sticky bit
 * makes this harmless; so does a group that is our own). But RUN_DIR may be
 * writable for others, with a warning, if it belongs to the user of the
 * process. Then removes health sockets of daemons that are gone. Failures are
 * logged.
 */
enum status rundir_create(const char *run_dir, gid_t group) MUST_CHECK;

/* Could another user than root put files in the directory of the file PATH?
 * E_IO: yes, or it is not there, which is logged. */
enum status rundir_check_place(const char *path) MUST_CHECK;

/* The gid of the tracing group. An unknown group is logged at LEVEL; the gid is
 * root's then. */
gid_t rundir_group(const char *name, enum log_level level);

/*
 * A small file that exists while the daemon runs, with its pid or a port. It
 * appears whole, as it is written to PATH.tmp and then renamed. Its mode is
 * 0644 less the umask. It is removed at the end unless somebody replaced it.
 */
/* If all is zero, no file was written. */
struct runfile {
	char path[PATH_MAX];
	dev_t dev;
	ino_t ino;
};

/* Writes VALUE in decimal and a newline. An existing PATH is replaced if it is
 * a regular file. Failures are logged. */
enum status runfile_write(
    struct runfile *f, const char *path, uint64_t value) MUST_CHECK;
void runfile_remove(struct runfile *f);

/*
 * How many sessions are open, in the file "sessions" of the run directory, so
 * that the next process of the relay knows how many the end of this one cut,
 * whatever ended it. A tracer does not notice that its session was cut. Main
 * thread.
 */
struct open_sessions {
	int fd; /* locked; -1: not in use */
	char path[PATH_MAX];
	uint64_t written;
};

/*
 * Returns how many sessions the end of the process before cut. If the file
 * cannot be used, which is logged, or another relay has this run directory, it
 * returns 0, and the other functions do nothing.
 */
uint64_t open_sessions_take(struct open_sessions *s, const char *run_dir);
/* N are open now. Until the first call the file stays as it was. */
void open_sessions_set(struct open_sessions *s, uint64_t n);
/* The relay ends, and leaves N to the next one. With 0 the file is removed. */
void open_sessions_end(struct open_sessions *s, uint64_t n);

#endif
