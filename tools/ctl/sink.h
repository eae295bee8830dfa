/* SPDX-License-Identifier: MIT */
/* What writes events: the component classes of our plug-in. */
#ifndef TOOLS_CTL_SINK_H
#define TOOLS_CTL_SINK_H

#include <stdbool.h>

#include "common/compiler.h"
#include "tools/ctl/ctl.h"
#include "tools/ctl/viewer.h"

enum sink_kind { SINK_NDJSON, SINK_LINES, SINK_PERFETTO, N_SINKS };

/* By --json, --text and --perfetto; without them text on a terminal, otherwise
 * JSON. */
enum sink_kind sink_chosen(const struct ctl *c);
/* By the ending of a file's name; N_SINKS: none is known. */
enum sink_kind sink_of_file(const char *name);

/* Can babeltrace2 write it? False: what to install was printed. */
bool sink_is_there(enum sink_kind kind) MUST_CHECK;

/* Append the filter for --event, --filter and --since, if one was given. */
void sink_add_filter(struct viewer *v, const struct ctl_options *o);
/* Append the sink. FILE: NULL is standard output. HAS_ORIGIN: say in each line
 * which session it is of. */
void sink_add(struct viewer *v, const struct ctl *c, enum sink_kind kind,
    const char *file, bool has_origin);

#endif
