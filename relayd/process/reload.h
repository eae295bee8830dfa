/* SPDX-License-Identifier: MIT */
/*
 * SIGHUP: all sources of settings are read again. A setting whose row says
 * RELOADED counts from then on; another that has changed is named in a warning
 * and stays. If anything is wrong, nothing changes. Then the log file is opened
 * again, in any case. Main thread.
 *
 * Who uses a setting that can be reloaded looks at struct options each time, or
 * has a function called (reload_tell); threads get the value through struct
 * published.
 */
#ifndef RELAYD_PROCESS_RELOAD_H
#define RELAYD_PROCESS_RELOAD_H

#include "common/compiler.h"
#include "common/status.h"
#include "relayd/process/options.h"

/* How many may be told. */
#define RELOAD_HOOKS 8

typedef void reload_fn(const struct options *o, void *arg);

struct reload {
	struct options *options; /* those that hold */
	struct options asked; /* as they were parsed; a thread may have less */
	int argc;
	char **argv;
	struct {
		reload_fn *call;
		void *arg;
	} hooks[RELOAD_HOOKS];
	unsigned n_hooks;
	unsigned n_good, n_bad; /* reloads until now */
};

/* Before the working directory changes. All arguments are borrowed; *O is
 * written to by reload_now(). */
void reload_init(struct reload *r, struct options *o, int argc, char **argv);
/* Call FN after each reload that was good. */
void reload_tell(struct reload *r, reload_fn *fn, void *arg);
/* The service manager hears of the begin and the end. E_REFUSED: all that is
 * wrong was logged, and nothing changed. */
enum status reload_now(struct reload *r);

#endif
