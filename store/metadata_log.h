/* SPDX-License-Identifier: MIT */
/*
 * The metadata of one trace as viewers see it: the bytes of the current chunk's
 * file up to a published length. The tracer sends all of it again in each
 * chunk, the same bytes first, so a reader goes on in the next file at the
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

/* Writer: an empty file in FOLDER is the current one. */
enum status metadata_log_begin(
    struct metadata_log *log, struct folder *folder) MUST_CHECK;
/* Writer: the file has N more bytes, those at P, and PADDING zeros. They are
 * whole declarations. */
void metadata_log_append(
    struct metadata_log *log, const void *p, uint64_t n, uint32_t padding);
void metadata_log_end(struct metadata_log *log);

/* What a reader finds. */
struct metadata_view {
	uint64_t length;       /* bytes that can be read */
	bool has_class;	       /* a stream class is declared in them */
	struct folder *folder; /* a reference; NULL: there is no file */
};

/* Any registered RCU thread. */
uint64_t metadata_log_length(const struct metadata_log *log);
void metadata_log_look(
    const struct metadata_log *log, struct metadata_view *view);
/* Any thread. Was the CTF stream class ID ever declared: in the bytes that
 * metadata_log_length() then counts, or in an earlier file? */
bool metadata_log_has_class(const struct metadata_log *log, uint64_t id);
/* Was any class ever declared? */
bool metadata_log_has_classes(const struct metadata_log *log);
bool metadata_log_is_ended(const struct metadata_log *log);

/* Wake-ups, as struct waiters says. */
void metadata_log_wait(struct metadata_log *log, uint64_t bit);
uint64_t metadata_log_take_waiters(struct metadata_log *log);

#endif
