/* SPDX-License-Identifier: MIT */
#include "tools/plugin/params.h"
#include "tools/plugin/sink.h"

static bool
take_strings(const bt_value *value, const bt_value **out)
{
	bt_value *array;

	if (bt_value_is_string(value)) {
		array = bt_value_array_create();
		if (array == NULL ||
		    bt_value_array_append_string_element(
			array, bt_value_string_get(value)) !=
			BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK)
			return false;
		*out = array;
		return true;
	}
	if (!bt_value_is_array(value))
		return false;
	for (uint64_t i = 0; i < bt_value_array_get_length(value); i++) {
		if (!bt_value_is_string(
			bt_value_array_borrow_element_by_index_const(value, i)))
			return false;
	}
	bt_value_get_ref(value);
	*out = value;
	return true;
}

const char *
params_strings(const bt_value *value, const bt_value **out)
{
	return take_strings(value, out) ? NULL
					: "a string or an array of strings";
}

const char *
params_bool(const bt_value *value, bool *out)
{
	if (!bt_value_is_bool(value))
		return "yes or no";
	*out = bt_value_bool_get(value);
	return NULL;
}

bt_value_map_foreach_entry_const_func_status
params_answer(bt_self_component *self, const char *key, const char *want,
    const char *known)
{
	if (want == NULL)
		return BT_VALUE_MAP_FOREACH_ENTRY_CONST_FUNC_STATUS_OK;
	if (want[0] != '\0')
		SINK_FAIL(self, "parameter %s must be %s", key, want);
	else
		SINK_FAIL(self, "unknown parameter %s: there %s", key, known);
	return BT_VALUE_MAP_FOREACH_ENTRY_CONST_FUNC_STATUS_ERROR;
}
