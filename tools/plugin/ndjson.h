/* SPDX-License-Identifier: MIT */
/* sink.tracepulse.ndjson: its parameters. The rest is in sink.h, records.h. */
#ifndef TOOLS_PLUGIN_NDJSON_H
#define TOOLS_PLUGIN_NDJSON_H

#include <babeltrace2/babeltrace.h>

bt_component_class_initialize_method_status ndjson_initialize(
    bt_self_component_sink *self,
    bt_self_component_sink_configuration *configuration, const bt_value *params,
    void *data);

#endif
