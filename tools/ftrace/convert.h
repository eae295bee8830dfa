/* SPDX-License-Identifier: MIT */
/*
 * The destinations of a conversion: a directory, or a session of a relay. One
 * thread; a failure is final, and sink->error describes it in one line.
 */
#ifndef TOOLS_FTRACE_CONVERT_H
#define TOOLS_FTRACE_CONVERT_H

#include <stdbool.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/client/url.h"
#include "tools/ftrace/kernel_stream.h"

#define CONVERT_ERROR_MAX 640

struct convert_sink;

struct convert_ops {
	/* Begins the ring buffer NAME; borrowed. */
	enum status (*begin)(struct convert_sink *sink, const char *name,
	    const struct kernel_trace *trace);
	/* Adds a packet of the current CPU. ARG: the sink. */
	enum status (*packet)(void *arg, const struct kernel_packet *p);
	/* Ends the current CPU. NULL: not required. */
	enum status (*end_stream)(struct convert_sink *sink);
	/* Delivers what is left. NULL: not required. */
	enum status (*finish)(struct convert_sink *sink);
	void (*destroy)(struct convert_sink *sink);
};

struct convert_sink {
	const struct convert_ops *ops;
	char error[CONVERT_ERROR_MAX];
};

/* Notes a failure, in printf's words. Returns ST. */
enum status convert_fail(struct convert_sink *sink, enum status st,
    const char *fmt, ...) PRINTF_LIKE(3, 4);

/* PATH is created, or must be empty; borrowed. IS_ONE: there is one ring
 * buffer, whose trace is PATH itself; otherwise each has a subdirectory. NULL:
 * WHY is one line. */
struct convert_sink *convert_dir_create(
    const char *path, bool is_one, char why[CONVERT_ERROR_MAX]);

/* The same for a session of a relay; all is borrowed. */
struct convert_sink *convert_relay_create(const struct url *url,
    const char *session, const char *hostname, char why[CONVERT_ERROR_MAX]);

#endif
