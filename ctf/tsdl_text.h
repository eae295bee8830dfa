/* SPDX-License-Identifier: MIT */
/* Text in CTF's metadata language (CTF 1.8, 7.3). Without memory, out->bad is
 * set. */
#ifndef CTF_TSDL_TEXT_H
#define CTF_TSDL_TEXT_H

#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "ctf/packet.h"

void tsdl_text(struct buf *out, const char *s);
void tsdl_format(struct buf *out, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Append S as a string literal; any bytes are allowed. */
void tsdl_quoted(struct buf *out, const char *s);
/* Append the UUID U as a string literal. */
void tsdl_uuid(struct buf *out, const uint8_t u[CTF_UUID_LEN]);

#endif
