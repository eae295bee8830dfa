/* SPDX-License-Identifier: MIT */
/*
 * The folder of a stream in one trace chunk, as threads share it. It is not
 * kept open: a reader opens it again for each file, at its path below the
 * session's directory. The worker tells when the relay moves the chunk, and the
 * inode says whether the directory that is found is still the same; so a reader
 * never gets a file of another chunk, whatever stands at the path by now. A
 * folder that somebody else moves is found no more. [shared]
 */
#ifndef STORE_FOLDER_H
#define STORE_FOLDER_H

#include <stdbool.h>

#include "common/compiler.h"
#include "common/status.h"

struct folder;
struct folder_base;
struct folder_place;
struct stored_dir;

/* A directory that stays open with its session: its descriptor counts in the
 * share FDS_SESSIONS (common/fds.h). As dir_open(); also E_IO, errno EMFILE,
 * when the share is used up. Any thread. */
enum status folder_dir_open(int *out, int base, const char *path) MUST_CHECK;
void folder_dir_close(int fd);
/* Did somebody remove the directory? Then nothing can be created in it. */
bool folder_dir_is_removed(int fd);

/* A session's directory, open: all that its folders need of descriptors. Takes
 * FD, a kept_dir, which it closes with its last reference; on failure FD is
 * left. E_NOMEM. */
enum status folder_base_create(
    struct folder_base **out, int take_fd) MUST_CHECK;
/* From now on its last reference ends a use of D. Takes a reference. Once,
 * before other threads know it. */
void folder_base_use(struct folder_base *b, struct stored_dir *d);
void folder_base_put(struct folder_base *b); /* NULL is fine */

/*
 * The directory of a chunk: NAME below BASE ("": BASE itself). Takes a
 * reference on BASE. Only the worker that moves the chunk changes it: it calls
 * begin() before the move and end() after it, with the new name, or with NULL
 * if the chunk is where it was. Names have less than FOLDER_NAME_MAX bytes.
 * E_NOMEM.
 */
#define FOLDER_NAME_MAX 512
enum status folder_place_create(struct folder_place **out,
    struct folder_base *base, const char *name) MUST_CHECK;
enum status folder_place_begin(struct folder_place *p) MUST_CHECK;
void folder_place_end(struct folder_place *p, const char *name);
/* The relay deletes the chunk now: nobody finds its folders any more, whatever
 * is made at their paths. */
void folder_place_delete(struct folder_place *p);
void folder_place_put(struct folder_place *p); /* NULL is fine */
/* Whose users are those who read files there, see folder_begin_reading(). One
 * reference. */
struct stored_dir *folder_place_readers(struct folder_place *p);

/* The folder PATH below PLACE, which must be there. One reference. E_NOENT,
 * E_IO, E_NOMEM. */
enum status folder_create(struct folder **out, struct folder_place *place,
    const char *path) MUST_CHECK;
struct folder *folder_get(struct folder *f);
void folder_put(struct folder *f); /* NULL is fine */

/*
 * Open the file NAME in the folder. E_NOENT: it, or the folder, is gone; E_IO:
 * errno says why, and EAGAIN that the folder is being moved. A registered RCU
 * thread, as for the next.
 */
enum status folder_open_file(
    int *fd, const struct folder *f, const char *name, int flags) MUST_CHECK;
/* Somebody stands in a file of the folder; no more. Any thread. */
void folder_begin_reading(const struct folder *f);
void folder_end_reading(const struct folder *f);
/* Is the folder deleted, with all that was in it? */
bool folder_is_gone(const struct folder *f);

#endif
