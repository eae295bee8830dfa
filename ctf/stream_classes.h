/* SPDX-License-Identifier: MIT */
/*
 * Which data stream classes a trace's metadata declares, found as its bytes
 * come in. The metadata is TSDL (CTF 1.8, 7.3.2) as plain text or in packets
 * (CTF 1.8, 7.1), with its signature, or a JSON text sequence (CTF 2). This is
 * not a parser: what it does not understand counts as declaring every class, so
 * that no viewer waits for a class forever.
 *
 * Single owner. Depends on: common/.
 */
#ifndef CTF_STREAM_CLASSES_H
#define CTF_STREAM_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of one metadata stream that are scanned, so that a peer that sends
 * without end costs no more time. LTTng declares its classes in the first few
 * KiB. */
#define STREAM_CLASSES_BYTES_MAX (4 * 1024 * 1024)

/* A set of class ids: bit N is class N; the last bit is all classes from 63
 * on. */
#define STREAM_CLASSES_ALL UINT64_MAX

static inline bool
stream_classes_have(uint64_t set, uint64_t id)
{
	return (set & (UINT64_C(1) << (id < 63 ? id : 63))) != 0;
}

/* All zeros is the beginning of a metadata stream. */
struct stream_classes {
	uint64_t found; /* the set of classes whose declaration is whole */
	uint64_t bytes; /* bytes scanned */

	/* packets around the text */
	enum { CLASSES_BEGIN, CLASSES_PLAIN, CLASSES_PACKETS } form;
	uint8_t head[37]; /* of a packet, as far as it came */
	unsigned n_head;
	uint64_t text_left, skip_left; /* bytes of this packet */

	unsigned n_signed; /* characters checked of the signature, or more */

	/* TSDL: tokens */
	enum {
		CLASSES_TEXT,
		CLASSES_SLASH, /* the beginning of a comment, perhaps */
		CLASSES_LINE,  /* a comment up to the end of the line */
		CLASSES_BLOCK, /* a comment of the other kind */
		CLASSES_STAR,  /* in such a comment, perhaps its end */
		CLASSES_STRING,
		CLASSES_ESCAPE, /* after a backslash in a string */
		CLASSES_JSON,
	} state;
	char word[24];
	unsigned n_word;

	/* TSDL: the place in the declarations */
	unsigned depth; /* of braces */
	bool is_stream; /* the outermost brace is that of a stream class */
	enum { CLASSES_OTHER, CLASSES_STREAM, CLASSES_TRACE } after;
	bool has_trace; /* the description of the trace was seen */
	enum { CLASSES_NO_ID, CLASSES_ID, CLASSES_ID_IS } id_state;
	uint64_t id;

	unsigned n_matched; /* JSON: matched characters of the wanted word */
};

/* The set of declared classes. It has all classes if the text is TSDL in which
 * neither a class nor a trace was declared so far: then viewers must not wait
 * for a class. */
uint64_t stream_classes_set(const struct stream_classes *s);

/* The next N bytes of the metadata stream; PADDING zero bytes follow. */
void stream_classes_feed(
    struct stream_classes *s, const uint8_t *p, uint64_t n, uint32_t padding);

#endif
