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
#include "common/status.h"

struct folder;
struct metadata_log;

enum status metadata_log_create(struct metadata_log **out) MUST_CHECK;
struct metadata_log *metadata_log_get(struct metadata_log *log);
void metadata_log_put(struct metadata_log *log); /* NULL is fine */

/* Writer: the current file is now an empty one in FOLDER. */
enum status metadata_log_begin(
    struct metadata_log *log, struct folder *folder) MUST_CHECK;
/* Writer: N bytes from P, complete declarations, and PADDING zeros were
 * appended to the file. */
void metadata_log_append(
    struct metadata_log *log, const void *p, uint64_t n, uint32_t padding);
void metadata_log_end(struct metadata_log *log);

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
/* Was the CTF stream class ID declared, in the bytes that metadata_log_length()
 * counts afterwards or in an earlier file? Any thread. */
bool metadata_log_has_class(const struct metadata_log *log, uint64_t id);
/* Was any stream class declared? */
bool metadata_log_has_classes(const struct metadata_log *log);
bool metadata_log_is_ended(const struct metadata_log *log);

/* Wake-ups, see struct waiters. */
void metadata_log_wait(struct metadata_log *log, uint64_t bit);
uint64_t metadata_log_take_waiters(struct metadata_log *log);

#endif
