/* SPDX-License-Identifier: MIT */
/*
 * Values of parameters. Each function returns NULL, or what the value must be.
 */
#ifndef TOOLS_PLUGIN_PARAMS_H
#define TOOLS_PLUGIN_PARAMS_H

#include <stdbool.h>

#include <babeltrace2/babeltrace.h>

/* A string or an array of strings becomes an array, of which *OUT is a
 * reference. */
const char *params_strings(const bt_value *value, const bt_value **out);
const char *params_bool(const bt_value *value, bool *out);

#endif
