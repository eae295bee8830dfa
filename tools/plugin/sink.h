/* SPDX-License-Identifier: MIT */
/*
 * What the sinks have in common, as babeltrace2 calls it: the parameter "path",
 * the messages of one input, and bytes that wait to be written.
 */
#ifndef TOOLS_PLUGIN_SINK_H
#define TOOLS_PLUGIN_SINK_H

#include <stdbool.h>

#include <babeltrace2/babeltrace.h>

#include "tools/plugin/text.h"

/* Says why the current call fails; babeltrace2 prints it. */
#define SINK_FAIL(self, ...)                                       \
	(void)BT_CURRENT_THREAD_ERROR_APPEND_CAUSE_FROM_COMPONENT( \
	    self, __VA_ARGS__)

/* A format. */
struct sink_format {
	const char *what;	/* is written, for messages */
	const char *parameters; /* there are, for messages */
	/* NULL: no memory. */
	void *(*create)(bt_self_component *self);
	void (*destroy)(void *format);
	/*
	 * Takes a parameter other than "path". Returns NULL, or what it must
	 * be; "" if there is none of that name. NULL: there is only "path".
	 */
	const char *(*parameter)(
	    void *format, const char *key, const bt_value *value);
	/* Appends what MESSAGE becomes. False: SINK_FAIL(), or no memory. */
	bool (*message)(
	    void *format, const bt_message *message, struct text *out);
	/* Appends what was held back, before OUT is written. Or NULL. */
	void (*flush)(void *format, struct text *out);
};

bt_component_class_initialize_method_status sink_initialize(
    const struct sink_format *format, bt_self_component_sink *self,
    const bt_value *params);
void sink_finalize(bt_self_component_sink *self);
bt_component_class_sink_graph_is_configured_method_status sink_configured(
    bt_self_component_sink *self);
bt_component_class_sink_consume_method_status sink_consume(
    bt_self_component_sink *self);

#endif
