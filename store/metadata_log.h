/* SPDX-License-Identifier: MIT */
/*
 * The metadata of one trace for viewers: the bytes of the current chunk's file
 * up to a published length. The tracer sends all metadata again in each chunk,
 * beginning with the same bytes, so a reader continues in the next file at the
 * length that it has read. [shared] One worker writes; any thread reads.
 */
#ifndef STORE_METADATA_LOG_H
#define STORE_METADATA_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/publish.h"
#include "common/ref.h"
#include "common/status.h"

struct state_in;
struct state_out;
struct folder;

/* Changed by store/metadata_log.c only. Any thread may read what is published.
 * A class in CLASSES was declared in the bytes that metadata_log_length()
 * counts afterwards, or in an earlier file. */
struct metadata_log {
	struct ref ref;
	struct published_pointer version; /* or NULL */
	struct published classes; /* of all versions: stream_classes_have() */
	struct published is_ended;
	struct waiters waiters;
};

enum status metadata_log_create(struct metadata_log **out) MUST_CHECK;
struct metadata_log *metadata_log_get(struct metadata_log *log);
void metadata_log_put(struct metadata_log *log); /* NULL is fine */

/* Writer: the current file is now an empty one in FOLDER. */
enum status metadata_log_begin(
    struct metadata_log *log, struct folder *folder) MUST_CHECK;
/* Writer: it is not empty, but has LENGTH bytes of an earlier session. */
void metadata_log_continue(struct metadata_log *log, uint64_t length);
/* Writer: N bytes from P, complete declarations, and PADDING zeros were
 * appended to the file. */
void metadata_log_append(
    struct metadata_log *log, const void *p, uint64_t n, uint32_t padding);
void metadata_log_end(struct metadata_log *log);

/* A restart (common/state.h): inline, or a number. *OUT is a reference; NULL:
 * there is none. */
void metadata_log_put_state(struct state_out *o, struct metadata_log *log);
enum status metadata_log_get_state(
    struct metadata_log **out, struct state_in *in) MUST_CHECK;

/* What readers may use. */
struct metadata_view {
	uint64_t length;       /* readable bytes */
	bool has_class;	       /* a stream class is declared in them */
	struct folder *folder; /* a reference; NULL: no file yet */
};

/* Any registered RCU thread. */
uint64_t metadata_log_length(const struct metadata_log *log);
void metadata_log_look(
    const struct metadata_log *log, struct metadata_view *view);

#endif
