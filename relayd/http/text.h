/* SPDX-License-Identifier: MIT */
/* Text that is put together in a buffer. After an append that found no memory
 * buf->bad is set (common/buf.h). */
#ifndef RELAYD_HTTP_TEXT_H
#define RELAYD_HTTP_TEXT_H

#include "common/buf.h"
#include "common/compiler.h"

void text_add(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* TEXT; bytes that are no UTF-8 become U+FFFD. */
void text_utf8(struct buf *b, const char *text);
/* The same for the value of a label of Prometheus, without its quotes: what
 * would end it is escaped. */
void text_label(struct buf *b, const char *value);
/* The same for HTML: between tags, or as a value in quotes. People read it:
 * hidden characters (utf8_is_hidden()) are shown as \u202e. */
void text_html(struct buf *b, const char *text);
/* The same for a string of JSON, without its quotes. */
void text_json(struct buf *b, const char *text);

#endif
