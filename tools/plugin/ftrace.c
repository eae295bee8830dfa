/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "tools/plugin/ftrace.h"
#include "tools/plugin/packets.h"

/* The member of FtraceEvent for events called NAME, or NULL. */
static const ProtobufCFieldDescriptor *
find_event(const char *name)
{
	const ProtobufCFieldDescriptor *field =
	    protobuf_c_message_descriptor_get_field_by_name(
		&perfetto__ftrace_event__descriptor, name);

	return field != NULL && field->type == PROTOBUF_C_TYPE_MESSAGE ? field
								       : NULL;
}

/* "sched:sched_switch" of ftrace; "irq_softirq_entry" of LTTng. */
static const ProtobufCFieldDescriptor *
find_any(const char *name)
{
	static const char *const prefixes[] = { "irq_", "power_" };
	const char *colon = strchr(name, ':');
	const ProtobufCFieldDescriptor *found;

	if (colon != NULL)
		name = colon + 1;
	found = find_event(name);
	for (size_t i = 0; found == NULL && i < 2; i++) {
		size_t len = strlen(prefixes[i]);

		if (strncmp(name, prefixes[i], len) == 0)
			found = find_event(name + len);
	}
	return found;
}

/* A member of PAYLOAD: NAME, or with "tid" for "pid" at its end. */
static const bt_field_class *
find_member(const bt_field_class *payload, const char *name, uint64_t *index)
{
	char other[64];
	size_t len = strlen(name);

	(void)snprintf(other, sizeof(other), "%s", name);
	if (len >= 3 && strcmp(name + len - 3, "pid") == 0)
		other[len - 3] = 't';
	for (uint64_t i = 0;
	     i < bt_field_class_structure_get_member_count(payload); i++) {
		const bt_field_class_structure_member *m =
		    bt_field_class_structure_borrow_member_by_index_const(
			payload, i);
		const char *is = bt_field_class_structure_member_get_name(m);

		if (strcmp(is, name) == 0 || strcmp(is, other) == 0) {
			*index = i;
			return bt_field_class_structure_member_borrow_field_class_const(
			    m);
		}
	}
	return NULL;
}

static bool
fits(const ProtobufCFieldDescriptor *to, const bt_field_class *class)
{
	return bt_field_class_type_is(bt_field_class_get_type(class),
	    to->type == PROTOBUF_C_TYPE_STRING ? BT_FIELD_CLASS_TYPE_STRING
					       : BT_FIELD_CLASS_TYPE_INTEGER);
}

void
ftrace_kind(
    struct ftrace_kind *kind, const char *name, const bt_field_class *payload)
{
	const ProtobufCMessageDescriptor *message;

	kind->event = payload != NULL ? find_any(name) : NULL;
	if (kind->event == NULL)
		return;
	message = kind->event->descriptor;
	for (unsigned i = 0; i < message->n_fields && kind->n < FTRACE_FIELDS;
	     i++) {
		const ProtobufCFieldDescriptor *to = &message->fields[i];
		uint64_t index;
		const bt_field_class *class = find_member(
		    payload, to->name, &index);

		if (class == NULL || !fits(to, class))
			continue;
		kind->fields[kind->n].to = to;
		kind->fields[kind->n++].index = index;
	}
}

int64_t
ftrace_integer(const bt_field *field)
{
	if (bt_field_class_type_is(bt_field_get_class_type(field),
		BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		return (int64_t)bt_field_integer_unsigned_get_value(field);
	return bt_field_integer_signed_get_value(field);
}

/* Sets the member TO of MESSAGE. */
static bool
set(char *message, const ProtobufCFieldDescriptor *to, const bt_field *from,
    struct annotations *a)
{
	char *member = message + to->offset;

	if (to->type == PROTOBUF_C_TYPE_STRING) {
		*(char **)member = annotations_field(a, from);
		return *(char **)member != NULL;
	}
	*(protobuf_c_boolean *)(message + to->quantifier_offset) = true;
	if (to->type == PROTOBUF_C_TYPE_INT64)
		*(int64_t *)member = ftrace_integer(from);
	else /* int32, uint32 */
		*(int32_t *)member = (int32_t)ftrace_integer(from);
	return true;
}

static void *
make_message(const struct ftrace_kind *kind, const bt_field *payload,
    struct annotations *a)
{
	const ProtobufCMessageDescriptor *descriptor = kind->event->descriptor;
	void *message = arena_alloc(a->arena, descriptor->sizeof_message);

	if (message == NULL)
		return NULL;
	protobuf_c_message_init(descriptor, message);
	for (unsigned i = 0; i < kind->n; i++) {
		const bt_field *from =
		    bt_field_structure_borrow_member_field_by_index_const(
			payload, kind->fields[i].index);

		if (!set(message, kind->fields[i].to, from, a))
			return NULL;
	}
	return message;
}

bool
ftrace_append(const struct ftrace_kind *kind, const bt_field *payload,
    int64_t ns, const int64_t *tid, struct annotations *a, struct text *out)
{
	Perfetto__FtraceEvent event = PERFETTO__FTRACE_EVENT__INIT;
	Perfetto__FtraceEvent *one = &event;
	Perfetto__FtraceEventBundle bundle =
	    PERFETTO__FTRACE_EVENT_BUNDLE__INIT;

	event.has_timestamp = true;
	event.timestamp = (uint64_t)ns;
	event.has_pid = tid != NULL;
	if (tid != NULL)
		event.pid = (uint32_t)*tid;
	event.event_case = (Perfetto__FtraceEvent__EventCase)kind->event->id;
	/* All members of the union are pointers to messages. */
	event.sched_switch = make_message(kind, payload, a);
	bundle.event = &one;
	bundle.n_event = 1;
	return event.sched_switch != NULL && packets_append(out, &bundle.base);
}
