/* SPDX-License-Identifier: MIT */
/*
 * One guest that is recorded through a broker: the controller of its agent. Its
 * metadata and pages become a file PREFIX.NAME.dat, and go to a sink, as those
 * of a recorder. libevent; the loop's thread.
 */
#ifndef TOOLS_FTRACE_GUEST_H
#define TOOLS_FTRACE_GUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ftrace/recorder_sink.h"
#include "tools/ftrace/recording.h"

/* The longest silence of an agent that was told to end. */
#define GUEST_END_MS 10000
/* What is under way when a recording is stopped, if it goes on. */
#define GUEST_DRAIN_MS 300000
/* What the pages of one guest may need while they come; a guest with pages of 4
 * KiB needs 12 KiB for each CPU. */
#define GUEST_PAGES_BYTES (32 << 20)

struct background;
struct event_base;
struct guest;

struct guest_config {
	struct event_base *base;
	struct background *names;     /* dial_create() */
	struct background *finishing; /* puts files together */
	const char *broker, *token;
	char *const *arguments; /* of the agent's own "record" */
	unsigned n_arguments;
	struct recordings recordings;
	bool is_kept;
	const struct recorder_sink_maker *maker; /* NULL: files only */
	/* It has ended, in order or not; its file is there. */
	void (*ended)(void *arg, struct guest *g);
	void *arg;
};

/* CONFIG and NAME are borrowed. Failures are logged; those of the broker's
 * connection end it. */
enum status guest_create(struct guest **out, const struct guest_config *config,
    const char *name) MUST_CHECK;
/* Before the loop has begun, or when it has ended. NULL is fine. */
void guest_destroy(struct guest *g);
/* Tell its agent that it is enough; then it ends, when all that is under way is
 * here. */
void guest_stop(struct guest *g);
/* Did all go well? */
bool guest_is_good(const struct guest *g);

#endif
