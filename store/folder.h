/* SPDX-License-Identifier: MIT */
/*
 * The folder of a stream in one trace chunk, shared by threads. It is not kept
 * open: a reader opens it again for each file, by its path below the session's
 * directory. The worker announces moves of the chunk, and the inode shows
 * whether the directory at the path is still the same; so a reader never gets a
 * file of another chunk. A folder moved by someone else is not found any more.
 * [shared]
 */
#ifndef STORE_FOLDER_H
#define STORE_FOLDER_H

#include <stdbool.h>

#include "common/compiler.h"
#include "common/status.h"

struct folder;
struct folder_base;
struct folder_place;
struct state_in;
struct state_out;
struct state_table;
struct stored_dir;

/* A directory that stays open with its session: its descriptor counts in the
 * share FDS_SESSIONS (common/fds.h). As dir_open(); also E_IO, errno EMFILE,
 * when the share is used up. Any thread. */
enum status folder_dir_open(int *out, int base, const char *path) MUST_CHECK;
void folder_dir_close(int fd);
/* Was the directory removed? Then nothing can be created in it. */
bool folder_dir_is_removed(int fd);

/* The open directory of a session, the only descriptor that its folders need.
 * Takes FD, opened by folder_dir_open(), and closes it with its last reference;
 * on failure FD stays open. E_NOMEM. */
enum status folder_base_create(
    struct folder_base **out, int take_fd) MUST_CHECK;
/* B counts as a user of D until its last reference is gone. Takes a reference.
 * Called once, before other threads know B. */
void folder_base_use(struct folder_base *b, struct stored_dir *d);
void folder_base_put(struct folder_base *b); /* NULL is fine */

/*
 * The directory of a chunk: NAME below BASE ("": BASE itself). Takes a
 * reference on BASE. Only the worker that moves the chunk changes it: it calls
 * begin() before the move and end() after it, with the new name, or NULL if the
 * chunk was not moved. Names have fewer than FOLDER_NAME_MAX bytes. E_NOMEM.
 */
#define FOLDER_NAME_MAX 512
enum status folder_place_create(struct folder_place **out,
    struct folder_base *base, const char *name) MUST_CHECK;
enum status folder_place_begin(struct folder_place *p) MUST_CHECK;
void folder_place_end(struct folder_place *p, const char *name);
/* The relay is deleting the chunk: its folders cannot be opened any more,
 * whatever is created at their paths. */
void folder_place_delete(struct folder_place *p);
void folder_place_put(struct folder_place *p); /* NULL is fine */
/* Its users are the readers of files in the chunk, see folder_begin_reading().
 * Returns a reference. */
struct stored_dir *folder_place_readers(struct folder_place *p);

/* The folder PATH below PLACE, which must exist. Returns a reference. E_NOENT,
 * E_IO, E_NOMEM. */
enum status folder_create(struct folder **out, struct folder_place *place,
    const char *path) MUST_CHECK;
struct folder *folder_get(struct folder *f);
void folder_put(struct folder *f); /* NULL is fine */

/*
 * Open the file NAME in the folder. E_NOENT: the file or the folder is gone.
 * E_IO: see errno; EAGAIN: the folder is being moved. Called on a registered
 * RCU thread, as folder_is_gone().
 */
enum status folder_open_file(
    int *fd, const struct folder *f, const char *name, int flags) MUST_CHECK;
/* A viewer begins, or ends, reading a file of the folder. Any thread. */
void folder_begin_reading(const struct folder *f);
void folder_end_reading(const struct folder *f);
/* Has the folder been deleted? */
bool folder_is_gone(const struct folder *f);

/*
 * A restart (common/state.h): inline, or a number. *OUT is a reference; NULL:
 * there is none. The directory moves as a descriptor; folders are found by name
 * when a file is opened, as always. folder_base_fd(): borrowed.
 */
/* A descriptor of folder_dir_open(). E_MALFORMED, E_LIMIT. */
extern const struct state_table dir_id_state;
enum status folder_dir_get_state(int *out, struct state_in *in) MUST_CHECK;
void folder_base_put_state(struct state_out *o, struct folder_base *b);
enum status folder_base_get_state(
    struct folder_base **out, struct state_in *in) MUST_CHECK;
int folder_base_fd(const struct folder_base *b);
void folder_place_put_state(struct state_out *o, struct folder_place *p);
enum status folder_place_get_state(
    struct folder_place **out, struct state_in *in) MUST_CHECK;
void folder_put_state(struct state_out *o, struct folder *f);
enum status folder_get_state(
    struct folder **out, struct state_in *in) MUST_CHECK;

#endif
