/* SPDX-License-Identifier: MIT */
/*
 * What a recording is in CTF 1.8 (trace-cmd 4.2 to 4.4): metadata, one stream
 * class, and for each event of the kernel how its bytes become those of a CTF
 * event. The trace knows the recording, and no files or sockets.
 *
 * A trace never changes once it is made, but for the head of its metadata;
 * streams have what changes.
 */
#ifndef TOOLS_FTRACE_CTF_TRACE_H
#define TOOLS_FTRACE_CTF_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/status.h"
#include "tools/ftrace/dat_read.h"

#define CTF_UUID_LEN 16
#define CTF_STREAM_CLASS 0
/* An event's header: id and time. */
#define CTF_EVENT_HEADER_LEN 10
/* A packet's header and context. */
#define CTF_PACKET_HEADER_LEN 84

/* How events and some of their fields are called. */
enum ctf_names {
	CTF_NAMES_SYSTEM, /* sched:sched_switch, as perf's output has it */
	CTF_NAMES_LTTNG,  /* sched_switch, and as LTTng names them */
};

struct ctf_settings {
	enum ctf_names names;
	const char *buffer; /* the ring buffer's name; borrowed for the call */
	/* Unix time is the trace's time and so many ns, if that is known. */
	bool has_offset;
	int64_t offset_ns;
	const char *offset_from; /* for the reader; borrowed for the call */
	/* Of any event, for recordings that have no id of their own. */
	uint64_t some_time;
};

/* No offset is larger: readers count ns from 1970 in 63 bits. */
#define CTF_OFFSET_MAX (INT64_C(1) << 62)

/* What the recording says of Unix time. */
void ctf_settings_offset(struct ctf_settings *s, const struct dat *d);

struct ctf_op;

/* How an event is encoded. */
struct ctf_event {
	const struct ctf_op *ops; /* NULL: it is not in the trace */
	uint32_t n_ops;
	uint32_t fixed_size; /* bytes that it has at least, in the page */
};

struct ctf_trace {
	const struct dat *dat; /* borrowed for as long as the trace lives */
	uint8_t uuid[CTF_UUID_LEN];
	uint8_t clock_uuid[CTF_UUID_LEN];
	uint64_t freq;		  /* of the clock, in Hz */
	uint64_t time_max;	  /* no time of an event is larger */
	struct buf metadata;	  /* its text */
	size_t head_size;	  /* bytes of it in front of what streams are */
	struct ctf_event *events; /* as dat->events */
	struct ctf_op *ops;
	size_t memory; /* of these two */
};

/* E_REFUSED: its clock has a frequency that nobody knows; *WHY is one line,
 * as of E_NOMEM. */
enum status ctf_trace_create(struct ctf_trace **out, const struct dat *d,
    const struct ctf_settings *settings, char why[DAT_WHY_MAX]) MUST_CHECK;
void ctf_trace_destroy(struct ctf_trace *t); /* NULL is fine */
/* The memory that it has. */
uint64_t ctf_trace_memory(const struct ctf_trace *t);

/* A time of the trace in ns, and back. */
uint64_t ctf_time_ns(const struct ctf_trace *t, uint64_t time);
uint64_t ctf_time_of_ns(const struct ctf_trace *t, uint64_t ns);

/*
 * The event with these bytes, behind its header, to AT, before END. Returns
 * what is behind it. NULL: it has not the bytes that its format says, or no
 * room.
 */
uint8_t *ctf_event_encode(const struct ctf_trace *t, const struct ctf_event *e,
    const uint8_t *data, uint32_t n, uint8_t *at, const uint8_t *end);

/* More is known of the clock: SETTINGS are others, but for the names. Events
 * are not looked at again. Not OK: the metadata is as it was. */
enum status ctf_metadata_again(
    struct ctf_trace *t, const struct ctf_settings *settings) MUST_CHECK;

#endif
