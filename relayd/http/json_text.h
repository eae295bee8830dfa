/* SPDX-License-Identifier: MIT */
/*
 * JSON (RFC 8259) as text, straight into a buffer: sessions and news, of which
 * there may be many, and for which objects of jansson take ten times as long.
 * What is written between open and close gets its commas by itself. After an
 * append that found no memory buf->bad is set (common/buf.h).
 */
#ifndef RELAYD_HTTP_JSON_TEXT_H
#define RELAYD_HTTP_JSON_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"

/* '{' or '[', and what ends it. NAME: of a member; NULL: an element, or the
 * whole. */
void json_text_open(struct buf *b, const char *name, char bracket);
void json_text_close(struct buf *b, char bracket);

/* NAMES are ours, and are not escaped. Bytes of TEXT that are no UTF-8 become
 * U+FFFD. */
void json_text_number(struct buf *b, const char *name, uint64_t n);
void json_text_bool(struct buf *b, const char *name, bool is);
void json_text_string(struct buf *b, const char *name, const char *text);
/* Seconds with three digits behind the point. */
void json_text_seconds(struct buf *b, const char *name, uint64_t ns);
void json_text_null(struct buf *b, const char *name);

#endif
