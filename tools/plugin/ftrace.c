/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "tools/plugin/ftrace.h"
#include "tools/plugin/packets.h"
#include "tools/plugin/places.h"

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

/* A member of PAYLOAD that TO can hold: called as TO is, or "tid" for "pid". */
static bool
find_member(const bt_field_class *payload, const ProtobufCFieldDescriptor *to,
    uint64_t *index)
{
	bt_field_class_type type = to->type == PROTOBUF_C_TYPE_STRING
				       ? BT_FIELD_CLASS_TYPE_STRING
				       : BT_FIELD_CLASS_TYPE_INTEGER;
	size_t len = strlen(to->name);
	char other[64];

	(void)snprintf(other, sizeof(other), "%s", to->name);
	if (len >= 3 && strcmp(to->name + len - 3, "pid") == 0)
		other[len - 3] = 't';
	return places_member(payload, to->name, type, index) ||
	       places_member(payload, other, type, index);
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

		if (!find_member(payload, to, &index))
			continue;
		kind->fields[kind->n].to = to;
		kind->fields[kind->n++].index = index;
	}
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
		*(int64_t *)member = places_integer(from);
	else /* int32, uint32 */
		*(int32_t *)member = (int32_t)places_integer(from);
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
