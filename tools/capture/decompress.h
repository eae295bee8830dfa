/* SPDX-License-Identifier: MIT */
/* Compressed files: gzip, bzip2, xz, zstd. */
#ifndef TOOLS_CAPTURE_DECOMPRESS_H
#define TOOLS_CAPTURE_DECOMPRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/capture/child.h"

/* Do the first four bytes of a file, as they are in memory, say that it is
 * compressed? */
bool decompress_is_for(const uint8_t magic[4]);

/* Decompress standard input to standard output. Of a damaged file, all that can
 * be decompressed is written. */
child_work decompress;

#endif
