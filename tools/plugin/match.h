/* SPDX-License-Identifier: MIT */
/* filter.tracepulse.match: its methods, as babeltrace2 calls them. */
#ifndef TOOLS_PLUGIN_MATCH_H
#define TOOLS_PLUGIN_MATCH_H

#include <babeltrace2/babeltrace.h>

bt_component_class_initialize_method_status match_initialize(
    bt_self_component_filter *self,
    bt_self_component_filter_configuration *configuration,
    const bt_value *params, void *data);
void match_finalize(bt_self_component_filter *self);
bt_message_iterator_class_initialize_method_status match_iterator_initialize(
    bt_self_message_iterator *self,
    bt_self_message_iterator_configuration *configuration,
    bt_self_component_port_output *port);
void match_iterator_finalize(bt_self_message_iterator *self);
bt_message_iterator_class_next_method_status match_next(
    bt_self_message_iterator *self, bt_message_array_const messages,
    uint64_t capacity, uint64_t *count);

#endif
