/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/plugin/ndjson.h"
#include "tools/plugin/output.h"
#include "tools/plugin/records.h"

enum {
	NDJSON_FULL = 64 * 1024, /* bytes; then they are written */
	NDJSON_DELAY_MS = 50,	 /* that a record may wait in memory */
};

struct ndjson {
	bt_self_component *self;
	bt_message_iterator *messages;
	struct records *records;
	struct plan_config config;
	const bt_value *names;
	const char *path; /* of the parameter: NULL until the output is open */
	struct text text;
	int fd;
	int64_t waits_since; /* ms: of the oldest record in TEXT */
};

#define FAIL(sink, ...)                                            \
	(void)BT_CURRENT_THREAD_ERROR_APPEND_CAUSE_FROM_COMPONENT( \
	    (sink)->self, __VA_ARGS__)

static int64_t
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Writes what waits. What could not be written is given up. */
static bool
flush(struct ndjson *sink)
{
	bool ok = sink->text.len == 0 ||
		  output_write(sink->fd, sink->text.bytes, sink->text.len);

	sink->text.len = 0;
	if (!ok)
		FAIL(sink, "cannot write events as JSON: %s", strerror(errno));
	return ok;
}

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

static bt_value_map_foreach_entry_const_func_status
take_parameter(const char *key, const bt_value *value, void *data)
{
	struct ndjson *sink = data;
	const char *want = "a string or an array of strings";
	bool ok;

	if (strcmp(key, "path") == 0) {
		want = "a string";
		ok = bt_value_is_string(value);
		sink->path = ok ? bt_value_string_get(value) : NULL;
	} else if (strcmp(key, "names") == 0) {
		ok = take_patterns(value, &sink->names);
	} else if (strcmp(key, "fields") == 0) {
		ok = take_patterns(value, &sink->config.fields);
	} else if (strcmp(key, "flat") == 0) {
		want = "yes or no";
		ok = take_bool(value, &sink->config.flat);
	} else if (strcmp(key, "int64-as-string") == 0) {
		want = "yes or no";
		ok = take_bool(value, &sink->config.big_as_string);
	} else {
		FAIL(sink,
		    "unknown parameter %s: there are path, names, fields, flat "
		    "and int64-as-string",
		    key);
		return BT_VALUE_MAP_FOREACH_ENTRY_CONST_FUNC_STATUS_ERROR;
	}
	if (ok)
		return BT_VALUE_MAP_FOREACH_ENTRY_CONST_FUNC_STATUS_OK;
	FAIL(sink, "parameter %s must be %s", key, want);
	return BT_VALUE_MAP_FOREACH_ENTRY_CONST_FUNC_STATUS_ERROR;
}

static void
sink_destroy(struct ndjson *sink)
{
	bt_message_iterator_put_ref(sink->messages);
	records_destroy(sink->records);
	bt_value_put_ref(sink->names);
	bt_value_put_ref(sink->config.fields);
	text_free(&sink->text);
	if (sink->fd >= 0)
		(void)output_close(sink->fd);
	free(sink);
}

static bool
sink_start(
    struct ndjson *sink, bt_self_component_sink *self, const bt_value *params)
{
	if (bt_value_map_foreach_entry_const(params, take_parameter, sink) !=
	    BT_VALUE_MAP_FOREACH_ENTRY_CONST_STATUS_OK)
		return false;
	if (bt_self_component_sink_add_input_port(self, "in", NULL, NULL) !=
	    BT_SELF_COMPONENT_ADD_PORT_STATUS_OK)
		return false;
	sink->records = records_create(&sink->config, sink->names);
	if (sink->records == NULL)
		return false;
	sink->fd = output_open(sink->path);
	if (sink->fd < 0)
		FAIL(sink, "cannot open %s: %s", sink->path, strerror(errno));
	return sink->fd >= 0;
}

bt_component_class_initialize_method_status
ndjson_initialize(bt_self_component_sink *self,
    bt_self_component_sink_configuration *configuration, const bt_value *params,
    void *data)
{
	struct ndjson *sink = calloc(1, sizeof(*sink));

	(void)configuration;
	(void)data;
	if (sink == NULL)
		return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_MEMORY_ERROR;
	sink->fd = -1;
	sink->self = bt_self_component_sink_as_self_component(self);
	if (!sink_start(sink, self, params)) {
		sink_destroy(sink);
		return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
	}
	bt_self_component_set_data(sink->self, sink);
	return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

static struct ndjson *
sink_of(bt_self_component_sink *self)
{
	return bt_self_component_get_data(
	    bt_self_component_sink_as_self_component(self));
}

/* After an interruption some records may still wait. */
void
ndjson_finalize(bt_self_component_sink *self)
{
	struct ndjson *sink = sink_of(self);

	if (sink->text.len > 0)
		(void)output_write(sink->fd, sink->text.bytes, sink->text.len);
	sink_destroy(sink);
}

bt_component_class_sink_graph_is_configured_method_status
ndjson_configured(bt_self_component_sink *self)
{
	return (bt_component_class_sink_graph_is_configured_method_status)
	    bt_message_iterator_create_from_sink_component(self,
		bt_self_component_sink_borrow_input_port_by_index(self, 0),
		&sink_of(self)->messages);
}

/* Borrows the references to N messages, which are put. */
static bool
take_messages(struct ndjson *sink, bt_message_array_const messages, uint64_t n)
{
	bool ok = true;

	for (uint64_t i = 0; i < n; i++) {
		ok = ok &&
		     records_message(sink->records, messages[i], &sink->text);
		bt_message_put_ref(messages[i]);
		if (ok && sink->text.len >= NDJSON_FULL)
			ok = flush(sink);
	}
	return ok;
}

/* Writes what has waited too long. Called once per batch of messages. */
static bool
flush_late(struct ndjson *sink, bool was_empty)
{
	int64_t now = now_ms();

	if (was_empty)
		sink->waits_since = now;
	return now - sink->waits_since < NDJSON_DELAY_MS || flush(sink);
}

static bt_component_class_sink_consume_method_status
finish(struct ndjson *sink)
{
	int fd = sink->fd;

	if (!flush(sink))
		return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR;
	sink->fd = -1;
	if (output_close(fd))
		return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_END;
	FAIL(sink, "cannot write events as JSON: %s", strerror(errno));
	return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR;
}

bt_component_class_sink_consume_method_status
ndjson_consume(bt_self_component_sink *self)
{
	struct ndjson *sink = sink_of(self);
	bool was_empty = sink->text.len == 0;
	bt_message_array_const messages;
	uint64_t n;
	bt_message_iterator_next_status status = bt_message_iterator_next(
	    sink->messages, &messages, &n);

	if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_END)
		return finish(sink);
	if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_OK) {
		if (!take_messages(sink, messages, n) ||
		    !flush_late(sink, was_empty))
			return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR;
	} else if (!flush(sink)) {
		return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR;
	}
	return (bt_component_class_sink_consume_method_status)status;
}
