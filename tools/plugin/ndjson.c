/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tools/plugin/ndjson.h"
#include "tools/plugin/params.h"
#include "tools/plugin/records.h"
#include "tools/plugin/sink.h"

struct ndjson {
	struct plan_config config;
	struct records *records;
};

static const char *
ndjson_parameter(void *format, const char *key, const bt_value *value)
{
	struct ndjson *ndjson = format;
	struct plan_config *config = &ndjson->config;

	if (strcmp(key, "names") == 0)
		return params_strings(value, &config->names);
	if (strcmp(key, "fields") == 0)
		return params_strings(value, &config->fields);
	if (strcmp(key, "flat") == 0)
		return params_bool(value, &config->flat);
	if (strcmp(key, "int64-as-string") == 0)
		return params_bool(value, &config->big_as_string);
	return "";
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
