/* SPDX-License-Identifier: MIT */
/*
 * The duties of a daemon (streaming 6.4; doc/compat.md, what scripts rely on):
 * background, working directory, run directory, files with its pid and ports
 * for scripts, and the message that it is ready. Main thread; daemon_start() is
 * called before any other thread starts.
 *
 * daemon_start: limits, background, directories. Then main binds the ports and
 * the health socket at d->health_path.
 *
 * daemon_write: port files and pid file, the last files that are created. Then
 * main drops its rights and starts threads.
 *
 * daemon_ready: notifies the waiting parent and systemd. daemon_end: removes
 * the files.
 */
#ifndef RELAYD_PROCESS_DAEMON_H
#define RELAYD_PROCESS_DAEMON_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/compiler.h"
#include "common/status.h"
#include "relayd/process/rundir.h"

struct options;

/* The ports that were bound, host order. */
struct daemon_ports {
	uint16_t control, data, live;
	uint16_t udp;  /* 0: none */
	uint16_t http; /* 0: none */
};

enum daemon_file { FILE_CONTROL, FILE_DATA, FILE_LIVE, FILE_HTTP, FILE_PID };
#define DAEMON_FILES (FILE_PID + 1)

struct daemon {
	const struct options *options; /* borrowed */
	pid_t parent;		       /* the process that started it */
	int ready_fd;	/* pipe to the waiting parent; -1: none */
	int null_fd;	/* /dev/null for standard streams; -1: none */
	gid_t group;	/* of run directory and health socket */
	bool has_group; /* false: not root, the umask applies */
	char health_path[PATH_MAX];
	char admin_path[108]; /* empty: none */
	/* The pid file goes last: a script that waits for this may start the
	 * next daemon. */
	struct runfile files[DAEMON_FILES];
};

/* Raise the soft limit of descriptors to the hard one, as daemon_start() does.
 * */
void daemon_raise_descriptors(void);

/*
 * With -b or -d daemon_start() returns only in a new process. The process of
 * the caller waits and exits: with 0 after daemon_ready(), with 1 if the daemon
 * ends before. Failures are logged; then exit with 1. daemon_end() may be
 * called in both cases. SIGPIPE, SIGUSR1 and SIGHUP are ignored from now on.
 * Standard error stays open until daemon_ready(); after that only the log file
 * is used, if there is one.
 */
enum status daemon_start(struct daemon *d, const struct options *o) MUST_CHECK;
enum status daemon_write(
    struct daemon *d, const struct daemon_ports *ports) MUST_CHECK;
void daemon_ready(struct daemon *d, const struct daemon_ports *ports);
void daemon_end(struct daemon *d);

#endif
