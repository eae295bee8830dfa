/* SPDX-License-Identifier: MIT */
/*
 * The format of a kernel event, parsed from its format text (trace-cmd 3.6):
 * its id, its fields and the names of their values.
 * The text comes from a peer: each text results in a valid format or in a
 * refusal. Depends on: common/. Pure functions; a parsed format never changes.
 */
#ifndef TOOLS_FTRACE_EVENT_FORMAT_H
#define TOOLS_FTRACE_EVENT_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/reader.h"
#include "common/status.h"
#include "tools/ftrace/event_labels.h"

/* Longer names are cut. */
#define EVENT_NAME_MAX 128
/* Fields of one event; a kernel has events with about 60. */
#define EVENT_FIELDS_MAX 256
/* The most bytes of an event's fixed fields. Events in a page are smaller. */
#define EVENT_FIXED_MAX 65535

enum field_kind {
	FIELD_INTEGER,	    /* one integer of ELEMENT bytes */
	FIELD_TEXT,	    /* SIZE bytes of text, or up to a NUL */
	FIELD_ARRAY,	    /* COUNT integers */
	FIELD_BYTES,	    /* SIZE bytes of anything else */
	FIELD_DYNAMIC_TEXT, /* __data_loc or __rel_loc; SIZE is 4 */
	FIELD_DYNAMIC_ARRAY,
	FIELD_REST_TEXT, /* from OFFSET to the end of the event; SIZE is 0 */
	FIELD_REST_ARRAY,
};

struct event_field {
	char name[EVENT_NAME_MAX]; /* an identifier in C; not empty */
	enum field_kind kind;
	uint32_t offset, size; /* bytes, in the event */
	uint32_t count;	       /* elements of a FIELD_ARRAY */
	uint8_t element;       /* 1, 2, 4 or 8 bytes */
	bool is_signed;
	bool is_address;	    /* shown in hexadecimal */
	bool is_code;		    /* by its name, the address of a function */
	bool is_relative;	    /* __rel_loc */
	struct event_labels labels; /* of an integer; N is 0: none */
};

struct event_format {
	char system[EVENT_NAME_MAX], name[EVENT_NAME_MAX]; /* printable */
	uint16_t id;
	/* The end of the last field. */
	uint32_t fixed_size;
	/* The first fields, which all events have; their names begin with
	 * "common_". */
	unsigned n_common;
	unsigned n_fields; /* includes N_COMMON */
	struct event_field *fields;
};

/* SYSTEM is borrowed for the call. LONG_SIZE is the kernel's: 4 or 8.
 * E_MALFORMED: no name or no id, or an impossible field. E_LIMIT: more than the
 * limits above. E_NOMEM. */
enum status event_format_parse(struct event_format **out, struct span system,
    struct span text, unsigned long_size) MUST_CHECK;
void event_format_free(struct event_format *f); /* NULL is fine */

/* The field of this name, or NULL. */
const struct event_field *event_format_field(
    const struct event_format *f, const char *name);

/*
 * Parses a line "field:TYPE NAME;	offset:N;	size:N;	signed:N;"
 * without its end. E_MALFORMED: it is not such a line.
 */
enum status event_field_parse(
    struct event_field *out, struct span line, unsigned long_size) MUST_CHECK;

/* Removes WORD from the beginning of S. False: S begins with something else. */
bool event_format_take(struct span *s, const char *word);
/* Removes the next line from TEXT; LINE has no line end. False: TEXT is empty.
 */
bool event_format_line(struct span *text, struct span *line);

#endif
