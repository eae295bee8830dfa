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
 * Create RUN_DIR and RUN_DIR/relayd if they are missing: with mode 0700, or, as
 * root, 0755 and GROUP. Existing ones are not changed, and are refused (E_IO)
 * if a user other than root could create files in them: if one is a link,
 * belongs to another user, or is writable for others (unless the sticky bit is
 * set or the group is our own). RUN_DIR may be writable for others, with a
 * warning, if it belongs to the user of the process. Then remove health sockets
 * of daemons that ended. Failures are logged.
 */
enum status rundir_create(const char *run_dir, gid_t group) MUST_CHECK;

/* The path of NAME in RUN_DIR/relayd; NAME "": of that directory. RUN_DIR is
 * short enough (options.h). */
void rundir_path(char out[PATH_MAX], const char *run_dir, const char *name);

/* Could a user other than root create files in the directory of the file PATH?
 * E_IO: yes, or it does not exist; logged. */
enum status rundir_check_place(const char *path) MUST_CHECK;

/* The gid of the tracing group. An unknown group is logged at LEVEL, and the
 * gid of root is returned. */
gid_t rundir_group(const char *name, enum log_level level);

/*
 * A small file that exists while the daemon runs, with its pid or a port. It
 * appears complete, as it is written to PATH.tmp and renamed. Its mode is 0644
 * minus the umask. It is removed at the end unless it was replaced.
 */
/* All zeros: no file was written. */
struct runfile {
	char path[PATH_MAX];
	dev_t dev;
	ino_t ino;
};

/* Write VALUE in decimal and a newline. An existing PATH is replaced if it is a
 * regular file. Failures are logged. */
enum status runfile_write(
    struct runfile *f, const char *path, uint64_t value) MUST_CHECK;
void runfile_remove(struct runfile *f);

/*
 * The number of open sessions, in the file "sessions" of the run directory, so
 * that the next process of the relay knows how many sessions were cut, however
 * this one ends. A tracer does not notice that its session was cut. Main
 * thread.
 */
struct open_sessions {
	int fd; /* locked; -1: not in use */
	char path[PATH_MAX];
	uint64_t written;
};

/*
 * Returns the number of sessions that were cut when the previous process ended.
 * If the file cannot be used, which is logged, or another relay uses this run
 * directory, it returns 0 and the other functions do nothing.
 */
uint64_t open_sessions_take(struct open_sessions *s, const char *run_dir);
/* N sessions are open now. The file is unchanged until the first call. */
void open_sessions_set(struct open_sessions *s, uint64_t n);
/* Store that the relay ends with N open sessions; 0: remove the file. */
void open_sessions_end(struct open_sessions *s, uint64_t n);

#endif
