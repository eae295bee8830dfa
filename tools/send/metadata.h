/* SPDX-License-Identifier: MIT */
/* The file "metadata" of a CTF 1.8 trace: text, or text in packets. */
#ifndef TOOLS_SEND_METADATA_H
#define TOOLS_SEND_METADATA_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/status.h"

/* Append the text of the N bytes at P. Not OK: *WHY is a constant text.
 * E_REFUSED: CTF 2, or packed in a way we do not know. */
enum status metadata_text(
    struct buf *out, const uint8_t *p, uint64_t n, const char **why) MUST_CHECK;

#endif
