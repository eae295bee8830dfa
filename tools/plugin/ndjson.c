/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tools/plugin/ndjson.h"
#include "tools/plugin/records.h"
#include "tools/plugin/sink.h"

struct ndjson {
	struct plan_config config;
	struct records *records;
};

/* A string or an array of strings, as an array. */
static bool
take_patterns(const bt_value *value, const bt_value **out)
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

static bool
take_bool(const bt_value *value, bool *out)
{
	if (!bt_value_is_bool(value))
		return false;
	*out = bt_value_bool_get(value);
	return true;
}

static const char *
ndjson_parameter(void *format, const char *key, const bt_value *value)
{
	struct ndjson *ndjson = format;
	struct plan_config *config = &ndjson->config;
	const char *want = "a string or an array of strings";
	bool ok;

	if (strcmp(key, "names") == 0) {
		ok = take_patterns(value, &config->names);
	} else if (strcmp(key, "fields") == 0) {
		ok = take_patterns(value, &config->fields);
	} else if (strcmp(key, "flat") == 0) {
		want = "yes or no";
		ok = take_bool(value, &config->flat);
	} else if (strcmp(key, "int64-as-string") == 0) {
		want = "yes or no";
		ok = take_bool(value, &config->big_as_string);
	} else {
		return "";
	}
	return ok ? NULL : want;
}

static void
ndjson_destroy(void *format)
{
	struct ndjson *ndjson = format;

	records_destroy(ndjson->records);
	bt_value_put_ref(ndjson->config.names);
	bt_value_put_ref(ndjson->config.fields);
	free(ndjson);
}

static void *
ndjson_create(bt_self_component *self)
{
	struct ndjson *ndjson = calloc(1, sizeof(*ndjson));

	(void)self;
	if (ndjson == NULL)
		return NULL;
	ndjson->records = records_create(&ndjson->config);
	if (ndjson->records == NULL) {
		ndjson_destroy(ndjson);
		ndjson = NULL;
	}
	return ndjson;
}

static bool
ndjson_message(void *format, const bt_message *message, struct text *out)
{
	struct ndjson *ndjson = format;

	return records_message(ndjson->records, message, out);
}

bt_component_class_initialize_method_status
ndjson_initialize(bt_self_component_sink *self,
    bt_self_component_sink_configuration *configuration, const bt_value *params,
    void *data)
{
	static const struct sink_format format = {
		.what = "events as JSON",
		.parameters =
		    "are path, names, fields, flat and int64-as-string",
		.create = ndjson_create,
		.destroy = ndjson_destroy,
		.parameter = ndjson_parameter,
		.message = ndjson_message,
	};

	(void)configuration;
	(void)data;
	return sink_initialize(&format, self, params);
}
