/* SPDX-License-Identifier: MIT */
/*
 * Packets to an output of libtrace: pcapfile: (microseconds), erf:, ... Knows
 * libtrace. One thread.
 */
#ifndef TOOLS_CAPTURE_WRITER_H
#define TOOLS_CAPTURE_WRITER_H

#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/capture/record.h"

enum writer_compression {
	WRITER_PLAIN,
	WRITER_GZIP,
	WRITER_BZIP2,
	WRITER_LZO,
	WRITER_XZ,
	WRITER_COMPRESSIONS,
};

struct writer;

/* LEVEL is 0 to 9. Not OK: *WHY is one line. */
#define WRITER_WHY_MAX 512
enum status writer_open(struct writer **out, const char *uri,
    enum writer_compression compression, int level,
    char why[WRITER_WHY_MAX]) MUST_CHECK;
/* RECORD->len bytes at BYTES. E_MALFORMED: the output has no such link type,
 * it is left out. E_IO: nothing more can be written; writer_error() says why.
 * libtrace buffers: what the disk refuses may only be known with a later
 * packet. */
enum status writer_packet(struct writer *w, const struct record *record,
    const uint8_t *bytes) MUST_CHECK;
const char *writer_error(const struct writer *w);
/* Whatever is buffered is written; NULL is fine. */
void writer_close(struct writer *w);

/* WRITER_COMPRESSIONS: no such name. */
enum writer_compression writer_compression_parse(const char *name);

#endif
