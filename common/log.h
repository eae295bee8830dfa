/* SPDX-License-Identifier: MIT */
/*
 * One event, one line, one write(2) to stderr, or to a file: "level detail",
 * perhaps with a time, or JSON (log_text.h). By convention the detail begins
 * with peer=... host=... session=... stream=... as far as known. A line is
 * always one line, whatever names peers have. Lines are cut at LOG_LINE_MAX
 * bytes with their newline. errno does not change. Any thread.
 *
 * Perhaps nobody reads what is written to stderr, or a disk is full. So the
 * relay waits at most LOG_WAIT_MS of each second until there is room. A line
 * that finds no room is left out, and the next line that is written says before
 * it how many are missing.
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

#define LOG_LINE_MAX 1024
/* This is enough for a reader that is only slow, and hardly delays a worker's
 * turn. */
#define LOG_WAIT_MS 100
/* Lines about peers, per second and level, so that information never hides a
 * warning. When each tracer of a host makes a mistake, there is room to name
 * them all; a flood of mistakes costs 5 kB/s at most. */
#define LOG_PEER_LINES 50

/* LOG_NOTICE: what whoever runs the relay wants to see of a day without
 * trouble: start, end of a session, new settings. */
enum log_level { LOG_ERROR, LOG_WARN, LOG_NOTICE, LOG_INFO, LOG_DEBUG };

/* The level of a failure follows from who is to blame: nobody: info, the peer:
 * a warning, we: an error. */
enum log_level log_level_of(enum status st);

/* Lines above LEVEL are dropped. Default LOG_WARN. */
void log_set_level(enum log_level level);
/* Abort after the first LOG_ERROR (LTTNG_ABORT_ON_ERROR=1). */
void log_set_abort_on_error(bool on);
bool log_wants(enum log_level level);

/*
 * Find out what standard error is: the journal gets priorities, a terminal or a
 * file the time if HAS_TIMES. True if it is one of these: somebody will look at
 * it. Before threads start, or when standard error has been replaced.
 */
bool log_look_at_stderr(bool has_times);
/*
 * From now on the journal, if it is standard error and can be reached, gets
 * entries with fields (log_journal.h) rather than lines. For a process that has
 * started: the journal looks up the unit of an entry's sender, and if a process
 * ends at once, it may be too late for that.
 */
void log_open_journal(void);
/* For tests: another path than LOG_JOURNAL_SOCKET. Borrowed. */
void log_set_journal(const char *path);
/* JSON, or text. */
void log_set_json(bool on);
/* Lines go to the file PATH, and to stderr only warnings and errors. It is made
 * with mode 0640 less the umask. When called again, to the new PATH instead;
 * E_IO: all stays as it was. Main thread. */
enum status log_open(const char *path) MUST_CHECK;
/* If there is a log file, lines go to no other place from here on. */
void log_leave_stderr(void);

/* Where in the source a line is logged: the journal has fields for it. */
struct log_source {
	const char *file, *function;
	int line;
};
#define LOG_HERE (&(const struct log_source){ __FILE__, __func__, __LINE__ })

void log_line_at(const struct log_source *source, enum log_level level,
    const char *fmt, ...) PRINTF_LIKE(3, 4);
void log_errno_at(const struct log_source *source, enum log_level level,
    const char *fmt, ...) PRINTF_LIKE(3, 4);

#define log_line(level, ...) log_line_at(LOG_HERE, level, __VA_ARGS__)
/* The same, then ": " and the text of errno. */
#define log_errno(level, ...) log_errno_at(LOG_HERE, level, __VA_ARGS__)

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
 * A peer can repeat a mistake as often as it likes, and come back with new
 * streams and sessions: one line for each of these is no limit. So at most
 * LOG_PEER_LINES lines per second and level are written about all peers
 * together. The others are suppressed and counted.
 */
bool log_wants_peer(enum log_level level);
#define log_peer(level, ...)                          \
	do {                                          \
		if (log_wants_peer(level))            \
			log_line(level, __VA_ARGS__); \
	} while (0)
/* The same with the text of errno: failures that a peer can bring about. */
#define log_peer_errno(level, ...)                     \
	do {                                           \
		if (log_wants_peer(level))             \
			log_errno(level, __VA_ARGS__); \
	} while (0)

/* Log how many lines about peers were suppressed since the last report, if any
 * were: a line for each level. The relay calls it once a second and before it
 * exits; the next line of a level does it, too, in a later second. */
void log_report_suppressed(void);

/*
 * At most one line per key and interval: true when the caller may log now.
 * *LAST_NS belongs to the caller and starts at 0.
 */
bool log_ratelimit(uint64_t *last_ns, uint64_t interval_ns);

#endif
