/* SPDX-License-Identifier: MIT */
/*
 * One event, one line, one write(2) to standard error or to a file: "level
 * detail", with a time if wanted, or JSON (log_text.h). By convention the
 * detail begins with peer=... host=... session=... stream=... as far as known.
 * A line is always one line, whatever names peers choose. Lines are cut at
 * LOG_LINE_MAX bytes, with their newline. errno does not change. Any thread.
 *
 * Standard error may be a pipe that is not read, or a disk may be full. So the
 * relay waits at most LOG_WAIT_MS per second until a line can be written. A
 * line that cannot be written is dropped, and the next one reports how many are
 * missing.
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "common/status.h"

#define LOG_LINE_MAX 1024
/* Enough for a slow reader, and short enough for a worker's cycle. */
#define LOG_WAIT_MS 100
/* Lines about peers, per second and level, so that information never suppresses
 * a warning. It is enough to name each tracer of a host that makes a mistake; a
 * flood of mistakes costs at most 5 kB/s. */
#define LOG_PEER_LINES 50

/* A shortage that lasts is logged this often. */
#define LOG_AGAIN_NS (10 * NS_PER_S)

/* LOG_NOTICE: what an operator wants to see on a day without trouble: start,
 * ends of sessions, new settings. */
enum log_level { LOG_ERROR, LOG_WARN, LOG_NOTICE, LOG_INFO, LOG_DEBUG };

/* The level of a failure follows from its cause: nobody: info, the peer:
 * warning, the relay: error. */
enum log_level log_level_of(enum status st);

/* Lines above LEVEL are dropped. Default LOG_WARN. */
void log_set_level(enum log_level level);
/* Abort after the first LOG_ERROR (LTTNG_ABORT_ON_ERROR=1). */
void log_set_abort_on_error(bool on);
bool log_wants(enum log_level level);

/*
 * Find out what standard error is: the journal gets priorities; a terminal or a
 * file gets the time if HAS_TIMES. Returns true if it is one of these, so that
 * somebody will read it. Called before threads start, or after standard error
 * was replaced.
 */
bool log_look_at_stderr(bool has_times);
/*
 * From now on send entries with fields to the journal instead of lines, if
 * standard error is the journal and it can be reached. For a process that has
 * started: the journal looks up the unit of the sender, which fails if the
 * process ends at once.
 */
void log_open_journal(void);
/* For tests: another path of the socket. Borrowed. */
void log_set_journal(const char *path);
/* JSON, or text. */
void log_set_json(bool on);
/* Write lines to the file PATH, and to standard error only warnings and errors.
 * The file is created with mode 0640 minus the umask. Called again, it changes
 * to the new PATH; after E_IO nothing has changed. Main thread. */
enum status log_open(const char *path) MUST_CHECK;
/* If there is a log file, stop writing to standard error. */
void log_leave_stderr(void);

/* The place in the source, for fields of the journal. */
struct log_source {
	const char *file, *function;
	int line;
};
#define LOG_HERE (&(const struct log_source){ __FILE__, __func__, __LINE__ })

/* ERROR: an errno, whose text is appended after ": "; 0: none. */
void log_line_at(const struct log_source *source, enum log_level level,
    int error, const char *fmt, ...) PRINTF_LIKE(4, 5);

#define log_line(level, ...) log_line_at(LOG_HERE, level, 0, __VA_ARGS__)
#define log_errno(level, ...) log_line_at(LOG_HERE, level, errno, __VA_ARGS__)

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_notice(...) log_line(LOG_NOTICE, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...)                                    \
	do {                                              \
		if (log_wants(LOG_DEBUG))                 \
			log_line(LOG_DEBUG, __VA_ARGS__); \
	} while (0)

/*
 * A peer can repeat a mistake as often as it likes, with new streams and
 * sessions, so a limit per stream or session is not enough. At most
 * LOG_PEER_LINES lines per second and level are written about all peers
 * together. The others are suppressed and counted.
 */
bool log_wants_peer(enum log_level level);
#define log_peer(level, ...)                          \
	do {                                          \
		if (log_wants_peer(level))            \
			log_line(level, __VA_ARGS__); \
	} while (0)
/* The same with the text of errno: for failures that a peer can cause. */
#define log_peer_errno(level, ...)                     \
	do {                                           \
		if (log_wants_peer(level))             \
			log_errno(level, __VA_ARGS__); \
	} while (0)

/* Log how many lines about peers were suppressed since the last report, one
 * line per level. Called once a second and before the relay exits; logging also
 * does it for its level in a later second. */
void log_report_suppressed(void);

/*
 * Limits a kind of line to one per interval: returns true if it may be logged
 * now. *LAST_NS belongs to the caller and starts at 0.
 */
bool log_ratelimit(uint64_t *last_ns, uint64_t interval_ns);

#endif
