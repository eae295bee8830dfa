/* SPDX-License-Identifier: MIT */
/* The text of a line of the log. Any thread. */
#ifndef COMMON_LOG_TEXT_H
#define COMMON_LOG_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/log.h"

/* JSON has names and quotes around, and up to six bytes for one. */
#define LOG_JSON_MAX (2 * LOG_LINE_MAX)

/* What stands around the detail. */
struct log_look {
	bool has_priority; /* "<4>" at the start, as in sd-daemon(3) */
	bool has_time;	   /* UTC; JSON has it always */
	bool is_json;
};

const char *log_level_name(enum log_level level);

/*
 * Writes one line and its newline into the LOG_JSON_MAX bytes at OUT, and
 * returns the length: LOG_LINE_MAX at most but for JSON.
 *
 * As text, bytes that are not printable ASCII or well-formed UTF-8 (and no
 * control character) come out as \xNN. JSON is one object with "time", "level",
 * "message"; and "peer", "session", "stream" where DETAIL begins with
 * "peer=... session=... stream=...", without them in the message. Control
 * characters come out as \u00NN there, bytes that are no UTF-8 as the text
 * \xNN.
 */
size_t log_text(char out[LOG_JSON_MAX], struct log_look look,
    enum log_level level, const char *detail);

#endif
