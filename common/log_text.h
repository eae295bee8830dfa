/* SPDX-License-Identifier: MIT */
/* The text of log lines. Any thread. */
#ifndef COMMON_LOG_TEXT_H
#define COMMON_LOG_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/log.h"

/* JSON adds names and quotes, and takes up to six bytes for one. */
#define LOG_JSON_MAX (2 * LOG_LINE_MAX)

/* What is added to the detail. */
struct log_look {
	bool has_priority; /* "<4>" at the start, as in sd-daemon(3) */
	bool has_time;	   /* UTC; JSON has it always */
	bool is_json;
};

/* The priority of syslog(3). */
int log_priority(enum log_level level);

/* Remove the tag "NAME=VALUE" and the blank after it from the start of *DETAIL.
 * Returns the length of its value, at *VALUE; 0: no such tag. */
size_t log_take_tag(const char *name, const char **detail, const char **value);
/* Write TEXT up to END into the N bytes at OUT, escaped as log_text() does,
 * without a NUL. Text that does not fit is cut between characters. Returns the
 * length. */
size_t log_escape(
    char *out, size_t n, const char *text, const char *end, bool is_json);

/*
 * Writes one line and its newline into the LOG_JSON_MAX bytes at OUT, and
 * returns the length: LOG_LINE_MAX at most but for JSON.
 *
 * As text, hidden characters (utf8_is_hidden()) come out as \xNN, \uNNNN or
 * \UNNNNNNNN, bytes that are not UTF-8 as \xNN. JSON is one object with "time",
 * "level", "message"; and "peer", "host", "session", "stream" where DETAIL
 * begins with "peer=... host=... session=... stream=...", without them in the
 * message. Hidden characters are escaped as JSON has it there, bytes that are
 * not UTF-8 come out as the text \xNN.
 */
size_t log_text(char out[LOG_JSON_MAX], struct log_look look,
    enum log_level level, const char *detail);

#endif
