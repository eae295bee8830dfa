/* SPDX-License-Identifier: MIT */
/*
 * The CTF index file format (streaming 5.6): a 16-byte header, then records
 * of 56 bytes (1.0) or 72 (1.1), all big-endian. Pure functions.
 */
#ifndef CTF_INDEX_H
#define CTF_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

#define INDEX_MAGIC UINT32_C(0xC1F1DCC1)
#define INDEX_HEADER_LEN 16
#define INDEX_RECORD_MAX 72

/* The fields of a record of the file, in its order. */
struct index_record {
	uint64_t offset;			 /* bytes, in the data file */
	uint64_t packet_size;			 /* bits */
	uint64_t content_size;			 /* bits */
	uint64_t timestamp_begin, timestamp_end; /* trace clock cycles */
	uint64_t events_discarded;
	uint64_t ctf_stream;	 /* CTF stream class id */
	uint64_t ctf_instance;	 /* 1.1 only */
	uint64_t packet_seq_num; /* 1.1 only; the tracer's number */
};

/* MINOR is 0 or 1. */
static inline uint32_t
index_record_len(unsigned minor)
{
	return minor == 0 ? 56 : 72;
}

/* The byte of the data file after its packet. */
static inline uint64_t
index_end(const struct index_record *rec)
{
	return rec->offset + rec->packet_size / 8;
}

/* Does REC describe bytes of a data file of SIZE bytes, after those of BEFORE?
 * NULL: it is the first record. Any part of a record that is torn may be
 * zeros. */
bool index_is_whole(const struct index_record *rec,
    const struct index_record *before, uint64_t size);

void index_header_encode(uint8_t out[INDEX_HEADER_LEN], unsigned minor);
/* E_MALFORMED: not an index file, or an unknown version. */
enum status index_header_decode(
    const uint8_t in[INDEX_HEADER_LEN], unsigned *minor) MUST_CHECK;
/* OUT has at least index_record_len(MINOR) bytes. */
void index_encode(uint8_t *out, const struct index_record *rec, unsigned minor);
void index_decode(const uint8_t *in, struct index_record *rec, unsigned minor);

#endif
