/* SPDX-License-Identifier: MIT */
/*
 * The text of the file that says up to which time the streams of a live session
 * are known (streaming 5.7): one line for each stream. Pure functions.
 */
#ifndef CTF_BEACONS_H
#define CTF_BEACONS_H

#include <stdint.h>

#include "common/compiler.h"
#include "common/reader.h"
#include "common/status.h"

struct buf;

#define BEACONS_FILE ".beacons"
/* A reader holds a shared lock of its open file description (fcntl(2),
 * F_OFD_SETLK) on this byte of the session's directory. */
#define BEACONS_LOCK 1

/* No later event of this stream is before CYCLES, of its trace's clock. */
struct beacon {
	uint64_t cycles;
	uint64_t ctf_stream, ctf_instance; /* as in struct index_record */
	struct span path; /* of its trace in the session; borrowed */
};

/* The first line, and one more. Without memory OUT is bad. */
void beacons_begin(struct buf *out);
void beacons_add(struct buf *out, const struct beacon *b);

/* Take the first line off TEXT. E_MALFORMED: it is not that of such a file. */
enum status beacons_read(struct span *text) MUST_CHECK;
/* Take the next one. E_NOENT: there is none; E_MALFORMED. */
enum status beacons_next(struct span *text, struct beacon *out) MUST_CHECK;

#endif
