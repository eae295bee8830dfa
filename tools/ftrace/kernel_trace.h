/* SPDX-License-Identifier: MIT */
/*
 * A recording as a CTF 1.8 trace (trace-cmd 4.2 to 4.4): its metadata, one
 * stream class, and for each kernel event how its bytes become a CTF event.
 * Knows the recording, but no files or sockets. A trace never changes, except
 * for the head of its metadata. What changes is in the streams
 * (kernel_stream.h).
 */
#ifndef TOOLS_FTRACE_KERNEL_TRACE_H
#define TOOLS_FTRACE_KERNEL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/status.h"
#include "ctf/packet.h"
#include "tools/ftrace/dat_read.h"

#define KERNEL_STREAM_CLASS 0
/* An event header: id and time. */
#define KERNEL_EVENT_HEADER_LEN 10
/* A packet header and context. */
#define KERNEL_PACKET_HEADER_LEN 84

/* The names of events and of some of their fields. */
enum kernel_names {
	KERNEL_NAMES_SYSTEM, /* sched:sched_switch, as perf names it */
	KERNEL_NAMES_LTTNG,  /* sched_switch, as LTTng names it */
};

struct kernel_settings {
	enum kernel_names names;
	const char *buffer; /* name of the ring buffer; borrowed for the call */
	/* Unix time minus the trace's time, if known. */
	bool has_offset;
	int64_t offset_ns;
	const char *offset_from; /* its source; borrowed for the call */
	bool has_error;
	uint64_t error_ns; /* the offset is wrong by at most that much */
	/* The time of any event, for recordings without an id of their own. */
	uint64_t some_time;
};

/* The largest offset: readers count ns since 1970 in 63 bits. */
#define KERNEL_OFFSET_MAX (INT64_C(1) << 62)

/* Sets the offset that the recording states. */
void kernel_settings_offset(struct kernel_settings *s, const struct dat *d);

struct kernel_op;

/* How one event is encoded. */
struct kernel_event {
	const struct kernel_op *ops; /* NULL: the event is not in the trace */
	uint32_t n_ops;
	uint32_t fixed_size; /* the least bytes of it in a page */
};

struct kernel_trace {
	const struct dat *dat; /* borrowed for the trace's life */
	uint8_t uuid[CTF_UUID_LEN];
	uint8_t clock_uuid[CTF_UUID_LEN];
	uint64_t freq;		     /* of the clock, in Hz */
	uint64_t time_max;	     /* the largest time of an event */
	struct buf metadata;	     /* text */
	size_t head_size;	     /* bytes of it before the stream class */
	struct kernel_event *events; /* in the order of dat->events */
	struct kernel_op *ops;
	size_t memory; /* bytes of these two */
};

/* E_REFUSED: the frequency of its clock is not known. On failure WHY is one
 * line. */
enum status kernel_trace_create(struct kernel_trace **out, const struct dat *d,
    const struct kernel_settings *settings, char why[DAT_WHY_MAX]) MUST_CHECK;
void kernel_trace_destroy(struct kernel_trace *t); /* NULL is fine */

/* Convert a time of the trace to ns, and back. */
uint64_t kernel_time_ns(const struct kernel_trace *t, uint64_t time);
uint64_t kernel_time_of_ns(const struct kernel_trace *t, uint64_t ns);

/*
 * Encodes the event of N bytes at DATA, without its header, at AT, before END.
 * Returns the address after it. NULL: the bytes do not match the format, or do
 * not fit.
 */
uint8_t *kernel_event_encode(const struct kernel_trace *t,
    const struct kernel_event *e, const uint8_t *data, uint32_t n, uint8_t *at,
    const uint8_t *end);

/* Writes the metadata's head again, since more is known of the clock. The names
 * of SETTINGS must be the same. On failure the metadata is unchanged. */
enum status kernel_metadata_again(
    struct kernel_trace *t, const struct kernel_settings *settings) MUST_CHECK;

#endif
