/* SPDX-License-Identifier: MIT */
/*
 * The notes: an SQLite database in the state directory that says which
 * directories the relay made in one output directory, so that it deletes these
 * and no others. Its name is `notes-INO-BORN.db`, by the inode and the time of
 * birth of the output directory: the notes follow it when it is renamed, and a
 * copy has none. Beside it SQLite has a `-wal` while it is open, and after a
 * kill.
 *
 *	directories	a row for each, see struct notes_row; a time is in ns
 *			since the epoch
 *	output		the path of the output directory, for people: nothing
 *			reads it
 *
 * It is locked while it is open, so that no other relay uses it. Single owner.
 */
#ifndef STORE_NOTES_H
#define STORE_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "store/dir.h"
#include "store/stored.h"

struct notes;

struct notes_place {
	const char *state_dir;
	const char *output; /* borrowed, as long as the notes are open */
	struct dir_id id;   /* of OUTPUT */
};

/*
 * Open the notes of an output directory; they are made if they are missing.
 * EACH is called with every row, in the order in which they came; it may be
 * NULL. E_BUSY: another relay has them. E_MALFORMED: the file is damaged, of
 * another version, or another program's. E_IO: errno says why. E_NOMEM.
 */
enum status notes_open(struct notes **out, const struct notes_place *p,
    void (*each)(void *arg, const struct notes_row *row), void *arg) MUST_CHECK;
void notes_close(struct notes *n); /* NULL is fine; errno stays */
/* Remove the file, which is not valid any more. Only notes_close() follows. */
void notes_remove(struct notes *n);
/* Was the file removed or replaced? */
bool notes_are_lost(const struct notes *n);

/* Changes, which are in the file after notes_flush(): add a row or replace it,
 * remove one, remove all. */
void notes_put(struct notes *n, const struct notes_row *row);
void notes_remove_row(struct notes *n, uint64_t ino, uint64_t born);
void notes_clear(struct notes *n);
/* E_IO, logged once: no change since the last call is in the file. SYNCS: they
 * are on the disk, too. */
enum status notes_flush(struct notes *n, bool syncs) MUST_CHECK;

#endif
