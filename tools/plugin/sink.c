/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/plugin/output.h"
#include "tools/plugin/params.h"
#include "tools/plugin/sink.h"

enum {
	SINK_FULL = 64 * 1024, /* bytes; then they are written */
	SINK_DELAY_MS = 50,    /* that a record may wait in memory */
};

struct sink {
	const struct sink_format *format;
	void *writer; /* that of FORMAT */
	bt_self_component *self;
	bt_message_iterator *messages;
	const char *path; /* of the parameter: NULL until the output is open */
	struct text text;
	int fd;
	int64_t flushed_at; /* ms */
};

static int64_t
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static bool
fail_to_write(struct sink *sink)
{
	SINK_FAIL(sink->self, "cannot write %s: %s", sink->format->what,
	    strerror(errno));
	return false;
}

/* Writes TEXT. What could not be written is given up. */
static bool
write_text(struct sink *sink)
{
	bool ok = sink->text.len == 0 ||
		  output_write(sink->fd, sink->text.bytes, sink->text.len);

	sink->text.len = 0;
	return ok || fail_to_write(sink);
}

/* Writes all that waits. */
static bool
flush(struct sink *sink)
{
	if (sink->format->flush != NULL)
		sink->format->flush(sink->writer, &sink->text);
	return !sink->text.failed && write_text(sink);
}

static bt_value_map_foreach_entry_const_func_status
take_parameter(const char *key, const bt_value *value, void *data)
{
	struct sink *sink = data;
	const struct sink_format *format = sink->format;
	const char *want = "";

	if (strcmp(key, "path") == 0) {
		want = bt_value_is_string(value) ? NULL : "a string";
		if (want == NULL)
			sink->path = bt_value_string_get(value);
	} else if (format->parameter != NULL) {
		want = format->parameter(sink->writer, key, value);
	}
	return params_answer(sink->self, key, want, format->parameters);
}

static void
sink_destroy(struct sink *sink)
{
	bt_message_iterator_put_ref(sink->messages);
	if (sink->writer != NULL)
		sink->format->destroy(sink->writer);
	text_free(&sink->text);
	if (sink->fd >= 0)
		(void)output_close(sink->fd);
	free(sink);
}

static bool
sink_start(
    struct sink *sink, bt_self_component_sink *self, const bt_value *params)
{
	sink->writer = sink->format->create(sink->self);
	if (sink->writer == NULL)
		return false;
	if (bt_value_map_foreach_entry_const(params, take_parameter, sink) !=
	    BT_VALUE_MAP_FOREACH_ENTRY_CONST_STATUS_OK)
		return false;
	if (bt_self_component_sink_add_input_port(self, "in", NULL, NULL) !=
	    BT_SELF_COMPONENT_ADD_PORT_STATUS_OK)
		return false;
	sink->fd = output_open(sink->path);
	if (sink->fd < 0)
		SINK_FAIL(sink->self, "cannot open %s: %s", sink->path,
		    strerror(errno));
	return sink->fd >= 0;
}

bt_component_class_initialize_method_status
sink_initialize(const struct sink_format *format, bt_self_component_sink *self,
    const bt_value *params)
{
	struct sink *sink = calloc(1, sizeof(*sink));

	if (sink == NULL)
		return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_MEMORY_ERROR;
	sink->format = format;
	sink->fd = -1;
	sink->self = bt_self_component_sink_as_self_component(self);
	if (!sink_start(sink, self, params)) {
		sink_destroy(sink);
		return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
	}
	bt_self_component_set_data(sink->self, sink);
	return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

static struct sink *
sink_of(bt_self_component_sink *self)
{
	return bt_self_component_get_data(
	    bt_self_component_sink_as_self_component(self));
}

/* After an interruption some records may still wait. */
void
sink_finalize(bt_self_component_sink *self)
{
	struct sink *sink = sink_of(self);

	if (sink->fd >= 0 && sink->format->flush != NULL)
		sink->format->flush(sink->writer, &sink->text);
	if (sink->fd >= 0 && sink->text.len > 0)
		(void)output_write(sink->fd, sink->text.bytes, sink->text.len);
	sink_destroy(sink);
}

bt_component_class_sink_graph_is_configured_method_status
sink_configured(bt_self_component_sink *self)
{
	return (bt_component_class_sink_graph_is_configured_method_status)
	    bt_message_iterator_create_from_sink_component(self,
		bt_self_component_sink_borrow_input_port_by_index(self, 0),
		&sink_of(self)->messages);
}

/* Borrows the references to N messages, which are put. */
static bool
take_messages(struct sink *sink, bt_message_array_const messages, uint64_t n)
{
	bool ok = true;

	for (uint64_t i = 0; i < n; i++) {
		ok = ok && sink->format->message(
			       sink->writer, messages[i], &sink->text);
		bt_message_put_ref(messages[i]);
		if (ok && sink->text.len >= SINK_FULL)
			ok = write_text(sink);
	}
	return ok;
}

/* Writes what has waited too long. Called once per batch of messages. */
static bool
flush_late(struct sink *sink)
{
	int64_t now = now_ms();

	if (now - sink->flushed_at < SINK_DELAY_MS)
		return true;
	sink->flushed_at = now;
	return flush(sink);
}

static bt_component_class_sink_consume_method_status
finish(struct sink *sink)
{
	int fd = sink->fd;

	if (!flush(sink))
		return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR;
	sink->fd = -1;
	if (output_close(fd))
		return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_END;
	fail_to_write(sink);
	return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR;
}

bt_component_class_sink_consume_method_status
sink_consume(bt_self_component_sink *self)
{
	struct sink *sink = sink_of(self);
	bt_message_array_const messages;
	uint64_t n;
	bt_message_iterator_next_status status = bt_message_iterator_next(
	    sink->messages, &messages, &n);

	if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_END)
		return finish(sink);
	if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_OK) {
		if (!take_messages(sink, messages, n) || !flush_late(sink))
			return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR;
	} else if (!flush(sink)) {
		return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR;
	}
	return (bt_component_class_sink_consume_method_status)status;
}
