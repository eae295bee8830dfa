/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/plugin/events.h"
#include "tools/plugin/match.h"
#include "tools/plugin/params.h"
#include "tools/plugin/plan.h"
#include "tools/plugin/sink.h"
#include "tools/plugin/value.h"

enum {
	MATCH_TELL_MS = 100, /* between two times that are told */
};

/* "FIELD=VALUE" */
struct condition {
	char *field;
	const char *value;
};

struct match {
	bt_self_component *self;
	bt_self_component_port_input *in;
	const bt_value *names; /* patterns, or NULL */
	const bt_value *where; /* of the parameter, or NULL */
	struct condition *conditions;
	uint64_t n;
	int64_t since; /* ns since 1970 */
	int64_t fd;    /* gets the times of events; -1: none */
	int64_t told;  /* ms: when it got the last one */
};

static const char *
take_number(const bt_value *value, int64_t *out)
{
	if (!bt_value_is_signed_integer(value))
		return "an integer";
	*out = bt_value_integer_signed_get(value);
	return NULL;
}

static bt_value_map_foreach_entry_const_func_status
take_parameter(const char *key, const bt_value *value, void *data)
{
	struct match *m = data;
	const char *want = "";

	if (strcmp(key, "names") == 0)
		want = params_strings(value, &m->names);
	else if (strcmp(key, "where") == 0)
		want = params_strings(value, &m->where);
	else if (strcmp(key, "since") == 0)
		want = take_number(value, &m->since);
	else if (strcmp(key, "time-fd") == 0)
		want = take_number(value, &m->fd);
	return params_answer(
	    m->self, key, want, "are names, where, since and time-fd");
}

static bool
take_conditions(struct match *m)
{
	const uint64_t n = m->where != NULL
			       ? bt_value_array_get_length(m->where)
			       : 0;

	m->conditions = calloc(n + 1, sizeof(*m->conditions));
	for (; m->conditions != NULL && m->n < n; m->n++) {
		struct condition *c = &m->conditions[m->n];
		char *equals;

		c->field = strdup(bt_value_string_get(
		    bt_value_array_borrow_element_by_index_const(
			m->where, m->n)));
		if (c->field == NULL)
			return false;
		equals = strchr(c->field, '=');
		if (equals == NULL || equals == c->field) {
			SINK_FAIL(m->self, "where: \"%s\" is not FIELD=VALUE",
			    c->field);
			free(c->field);
			return false;
		}
		*equals = '\0';
		c->value = equals + 1;
	}
	return m->conditions != NULL;
}

static void
destroy(struct match *m)
{
	while (m->n > 0)
		free(m->conditions[--m->n].field);
	free(m->conditions);
	bt_value_put_ref(m->names);
	bt_value_put_ref(m->where);
	free(m);
}

static bool
start(struct match *m, bt_self_component_filter *self, const bt_value *params)
{
	return bt_value_map_foreach_entry_const(params, take_parameter, m) ==
		   BT_VALUE_MAP_FOREACH_ENTRY_CONST_STATUS_OK &&
	       take_conditions(m) &&
	       bt_self_component_filter_add_input_port(self, "in", NULL,
		   &m->in) == BT_SELF_COMPONENT_ADD_PORT_STATUS_OK &&
	       bt_self_component_filter_add_output_port(self, "out", NULL,
		   NULL) == BT_SELF_COMPONENT_ADD_PORT_STATUS_OK;
}

