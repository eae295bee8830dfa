/* SPDX-License-Identifier: MIT */
/* sink.tracepulse.ndjson: its methods, as babeltrace2 calls them. */
#ifndef TOOLS_PLUGIN_NDJSON_H
#define TOOLS_PLUGIN_NDJSON_H

#include <babeltrace2/babeltrace.h>

bt_component_class_initialize_method_status ndjson_initialize(
    bt_self_component_sink *self,
    bt_self_component_sink_configuration *configuration, const bt_value *params,
    void *data);
void ndjson_finalize(bt_self_component_sink *self);
bt_component_class_sink_graph_is_configured_method_status ndjson_configured(
    bt_self_component_sink *self);
bt_component_class_sink_consume_method_status ndjson_consume(
    bt_self_component_sink *self);

#endif
