/* SPDX-License-Identifier: MIT */
/* babeltrace2, as tracepulse starts it: without a shell. Main thread. */
#ifndef TOOLS_CTL_VIEWER_H
#define TOOLS_CTL_VIEWER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/compiler.h"
#include "tools/ctl/ctl.h"
#include "tools/ctl/pick.h"
#include "tools/ctl/status.h"

#define VIEWER "babeltrace2"

/* Its command line; all zeros is an empty one. */
struct viewer {
	char **words; /* NULL at the end, unless there are none */
	size_t n;
};

void viewer_free(struct viewer *v);
/* Append a word. */
void viewer_add(struct viewer *v, const char *word);
/* Append -c COMPONENT, and -p PARAMS, unless they are empty. */
void viewer_component(
    struct viewer *v, const char *component, const char *params);
/* Append a live session; it ends with the session. */
void viewer_live(struct viewer *v, const char *url);

/* A string as it is written in parameters; the caller frees it. */
char *viewer_string(const char *text);

/*
 * The addresses of the sessions of P, an array of P->n; free it with
 * viewer_free_urls(). NULL: the reason was printed.
 */
char **viewer_urls(
    const struct ctl *c, const struct relay_status *r, const struct picked *p);
void viewer_free_urls(char **urls, size_t n);

/* Has babeltrace2 this component class of our plug-in? False: what to install
 * was printed. */
bool viewer_has(const char *component) MUST_CHECK;

/* Run it, and give TAKE each line of its standard output. Its messages are
 * dropped. False: it failed. */
bool viewer_ask(const struct viewer *v,
    void (*take)(const char *line, void *arg), void *arg);

/* Become babeltrace2. Returns CTL_FAILED; the reason was printed. */
int viewer_become(const struct viewer *v);
/* Start it; it ends with this program. -1: the reason was printed. */
pid_t viewer_start(const struct viewer *v);
/* Wait for its end. False: it failed, or a signal ended it. */
bool viewer_wait(pid_t pid) MUST_CHECK;

#endif
