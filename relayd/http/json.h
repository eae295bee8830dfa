/* SPDX-License-Identifier: MIT */
/* The JSON of the HTTP interface. Names come from peers: jansson escapes them,
 * and what is no UTF-8 is shown as U+FFFD. */
#ifndef RELAYD_HTTP_JSON_H
#define RELAYD_HTTP_JSON_H

#include <jansson.h>

#include "common/buf.h"
#include "relayd/stats/news.h"
#include "relayd/stats/stored_info.h"

struct history;
struct view;

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
