/* SPDX-License-Identifier: MIT */
/* The plug-in as babeltrace2 finds it. */
#include <babeltrace2/babeltrace.h>

#include "tools/plugin/lines.h"
#include "tools/plugin/match.h"
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
COMPONENT(lines, "Write events as text, a line each.");
#ifdef HAVE_PROTOBUF_C
COMPONENT(perfetto, "Write events as a Perfetto trace.");
#endif

BT_PLUGIN_FILTER_COMPONENT_CLASS(match, match_next);
BT_PLUGIN_FILTER_COMPONENT_CLASS_DESCRIPTION(
    match, "Pass on the events that match.");
BT_PLUGIN_FILTER_COMPONENT_CLASS_HELP(match, "See tracepulse-plugin(7).");
BT_PLUGIN_FILTER_COMPONENT_CLASS_INITIALIZE_METHOD(match, match_initialize);
BT_PLUGIN_FILTER_COMPONENT_CLASS_FINALIZE_METHOD(match, match_finalize);
BT_PLUGIN_FILTER_COMPONENT_CLASS_MESSAGE_ITERATOR_CLASS_INITIALIZE_METHOD(
    match, match_iterator_initialize);
BT_PLUGIN_FILTER_COMPONENT_CLASS_MESSAGE_ITERATOR_CLASS_FINALIZE_METHOD(
    match, match_iterator_finalize);
