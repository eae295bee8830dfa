/* SPDX-License-Identifier: MIT */
/* sink.tracepulse.lines: its parameters. The rest is in sink.h. */
#ifndef TOOLS_PLUGIN_LINES_H
#define TOOLS_PLUGIN_LINES_H

#include <babeltrace2/babeltrace.h>

bt_component_class_initialize_method_status lines_initialize(
    bt_self_component_sink *self,
    bt_self_component_sink_configuration *configuration, const bt_value *params,
    void *data);

#endif
