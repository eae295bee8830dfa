/* SPDX-License-Identifier: MIT */
/*
 * One event, one line, one write(2) to stderr: "level detail". By convention
 * the detail begins with peer=... session=... stream=... as far as known.
 * Bytes that are not printable ASCII or well-formed UTF-8 (and no control
 * character) come out as \xNN, so a line is always one line. Lines are cut at
 * LOG_LINE_MAX bytes with their newline. errno is kept. Any thread.
 *
 * Nobody may read what stderr leads to. Of each second at most LOG_WAIT_MS are
 * spent waiting for room; lines that find none are left out, and the next one
 * that is written says in front of it how many.
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

#define LOG_LINE_MAX 1024
/* Enough for a reader that is only slow; a worker's turn hardly notices. */
#define LOG_WAIT_MS 100
/* Per second. A misuse by each of a host's tracers is told with their names;
 * a flood of them is 5 kB/s, however fast it comes. */
#define LOG_PEER_LINES 50

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* How loud a failure is, by who is to blame: nobody info, the peer a warning,
 * we an error. */
enum log_level log_level_of(enum status st);

/* Lines above LEVEL are dropped. Before threads start. Default LOG_WARN. */
void log_set_level(enum log_level level);
/* Abort after the first LOG_ERROR (LTTNG_ABORT_ON_ERROR=1). */
void log_set_abort_on_error(bool on);
bool log_wants(enum log_level level);

void log_line(enum log_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same, then ": " and the text of errno. */
void log_errno(enum log_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...)                                    \
	do {                                              \
		if (log_wants(LOG_DEBUG))                 \
			log_line(LOG_DEBUG, __VA_ARGS__); \
	} while (0)

/*
 * What peers do wrong they may do as often as they like: LOG_PEER_LINES lines
 * per second in all, then how many more there were.
 */
bool log_wants_peer(enum log_level level);
#define log_peer(level, ...)                          \
	do {                                          \
		if (log_wants_peer(level))            \
			log_line(level, __VA_ARGS__); \
	} while (0)

/*
 * At most one line per key and interval: true when the caller may log now.
 * *LAST_NS belongs to the caller and starts at 0.
 */
bool log_ratelimit(uint64_t *last_ns, uint64_t interval_ns);

#endif
