/* SPDX-License-Identifier: MIT */
/* Append text to a buffer. When memory is short, buf->bad is set
 * (common/buf.h). */
#ifndef RELAYD_HTTP_TEXT_H
#define RELAYD_HTTP_TEXT_H

#include "common/buf.h"
#include "common/compiler.h"

void text_add(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* VALUE of a label of Prometheus, escaped, without its quotes. Bytes that are
 * not UTF-8 become U+FFFD, here and below. */
void text_label(struct buf *b, const char *value);
/* TEXT of a string of JSON, escaped, without its quotes. */
void text_json(struct buf *b, const char *text);

#endif
