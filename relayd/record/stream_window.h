/* SPDX-License-Identifier: MIT */
/*
 * --live-window: the data files of a live session on disk are those of its last
 * so many bytes, or of its last seconds. Each stream without a ring from the
 * tracer writes numbered files. As new files come, the oldest file of all
 * streams is deleted, so a busy stream uses what quiet ones do not need. The
 * sessions of one tracing session (siblings) share one window.
 *
 * A window has files of the current trace chunk only: a rotation keeps those of
 * the previous one. Metadata is never deleted. The session's worker only.
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
struct state_in;
struct state_out;
struct stream;

/* A file is an eighth of a stream's equal part of the window, or of its time,
 * but within these limits, in bytes. Below the first, most of the work would be
 * creating and deleting files. Deleting a file of the second takes about
 * 10 ms. */
#define WINDOW_FILE_MIN (UINT64_C(64) << 10)
#define WINDOW_FILE_MAX (UINT64_C(64) << 20)
#define WINDOW_PARTS 8
/* The least size of files that counts if the tracer gave one without a number
 * of files: the window needs 200 bytes of memory for each. */
#define WINDOW_GIVEN_MIN (UINT64_C(1) << 20)
/* What a file counts as in addition to its bytes: the last blocks of data and
 * index. */
#define WINDOW_FILE_COST (UINT64_C(8) << 10)

/* The limits of windows of sessions that begin later. At most one is not 0;
 * both 0: no windows. One thread at a time. */
void stream_window_limit(uint64_t bytes, uint64_t ns);

/* Give the new session S a window if it gets one. E_NOMEM. */
enum status stream_window_begin(struct session *s) MUST_CHECK;
void stream_window_destroy(struct stream_window *w); /* NULL is fine */

/* The window of S, or that it has none; then, when the streams of its sessions
 * are back, its files. A file that cannot be read is kept. E_MALFORMED,
 * E_NOMEM. */
void stream_window_put_state(struct state_out *o, const struct siblings *s);
enum status stream_window_get_state(
    struct siblings *s, struct state_in *in) MUST_CHECK;
void stream_window_put_files(struct state_out *o, const struct siblings *s);
enum status stream_window_get_files(
    struct siblings *s, struct state_in *in) MUST_CHECK;

/* The window forgets the files of the chunk C, or (OTHERS) all but those: they
 * are kept. */
void stream_window_keep(struct siblings *s, const struct chunk *c, bool others);

/* Delete files that are too old, and have streams continue in new ones. Returns
 * when to call it again. */
uint64_t stream_window_tick(struct shard *sh, uint64_t now_ns);

/* T, a new stream, gets its session's window if there is one, and T is a data
 * stream without a ring. */
void stream_window_add(struct stream *t);

/* The rest does nothing for a stream without a window. */
/* The stream leaves its window; its files stay there. */
void stream_window_leave(struct stream *t);
/* A file was created. False: there is no memory to remember it. */
bool stream_window_opened(struct stream *t) MUST_CHECK;
/* The stream leaves its current file. */
void stream_window_file_ends(struct stream *t);
/* Delete files of the window so that BYTES can be written. */
void stream_window_make_space(struct stream *t, uint64_t bytes);
/* BYTES were written. */
void stream_window_wrote(struct stream *t, uint64_t bytes);
/* The current file has SIZE bytes: do MORE bytes belong in the next one? */
bool stream_window_is_file_full(
    const struct stream *t, uint64_t size, uint64_t more);

#endif
