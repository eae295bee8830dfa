/* SPDX-License-Identifier: MIT */
/* The JSON of the HTTP interface. Names come from peers: jansson escapes them,
 * and what is no UTF-8 is shown as U+FFFD. */
#ifndef RELAYD_HTTP_JSON_H
#define RELAYD_HTTP_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "relayd/stats/news.h"
#include "relayd/stats/stored_info.h"

struct history;
struct view;

/*
 * JSON (RFC 8259) as text, straight into a buffer: sessions and news, of which
 * there may be many, and for which objects of jansson take ten times as long.
 * What is written between open and close gets its commas by itself. After an
 * append that found no memory buf->bad is set (common/buf.h).
 */
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

/* Once, before the first object. */
void json_init(void);
/* Did all since json_begin() find memory? */
void json_begin(void);
bool json_is_whole(void);

/* Without memory these return NULL, or something that is not whole. */
json_t *json_of_text(const char *text);
/* What is deleted when: --max-use and its like, null for none. */
json_t *json_of_limits(const struct stored_figures *f);
json_t *json_of_status(const struct view *v);
/* The oldest first. */
json_t *json_of_history(const struct history *h);

/* Members of a session's object, into one that is open (json_text.h). */
void json_write_session(struct buf *b, const struct session_info *s);
/* The elements of "streams" and "viewers". */
void json_write_streams(struct buf *b, const struct info *i);
void json_write_viewers(struct buf *b, const struct info *i);

/* The data of an event: an object. */
void json_write_news(struct buf *b, const struct news *n);
/* The name of an event. */
const char *news_name(enum news_kind kind);

#endif
