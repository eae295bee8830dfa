/* SPDX-License-Identifier: MIT */
/*
 * An open directory that threads share: the folder of a stream in one trace
 * chunk. It stays the same folder wherever the chunk moves, so a reader opens
 * files in it by name, long after the path has changed. [shared]
 */
#ifndef STORE_FOLDER_H
#define STORE_FOLDER_H

#include <stdbool.h>

#include "common/compiler.h"
#include "common/status.h"

struct folder;

/* PATH below BASE. One reference. E_IO, E_NOMEM. */
enum status folder_open(
    struct folder **out, int base, const char *path) MUST_CHECK;
struct folder *folder_get(struct folder *f);
void folder_put(struct folder *f); /* NULL is fine */
/* Was the folder deleted, with all that was in it? */
bool folder_is_gone(const struct folder *f);
/* The descriptor, borrowed. */
int folder_fd(const struct folder *f);

#endif
