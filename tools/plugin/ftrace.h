/* SPDX-License-Identifier: MIT */
/*
 * Events of the kernel that Perfetto knows: they become members of FtraceEvent,
 * by their names there. LTTng and ftrace name some differently.
 */
#ifndef TOOLS_PLUGIN_FTRACE_H
#define TOOLS_PLUGIN_FTRACE_H

#include <stdbool.h>
#include <stdint.h>

#include <babeltrace2/babeltrace.h>

#include "tools/plugin/annotations.h"

enum {
	FTRACE_FIELDS = 8, /* of one event, at most */
};

/* What the events of one class become. */
struct ftrace_kind {
	const ProtobufCFieldDescriptor *event; /* of FtraceEvent; NULL: none */
	unsigned n;
	struct {
		const ProtobufCFieldDescriptor *to;
		uint64_t index; /* of the member of the payload */
	} fields[FTRACE_FIELDS];
};

/* NAME is that of the event, PAYLOAD its fields, or NULL. */
void ftrace_kind(
    struct ftrace_kind *kind, const char *name, const bt_field_class *payload);

/* Appends the event, which TID runs or NULL, to a FtraceEventBundle. Memory is
 * that of A. */
bool ftrace_append(const struct ftrace_kind *kind, const bt_field *payload,
    int64_t ns, const int64_t *tid, struct annotations *a, struct text *out);

#endif
