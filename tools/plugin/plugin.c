/* SPDX-License-Identifier: MIT */
/* The plug-in as babeltrace2 finds it. */
#include <babeltrace2/babeltrace.h>

#include "tools/plugin/ndjson.h"

BT_PLUGIN_MODULE();
BT_PLUGIN(tracepulse);
BT_PLUGIN_DESCRIPTION("Events for other programs");
BT_PLUGIN_LICENSE("MIT");

BT_PLUGIN_SINK_COMPONENT_CLASS(ndjson, ndjson_consume);
BT_PLUGIN_SINK_COMPONENT_CLASS_DESCRIPTION(
    ndjson, "Write events as JSON, one per line.");
BT_PLUGIN_SINK_COMPONENT_CLASS_HELP(ndjson, "See tracepulse-plugin(7).");
BT_PLUGIN_SINK_COMPONENT_CLASS_INITIALIZE_METHOD(ndjson, ndjson_initialize);
BT_PLUGIN_SINK_COMPONENT_CLASS_FINALIZE_METHOD(ndjson, ndjson_finalize);
BT_PLUGIN_SINK_COMPONENT_CLASS_GRAPH_IS_CONFIGURED_METHOD(
    ndjson, ndjson_configured);
