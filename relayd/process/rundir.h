/* SPDX-License-Identifier: MIT */
/* The run directory and its folder relayd/ (streaming 6.5). Main thread. */
#ifndef RELAYD_PROCESS_RUNDIR_H
#define RELAYD_PROCESS_RUNDIR_H

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

#endif
