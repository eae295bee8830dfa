/* SPDX-License-Identifier: MIT */
/* sink.tracepulse.perfetto: what becomes of an event. */
#ifndef TOOLS_PLUGIN_PERFETTO_H
#define TOOLS_PLUGIN_PERFETTO_H

#include <babeltrace2/babeltrace.h>

bt_component_class_initialize_method_status perfetto_initialize(
    bt_self_component_sink *self,
    bt_self_component_sink_configuration *configuration, const bt_value *params,
    void *data);

#endif
