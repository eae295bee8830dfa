/* SPDX-License-Identifier: MIT */
/* The run directory and its folder relayd/ (streaming 6.5). Main thread. */
#ifndef RELAYD_PROCESS_RUNDIR_H
#define RELAYD_PROCESS_RUNDIR_H

#include <sys/types.h>

#include "common/compiler.h"
#include "common/status.h"

/*
 * Creates RUN_DIR and RUN_DIR/relayd where missing: mode 0700; for root 0755
 * and GROUP. What exists is left as it is. Then removes health sockets of
 * daemons that are gone. Not OK, with a message.
 */
enum status rundir_create(const char *run_dir, gid_t group) MUST_CHECK;

/* The gid of the tracing group; root's, with a warning, if it is unknown. */
gid_t rundir_group(const char *name);

#endif
