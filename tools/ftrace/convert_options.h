/* SPDX-License-Identifier: MIT */
/* What tracepulse-ftrace convert was asked for; the rows are in
 * convert_options.tbl.h. */
#ifndef TOOLS_FTRACE_CONVERT_OPTIONS_H
#define TOOLS_FTRACE_CONVERT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/client/url.h"
#include "tools/ftrace/ctf_trace.h"

#define CONVERT_SESSION_MAX 200

struct convert_options {
	const char *file;
	const char *directory, *relay; /* one of them is NULL */
	struct url url;		       /* of relay */
	char session[CONVERT_SESSION_MAX];
	enum ctf_names names;
	bool has_offset, is_quiet;
	int64_t offset_ns;
};

/* Strings point into ARGV. E_EXISTS: --help was printed. Else, not OK: a
 * message is on stderr. */
enum status convert_options_parse(
    struct convert_options *o, int argc, char **argv) MUST_CHECK;

/* "system:event" or "lttng", as other sub-commands have it, too. */
bool convert_options_names(const char *text, enum ctf_names *out);

#endif
