/* SPDX-License-Identifier: MIT */
/*
 * Values of parameters. A function that takes one returns NULL, or what the
 * value must be; "": there is no such parameter.
 */
#ifndef TOOLS_PLUGIN_PARAMS_H
#define TOOLS_PLUGIN_PARAMS_H

#include <stdbool.h>

#include <babeltrace2/babeltrace.h>

/* A string or an array of strings becomes an array, of which *OUT is a
 * reference. */
const char *params_strings(const bt_value *value, const bt_value **out);
const char *params_bool(const bt_value *value, bool *out);

/* What a component answers for the parameter KEY after WANT was returned; a
 * failure is appended. KNOWN: "are A and B". */
bt_value_map_foreach_entry_const_func_status params_answer(
    bt_self_component *self, const char *key, const char *want,
    const char *known);

#endif
