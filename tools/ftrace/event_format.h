/* SPDX-License-Identifier: MIT */
/*
 * An event of the kernel, as its format text describes it (trace-cmd 3.6): its
 * id, and the fields that its bytes have. Only the lines of fields are read,
 * never the print format. The text comes from a peer: any text gives either a
 * format that is valid, or a refusal.
 *
 * Depends on: common/. Pure functions; what is parsed never changes.
 */
#ifndef TOOLS_FTRACE_EVENT_FORMAT_H
#define TOOLS_FTRACE_EVENT_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/reader.h"
#include "common/status.h"

/* Longer names are cut. */
#define EVENT_NAME_MAX 128
/* Fields of one event; a kernel has events with about 60. */
#define EVENT_FIELDS_MAX 256
/* What an event's fixed fields may take. A page's events are smaller. */
#define EVENT_FIXED_MAX 65535

enum field_kind {
	FIELD_INTEGER, /* one, of ELEMENT bytes */
	FIELD_TEXT,    /* SIZE bytes of text, up to a NUL if there is one */
	FIELD_ARRAY,   /* COUNT integers */
	FIELD_BYTES,   /* SIZE bytes of something else */
	FIELD_DYNAMIC_TEXT, /* __data_loc, or __rel_loc: SIZE is 4 */
	FIELD_DYNAMIC_ARRAY,
	FIELD_REST_TEXT, /* from OFFSET to the end of the event; SIZE is 0 */
	FIELD_REST_ARRAY,
};

struct event_field {
	char name[EVENT_NAME_MAX]; /* a name in C; not empty */
	enum field_kind kind;
	uint32_t offset, size; /* bytes in the event */
	uint32_t count;	       /* of elements, in FIELD_ARRAY */
	uint8_t element;       /* 1, 2, 4 or 8 bytes */
	bool is_signed;
	bool is_address;  /* better read in hexadecimal */
	bool is_relative; /* __rel_loc */
};

struct event_format {
	char system[EVENT_NAME_MAX], name[EVENT_NAME_MAX]; /* printable */
	uint16_t id;
	/* All fields are within so many bytes. */
	uint32_t fixed_size;
	/* Fields that all events have, in front; their names begin with
	 * "common_". */
	unsigned n_common;
	unsigned n_fields; /* with these */
	struct event_field *fields;
};

/* SYSTEM is borrowed for the call. LONG_SIZE is 4 or 8: of the kernel.
 * E_MALFORMED: it has no name or id, or a field that no event can have.
 * E_LIMIT: more than the limits above. E_NOMEM. */
enum status event_format_parse(struct event_format **out, struct span system,
    struct span text, unsigned long_size) MUST_CHECK;
void event_format_free(struct event_format *f); /* NULL is fine */

/* The field of that name; NULL: there is none. */
const struct event_field *event_format_field(
    const struct event_format *f, const char *name);

/*
 * A line "field:TYPE NAME;	offset:N;	size:N;	signed:N;" of any such
 * text, without its end. E_MALFORMED: it is none.
 */
enum status event_field_parse(
    struct event_field *out, struct span line, unsigned long_size) MUST_CHECK;

/* Does S begin with WORD? Then this is taken from it. */
bool event_format_take(struct span *s, const char *word);
/* The next line of TEXT, without its end, which is taken from it. False: there
 * is none. */
bool event_format_line(struct span *text, struct span *line);

#endif
