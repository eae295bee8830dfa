/* SPDX-License-Identifier: MIT */
/*
 * Where a recording goes that is converted: a directory, or a session of a
 * relay. One thread calls a sink; a failure is final, and sink->error is one
 * line about it.
 */
#ifndef TOOLS_FTRACE_CONVERT_H
#define TOOLS_FTRACE_CONVERT_H

#include <stdbool.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/client/url.h"
#include "tools/ftrace/ctf_stream.h"

/* "system:event" or "lttng", as other sub-commands have it, too. */
bool convert_options_names(const char *text, enum ctf_names *out);

#define CONVERT_ERROR_MAX 640

struct convert_sink;

struct convert_ops {
	/* A ring buffer follows, called NAME; borrowed. */
	enum status (*begin)(struct convert_sink *sink, const char *name,
	    const struct ctf_trace *trace);
	/* A packet of the CPU whose packets are under way. */
	enum status (*packet)(
	    struct convert_sink *sink, const struct ctf_packet *p);
	/* No more comes of this CPU. */
	enum status (*end_stream)(struct convert_sink *sink);
	/* All is where it belongs. */
	enum status (*finish)(struct convert_sink *sink);
	void (*destroy)(struct convert_sink *sink);
};

struct convert_sink {
	const struct convert_ops *ops;
	char error[CONVERT_ERROR_MAX];
};

/* Note a failure, with printf's words. Returns ST. */
enum status convert_fail(struct convert_sink *sink, enum status st,
    const char *fmt, ...) PRINTF_LIKE(3, 4);

/* PATH is made, or is empty; it is borrowed. IS_ONE: there is one ring buffer,
 * whose trace is PATH itself; each of several has a folder of its own. NULL:
 * *WHY is one line. */
struct convert_sink *convert_dir_create(
    const char *path, bool is_one, char why[CONVERT_ERROR_MAX]);

struct convert_relay_config {
	const struct url *url; /* these are borrowed */
	const char *session, *hostname;
};
struct convert_sink *convert_relay_create(
    const struct convert_relay_config *config, char why[CONVERT_ERROR_MAX]);

#endif
