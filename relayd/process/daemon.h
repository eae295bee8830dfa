/* SPDX-License-Identifier: MIT */
/*
 * A process among others (streaming 6.4; doc/compat.md, what scripts rely on):
 * background, working directory, run directory, files that tell scripts where
 * we are, and the word that we are ready. Main thread, and daemon_start()
 * before any other thread.
 *
 *	daemon_start      limits, background, directories
 *	(main binds the ports and the health socket at d->health_path)
 *	daemon_ready      port files, pid file, the waiting parent, systemd
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
#include "relayd/process/runfile.h"

struct options;

/* Host order, as bound. */
struct daemon_ports {
	uint16_t control, data, live;
};

struct daemon {
	const struct options *options; /* borrowed */
	pid_t parent;		       /* who started us */
	int ready_fd;	/* to who waits in daemon_detach(); -1: nobody */
	gid_t group;	/* of run directory and health socket, if root */
	bool has_group; /* false: not root, leave it to the umask */
	char health_path[PATH_MAX];
	struct runfile pid_file, control_port, data_port, live_port;
};

/*
 * With -b or -d the caller's process waits in here and exits: with 0 once
 * daemon_ready() is through, with 1 as soon as the daemon ends before that;
 * daemon_start() returns in the new process only. Not OK, with a message: exit
 * with 1. Either way daemon_end() may follow. SIGPIPE and SIGUSR1 are ignored
 * from here on; standard error stays what it was until daemon_ready().
 */
enum status daemon_start(struct daemon *d, const struct options *o) MUST_CHECK;
enum status daemon_ready(
    struct daemon *d, const struct daemon_ports *ports) MUST_CHECK;
void daemon_stopping(struct daemon *d);
void daemon_end(struct daemon *d);

#endif
