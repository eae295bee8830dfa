/* SPDX-License-Identifier: MIT */
/*
 * --live-window: a live session's data files on disk are those of its last so
 * many bytes, or of its last time. Each of its streams that the tracer gave no
 * ring writes numbered files; the oldest file of all streams is deleted as new
 * ones come, so that a busy stream uses what quiet ones do not need. Sessions
 * of one tracing session (siblings) share one window.
 *
 * What a rotation leaves behind is kept: a window has files of the current
 * trace chunk only. Metadata is never deleted. The session's worker only.
 */
#ifndef RELAYD_RECORD_STREAM_WINDOW_H
#define RELAYD_RECORD_STREAM_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

struct chunk;
struct session;
struct stream_window;
struct shard;
struct siblings;
struct stream;

/* A file is an eighth of a stream's equal part of the window, or of its time,
 * but within these limits, in bytes: below the first, making and deleting files
 * would be most of the work; a file of the second is deleted in about 10 ms. */
#define WINDOW_FILE_MIN (UINT64_C(64) << 10)
#define WINDOW_FILE_MAX (UINT64_C(64) << 20)
#define WINDOW_PARTS 8
/* What a tracer said of the size of files, without a number of them, counts
 * from here on: each file of a window is remembered, in 200 bytes. */
#define WINDOW_GIVEN_MIN (UINT64_C(1) << 20)
/* What a file takes beside its bytes: the last blocks of data and index. */
#define WINDOW_FILE_COST (UINT64_C(8) << 10)

/* The windows of sessions that begin from now on; one is 0, or both: none. Any
 * thread, but only one. */
void stream_window_limit(uint64_t bytes, uint64_t ns);

/* Does S, which is new, get a window? E_NOMEM. */
enum status stream_window_begin(struct session *s) MUST_CHECK;
void stream_window_destroy(struct stream_window *w); /* NULL is fine */

/* The files of the chunk C, or all but those of C, or (NULL) all are kept: the
 * window forgets them. */
void stream_window_keep(struct siblings *s, const struct chunk *c);
void stream_window_keep_others(struct siblings *s, const struct chunk *c);

/* Delete what is too old, go on in new files. Returns when to call it again. */
uint64_t stream_window_tick(struct shard *sh, uint64_t now_ns);

/* T, a new stream, gets its session's window if there is one, and T is a data
 * stream without a ring. E_NOMEM. */
enum status stream_window_add(struct stream *t) MUST_CHECK;

/* Streams that have a window; without one nothing is done: */
/* It comes; it goes, its files stay in the window. */
void stream_window_join(struct stream *t);
void stream_window_leave(struct stream *t);
/* A file was opened. False: no memory to remember it. */
bool stream_window_opened(struct stream *t) MUST_CHECK;
/* It is sealed. */
void stream_window_sealed(struct stream *t);
/* BYTES are about to be written: delete files of the window for them. */
void stream_window_make_space(struct stream *t, uint64_t bytes);
/* BYTES were written. */
void stream_window_wrote(struct stream *t, uint64_t bytes);
/* Is the file full, as it has SIZE bytes and MORE are to come? */
bool stream_window_is_file_full(
    const struct stream *t, uint64_t size, uint64_t more);

#endif
