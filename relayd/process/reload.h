/* SPDX-License-Identifier: MIT */
/*
 * SIGHUP: all sources of settings are read again. A setting whose row says
 * RELOADED changes at once; others that changed are named in a warning and
 * stay. If anything is wrong, nothing changes. The log file is opened again in
 * any case. Main thread.
 *
 * Users of a reloadable setting read struct options each time, or get a copy
 * from apply() in main.c; threads get the value through struct published.
 */
#ifndef RELAYD_PROCESS_RELOAD_H
#define RELAYD_PROCESS_RELOAD_H

#include "common/compiler.h"
#include "common/status.h"
#include "relayd/process/options.h"

typedef void reload_fn(const struct options *o, void *arg);

struct reload {
	struct options *options; /* the settings in use */
	struct options asked;	 /* as parsed, before adjustments */
	int argc;
	char **argv;
	reload_fn *apply; /* called after each successful reload */
	void *arg;
};

/* Called before the working directory changes. All arguments are borrowed;
 * reload_now() writes to *O. */
void reload_init(struct reload *r, struct options *o, int argc, char **argv,
    reload_fn *apply, void *arg);
/* Reload, and notify the service manager of its beginning and end. E_REFUSED:
 * all errors were logged, and nothing changed. */
enum status reload_now(struct reload *r);

#endif
