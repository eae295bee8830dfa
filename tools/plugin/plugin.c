/* SPDX-License-Identifier: MIT */
/* The plug-in as babeltrace2 finds it. */
#include <babeltrace2/babeltrace.h>

#include "tools/plugin/ndjson.h"
#include "tools/plugin/perfetto.h"
#include "tools/plugin/sink.h"

BT_PLUGIN_MODULE();
BT_PLUGIN(tracepulse);
BT_PLUGIN_DESCRIPTION("Events for other programs");
BT_PLUGIN_LICENSE("MIT");

#define COMPONENT(name, description)                                         \
	BT_PLUGIN_SINK_COMPONENT_CLASS(name, sink_consume);                  \
	BT_PLUGIN_SINK_COMPONENT_CLASS_DESCRIPTION(name, description);       \
	BT_PLUGIN_SINK_COMPONENT_CLASS_HELP(                                 \
	    name, "See tracepulse-plugin(7).");                              \
	BT_PLUGIN_SINK_COMPONENT_CLASS_INITIALIZE_METHOD(                    \
	    name, name##_initialize);                                        \
	BT_PLUGIN_SINK_COMPONENT_CLASS_FINALIZE_METHOD(name, sink_finalize); \
	BT_PLUGIN_SINK_COMPONENT_CLASS_GRAPH_IS_CONFIGURED_METHOD(           \
	    name, sink_configured)

COMPONENT(ndjson, "Write events as JSON, one per line.");
#ifdef HAVE_PROTOBUF_C
COMPONENT(perfetto, "Write events as a Perfetto trace.");
#endif
