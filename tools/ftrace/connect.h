/* SPDX-License-Identifier: MIT */
/*
 * The guest's end of a link to the broker. What a session sends goes to the
 * guest's agent and to the ports that the agent has named, nowhere else. A lost
 * link is made again, after growing pauses. libevent; the loop's thread.
 */
#ifndef TOOLS_FTRACE_CONNECT_H
#define TOOLS_FTRACE_CONNECT_H

#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ftrace/link.h"

/* The most CPUs that a guest may report. */
#define BROKER_CPUS_MAX 65536

struct agent_end;

/* All is borrowed. */
struct agent_end_config {
	struct command_loop *loop;
	const char *name, *token;
	const char *agent; /* HOST:PORT */
	unsigned cpus;	   /* reported to the broker; 0: not known */
	/* Opens a link to the broker. */
	enum status (*open)(void *arg, struct link **out,
	    const struct link_ops *ops, void *end);
	/* The agent has stated its CPUs; NULL: not used. */
	void (*learned)(void *arg, uint32_t cpus);
	void *arg;
};

/* Starts at once. */
enum status agent_end_create(
    struct agent_end **out, const struct agent_end_config *config) MUST_CHECK;
void agent_end_destroy(struct agent_end *a); /* NULL is fine */

#endif
