/* SPDX-License-Identifier: MIT */
/*
 * Events about the directories that the relay creates in the output directory:
 * sessions, and chunks that will not change any more. The listener records
 * them, and may delete a recorded directory when it is not in use.
 *
 * A note is created once and given away. What keeps changing is in struct
 * stored_dir, which both sides hold: only numbers.
 */
#ifndef STORE_STORED_H
#define STORE_STORED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/publish.h"
#include "common/ref.h"
#include "store/dir.h"

/* [shared] */
struct stored_dir {
	struct ref ref;
	/* Users, while it must not be deleted. Of a session: its worker, and
	 * viewers that may continue to read. Of a chunk: viewers that are
	 * reading one of its files. */
	struct published users;
	/* Bytes in files of a session, without those of chunks that were
	 * reported; written by its worker. */
	struct published bytes;
};

/* One reference, no user. NULL: no memory. */
struct stored_dir *stored_dir_create(void);
struct stored_dir *stored_dir_get(struct stored_dir *d);
void stored_dir_put(struct stored_dir *d); /* NULL is fine */
/* Use it from now on, or no more. NULL is fine. */
void stored_dir_enter(struct stored_dir *d);
void stored_dir_leave(struct stored_dir *d);
bool stored_dir_is_used(const struct stored_dir *d);

enum stored_kind { STORED_SESSION, STORED_CHUNK, STORED_SNAPSHOT };

/* What the notes (store/notes.h) say of a directory. Strings are borrowed. */
struct notes_row {
	uint64_t ino, born; /* as in struct dir_id */
	enum stored_kind kind;
	uint64_t began_ns, ended_ns; /* since the epoch; ended 0: not ended */
	uint64_t bytes;		     /* 0: not counted yet */
	bool is_kept;
	const char *path; /* below the output directory: where it is, or will
			     be */
	const char *name; /* the path that it was made with */
	const char *host, *session; /* the names of its session */
};

struct stored_note {
	struct notes_row row;
	bool is_new;		/* false: the directory was there before */
	struct stored_dir *dir; /* a reference; NULL: not in use */
	char text[];		/* holds the strings */
};

/* Copies *FROM with its strings, the path also as the name; takes over its
 * reference, also on failure. NULL: no memory. */
struct stored_note *stored_note_create(const struct stored_note *from);
void stored_note_destroy(struct stored_note *n); /* NULL is fine */

/* The listener, called on threads that record. TAKE_N is given away. */
struct stored_notifier {
	void (*notify)(
	    struct stored_notifier *notifier, struct stored_note *take_n);
};

#endif
