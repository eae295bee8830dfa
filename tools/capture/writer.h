/* SPDX-License-Identifier: MIT */
/*
 * Writes packets to an output of libtrace: pcapfile: and pcap: (in
 * microseconds), erf: (Ethernet to less than a nanosecond, others in
 * microseconds), ... One thread.
 */
#ifndef TOOLS_CAPTURE_WRITER_H
#define TOOLS_CAPTURE_WRITER_H

#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/capture/record.h"

enum writer_compression {
	WRITER_GZIP,
	WRITER_BZIP2,
	WRITER_LZO,
	WRITER_XZ,
	WRITER_PLAIN,
};

struct writer;

/* LEVEL is 0 to 9; URI is borrowed for as long as the writer lives. Not OK:
 * *WHY is one line. */
#define WRITER_WHY_MAX 512
enum status writer_open(struct writer **out, const char *uri,
    enum writer_compression compression, int level,
    char why[WRITER_WHY_MAX]) MUST_CHECK;
/* Write RECORD->len bytes at BYTES. libtrace 3 writes lengths below 65536, of
 * Ethernet including the checksum: of longer packets the first 65531 bytes are
 * written (65535 of other types, 65517 to erf:), and wire_len is limited
 * likewise. E_MALFORMED: the output does not support the link type, or, as a
 * pcap file, only that of its first packet; the packet is left out. E_IO:
 * nothing more can be written; see writer_error(). A failure to write buffered
 * packets may be reported later, at last by writer_finish(). */
enum status writer_packet(struct writer *w, const struct record *record,
    const uint8_t *bytes) MUST_CHECK;
const char *writer_error(const struct writer *w);
/* Write what is buffered, once, at the end. E_IO as above: an output that is a
 * file reports every failure; others do not. */
enum status writer_finish(struct writer *w) MUST_CHECK;
void writer_close(struct writer *w); /* NULL is fine */

#endif
