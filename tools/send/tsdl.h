/* SPDX-License-Identifier: MIT */
/*
 * What a sender must know of a trace's metadata (CTF 1.8, TSDL): where the
 * fields of a packet's header and context are, and how fast its clock ticks.
 * Everything else is skipped.
 *
 * Understood: typealias, typedef, struct, integers, floating point numbers,
 * enumerations, arrays of constant length, nested structs. A packet header or
 * context whose size is not constant (strings, sequences, variants) is refused.
 */
#ifndef TOOLS_SEND_TSDL_H
#define TOOLS_SEND_TSDL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/status.h"

/* The fields that matter, of header and context. */
enum tsdl_name {
	TSDL_MAGIC,
	TSDL_STREAM_ID,
	TSDL_STREAM_INSTANCE_ID,
	TSDL_PACKET_SIZE,
	TSDL_CONTENT_SIZE,
	TSDL_TIMESTAMP_BEGIN,
	TSDL_TIMESTAMP_END,
	TSDL_EVENTS_DISCARDED,
	TSDL_PACKET_SEQ_NUM,
	TSDL_NAMES
};

struct tsdl_field {
	unsigned offset; /* bits from the beginning of its struct */
	unsigned size;	 /* bits, 1 to 64; 0: there is no such field */
	bool is_little_endian;
	bool is_native; /* its type has no byte order of its own */
};

struct tsdl_layout {
	struct tsdl_field fields[TSDL_NAMES];
	unsigned size;	/* bits */
	unsigned align; /* bits */
};

struct tsdl_stream {
	uint64_t id;
	struct tsdl_layout context;
};

struct tsdl_clock {
	uint64_t freq; /* cycles per second */
	int64_t offset_s, offset;
};

struct tsdl {
	struct tsdl_layout header;
	struct tsdl_stream *streams;
	unsigned n_streams;
	struct tsdl_clock clock; /* the first; without any: 1 GHz from 0 */
	char error[256];
};

/* Append the text of a metadata file, N bytes at P, which has it plain or in
 * packets. Not OK: *WHY is a constant text. E_REFUSED: CTF 2, or packed in an
 * unknown way. */
enum status tsdl_unpack(
    struct buf *out, const uint8_t *p, uint64_t n, const char **why) MUST_CHECK;

/* Parse the N bytes of text at P. Not OK (E_MALFORMED, E_REFUSED, E_NOMEM):
 * T->error says why; call tsdl_free() in any case. */
enum status tsdl_parse(struct tsdl *t, const char *p, size_t n) MUST_CHECK;
void tsdl_free(struct tsdl *t);

/* The stream class of that id; NULL: none. */
const struct tsdl_stream *tsdl_stream_of(const struct tsdl *t, uint64_t id);

/* The field F of a struct that begins at bit BASE of P, as an unsigned number;
 * 0 if there is no such field. */
uint64_t tsdl_read(const uint8_t *p, const struct tsdl_field *f, uint64_t base);

/* Nanoseconds since the clock's origin; and back, rounded down. */
uint64_t tsdl_ns(const struct tsdl *t, uint64_t cycles);
uint64_t tsdl_cycles(const struct tsdl *t, uint64_t ns);

#endif