bt_component_class_initialize_method_status
match_initialize(bt_self_component_filter *self,
    bt_self_component_filter_configuration *configuration,
    const bt_value *params, void *data)
{
	struct match *m = calloc(1, sizeof(*m));

	(void)configuration;
	(void)data;
	if (m == NULL)
		return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_MEMORY_ERROR;
	m->since = INT64_MIN;
	m->fd = -1;
	m->self = bt_self_component_filter_as_self_component(self);
	if (!start(m, self, params)) {
		destroy(m);
		return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
	}
	bt_self_component_set_data(m->self, m);
	return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

void
match_finalize(bt_self_component_filter *self)
{
	destroy(bt_self_component_get_data(
	    bt_self_component_filter_as_self_component(self)));
}

bt_message_iterator_class_initialize_method_status
match_iterator_initialize(bt_self_message_iterator *self,
    bt_self_message_iterator_configuration *configuration,
    bt_self_component_port_output *port)
{
	const struct match *m = bt_self_component_get_data(
	    bt_self_message_iterator_borrow_component(self));
	bt_message_iterator *messages;
	bt_message_iterator_create_from_message_iterator_status status;

	(void)configuration;
	(void)port;
	status = bt_message_iterator_create_from_message_iterator(
	    self, m->in, &messages);
	if (status ==
	    BT_MESSAGE_ITERATOR_CREATE_FROM_MESSAGE_ITERATOR_STATUS_OK)
		bt_self_message_iterator_set_data(self, messages);
	return (bt_message_iterator_class_initialize_method_status)status;
}

void
match_iterator_finalize(bt_self_message_iterator *self)
{
	bt_message_iterator_put_ref(bt_self_message_iterator_get_data(self));
}

/* Of a clock that does not count from 1970 nothing is early. */
static bool
is_early(const struct match *m, const bt_message *message)
{
	const bt_clock_class *clock =
	    bt_message_event_borrow_stream_class_default_clock_class_const(
		message);
	int64_t ns;

	return m->since != INT64_MIN && clock != NULL &&
	       bt_clock_class_origin_is_unix_epoch(clock) &&
	       events_ns(bt_message_event_borrow_default_clock_snapshot_const(
			     message),
		   &ns) &&
	       ns < m->since;
}

static bool
is_wanted(const struct match *m, const bt_message *message)
{
	const bt_event *event = bt_message_event_borrow_event_const(message);
	const char *name = bt_event_class_get_name(
	    bt_event_borrow_class_const(event));
	const bt_field *field;

	if (!plan_match(m->names, name != NULL ? name : "") ||
	    is_early(m, message))
		return false;
	for (uint64_t i = 0; i < m->n; i++) {
		field = value_find(event, m->conditions[i].field);
		if (field == NULL || !value_is(field, m->conditions[i].value))
			return false;
	}
	return true;
}

/* Write the time of the last event of N messages, at most ten times a second,
 * as long as it can be written. */
static void
tell_time(struct match *m, bt_message_array_const all, uint64_t n)
{
	struct timespec ts;
	int64_t now, ns;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	now = (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
	if (now - m->told < MATCH_TELL_MS)
		return;
	while (
	    n > 0 && bt_message_get_type(all[n - 1]) != BT_MESSAGE_TYPE_EVENT)
		n--;
	if (n == 0 ||
	    bt_message_event_borrow_stream_class_default_clock_class_const(
		all[n - 1]) == NULL ||
	    !events_ns(bt_message_event_borrow_default_clock_snapshot_const(
			   all[n - 1]),
		&ns))
		return;
	m->told = now;
	if (write((int)m->fd, &ns, sizeof(ns)) < 0)
		m->fd = -1;
}

bt_message_iterator_class_next_method_status
match_next(bt_self_message_iterator *self, bt_message_array_const messages,
    uint64_t capacity, uint64_t *out)
{
	struct match *m = bt_self_component_get_data(
	    bt_self_message_iterator_borrow_component(self));
	bt_message_iterator *from = bt_self_message_iterator_get_data(self);
	bt_message_iterator_next_status status;
	bt_message_array_const all;
	uint64_t n;

	(void)capacity; /* of all iterators it is the same */
	*out = 0;
	do {
		if (bt_self_message_iterator_is_interrupted(self))
			return BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_AGAIN;
		status = bt_message_iterator_next(from, &all, &n);
		if (status != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
			return (
			    bt_message_iterator_class_next_method_status)status;
		if (m->fd >= 0)
			tell_time(m, all, n);
		for (uint64_t i = 0; i < n; i++) {
			if (bt_message_get_type(all[i]) !=
				BT_MESSAGE_TYPE_EVENT ||
			    is_wanted(m, all[i]))
				messages[(*out)++] = all[i];
			else
				bt_message_put_ref(all[i]);
		}
	} while (*out == 0);
	return BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_OK;
}
