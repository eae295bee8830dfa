/* SPDX-License-Identifier: MIT */
/*
 * What every daemon has (streaming 6.4; doc/compat.md, what scripts rely on):
 * background, working directory, run directory, files that tell scripts its pid
 * and ports, and the message that it is ready. Main thread; daemon_start()
 * before any other thread starts.
 *
 *	daemon_start      limits, background, directories
 *	(main binds the ports and the health socket at d->health_path)
 *	daemon_write      port files, pid file: the last files that are made
 *	(main gives up its rights and starts threads)
 *	daemon_ready      the waiting parent, systemd
 *	daemon_stopping   systemd
 *	daemon_end        the files go
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

struct daemon {
	const struct options *options; /* borrowed */
	pid_t parent;		       /* the process that started us */
	int ready_fd;	/* pipe to the waiting parent; -1: none */
	int null_fd;	/* /dev/null for standard streams; -1: none */
	gid_t group;	/* of run directory and health socket */
	bool has_group; /* false: we are not root, the umask decides */
	char health_path[PATH_MAX];
	char admin_path[108]; /* empty: none */
	struct runfile pid_file, control_port, data_port, live_port, http_port;
};

/* The soft limit of descriptors becomes the hard one, as daemon_start() does
 * it. */
void daemon_raise_descriptors(void);

/*
 * With -b or -d daemon_start() returns in a new process only. The caller's
 * process waits and exits: with 0 when daemon_ready() is done, with 1 when the
 * daemon ends before. Failures are logged; then exit with 1. In both cases
 * daemon_end() may be called. SIGPIPE, SIGUSR1 and SIGHUP are ignored from here
 * on; standard error stays what it was until daemon_ready(); then only the log
 * file is left, if there is one.
 */
enum status daemon_start(struct daemon *d, const struct options *o) MUST_CHECK;
enum status daemon_write(
    struct daemon *d, const struct daemon_ports *ports) MUST_CHECK;
void daemon_ready(struct daemon *d, const struct daemon_ports *ports);
void daemon_stopping(struct daemon *d);
void daemon_end(struct daemon *d);

#endif
