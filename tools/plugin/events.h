/* SPDX-License-Identifier: MIT */
/*
 * Messages of babeltrace2 by stream and by class of event. What a format keeps
 * for a stream, or for the events of one class in it, is made once and is
 * forgotten when the stream ends. One thread.
 */
#ifndef TOOLS_PLUGIN_EVENTS_H
#define TOOLS_PLUGIN_EVENTS_H

#include <stdbool.h>

#include <babeltrace2/babeltrace.h>

#include "tools/plugin/text.h"

/* A stream that has begun; the first member of what a format keeps for it. */
struct events_stream {
	struct events_stream *next;
	struct events_kind *kinds;
	const bt_stream *stream; /* our reference keeps its classes, too */
	bool has_cpu;		 /* "cpu_id" of the packet */
	uint64_t cpu;
};

/* The events of one class in one stream; as above. */
struct events_kind {
	struct events_kind *next;  /* in the bucket */
	struct events_kind *other; /* of the stream */
	const bt_event_class *class;
	struct events_stream *stream;
};

/* What a message of lost events or packets says. */
struct events_loss {
	const char *what; /* "events", "packets" */
	struct events_stream *stream;
	const bt_clock_snapshot *begin, *end; /* or NULL */
	bool counted;
	uint64_t count;
};

/* What a format does. False: as sink_format.message(). */
struct events_format {
	size_t stream_size, kind_size; /* of what it keeps */
	bool (*stream_begins)(void *format, struct events_stream *stream);
	void (*stream_ends)(struct events_stream *stream);
	bool (*packet_begins)(
	    struct events_stream *stream, const bt_packet *packet);
	bool (*kind_begins)(
	    void *format, struct events_kind *kind, struct text *out);
	void (*kind_ends)(struct events_kind *kind);
	/* TIME is NULL if the stream has no clock. */
	bool (*event)(void *format, struct events_kind *kind,
	    const bt_event *event, const bt_clock_snapshot *time,
	    struct text *out);
	bool (*loss)(
	    void *format, const struct events_loss *loss, struct text *out);
};

struct events;

/* FORMAT is passed to OPS. */
struct events *events_create(const struct events_format *ops, void *format);
void events_destroy(struct events *e);

bool events_message(
    struct events *e, const bt_message *message, struct text *out);

/* Of the environment of the stream's trace, or NULL. */
const char *events_environment(
    const struct events_stream *stream, const char *name);

/* The last part of the stream's name, or NULL. */
const char *events_stream_name(const struct events_stream *stream);

/* The name of its events, or "". */
const char *events_kind_name(const struct events_kind *kind);

/* Does its clock count from 1970? */
bool events_has_epoch(const struct events_stream *stream);

/* ns since the origin of its clock; false: out of the range of 64 bits. */
bool events_ns(const bt_clock_snapshot *snapshot, int64_t *ns);

#endif
