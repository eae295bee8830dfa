/* SPDX-License-Identifier: MIT */
/*
 * JSON (RFC 8259) as text in a buffer: the writer, and the answers of the HTTP
 * interface. The writer adds the commas. When memory is short, buf->bad is set
 * (common/buf.h).
 */
#ifndef RELAYD_HTTP_JSON_H
#define RELAYD_HTTP_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "relayd/stats/relay_event.h"
#include "relayd/stats/stored_info.h"

struct history;
struct view;

/* '{' or '[', and what ends it. NAME: of a member; NULL: an element, or the
 * outermost value. */
void json_open(struct buf *b, const char *name, char bracket);
void json_close(struct buf *b, char bracket);
/* Names are constant and not escaped. Bytes of TEXT that are not UTF-8 become
 * U+FFFD. */
void json_add_number(struct buf *b, const char *name, uint64_t n);
void json_add_bool(struct buf *b, const char *name, bool is);
void json_add_string(struct buf *b, const char *name, const char *text);
/* Seconds with three decimals. */
void json_add_seconds(struct buf *b, const char *name, uint64_t ns);
void json_add_null(struct buf *b, const char *name);

/* /api/v1/status: members have the names of the metrics. */
void json_write_status(struct buf *b, const struct view *v);
/* /api/v1/history, the oldest first. */
void json_write_history(struct buf *b, const struct history *h);
/* Member "limits": --max-use and its like, null for none. */
void json_write_limits(struct buf *b, const struct stored_figures *f);
/* Members of a session, in an open object. */
void json_write_session(struct buf *b, const struct session_info *s);
/* The elements of "streams" and "viewers". */
void json_write_streams(struct buf *b, const struct info *i);
void json_write_viewers(struct buf *b, const struct info *i);
/* The data of an event: an object. */
void json_write_event(struct buf *b, const struct relay_event *n);
/* The name of an event. */
const char *relay_event_name(enum relay_event_kind kind);

#endif
