/* SPDX-License-Identifier: MIT */
/*
 * The file of notes, `.tracepulse-notes` in the output directory: which
 * directories there the relay made, so that it deletes these and no others. One
 * line for what happened to a directory, with a checksum; lines are only added,
 * and a line that is torn or damaged is skipped. Now and then the file is
 * written anew, with what is still true, and renamed into its place.
 *
 *	tracepulse-notes 1
 *	CHECKSUM d KIND INO BORN BEGAN PATH HOST SESSION	made
 *	CHECKSUM e INO BORN ENDED BYTES				ended, counted
 *	CHECKSUM k INO BORN 0|1					kept
 *	CHECKSUM m INO BORN PATH				renamed by us
 *	CHECKSUM g INO BORN					gone
 *
 * CHECKSUM is the CRC-32 of what is behind it, in 8 hex digits. Numbers are
 * decimal, times ns since the epoch; in texts, bytes that are no printable
 * ASCII, blanks and % are %XX, and "-" is an empty one.
 *
 * A relay locks its file with flock(2) while it runs. Another one that has the
 * same output directory takes `.tracepulse-notes.2`, and so on. Single owner.
 */
#ifndef STORE_NOTES_H
#define STORE_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "store/dir.h"
#include "store/stored.h"

#define NOTES_NAME ".tracepulse-notes"
/* Relays that may share an output directory, and have notes. */
#define NOTES_RELAYS_MAX 9
/* A larger file is none of ours: what is noted takes 256 MiB of memory at most,
 * of which a line has three bytes for one, and there are three lines of each.
 */
#define NOTES_BYTES_MAX (UINT64_C(4) << 30)
/* Bytes of a line; longer ones are skipped. */
#define NOTES_LINE_MAX (32 * 1024)

enum notes_kind {
	NOTES_MADE,
	NOTES_ENDED,
	NOTES_KEPT,
	NOTES_MOVED,
	NOTES_GONE,
};

/* A line. Strings are borrowed. */
struct notes_line {
	enum notes_kind kind;
	enum stored_kind what;	    /* MADE */
	uint64_t ino, born;	    /* as in struct dir_id */
	uint64_t began_ns;	    /* MADE */
	uint64_t ended_ns;	    /* ENDED */
	uint64_t bytes;		    /* ENDED */
	bool is_kept;		    /* KEPT */
	const char *path;	    /* MADE, MOVED */
	const char *host, *session; /* MADE */
};

struct notes;

/*
 * The notes below BASE_FD, borrowed: those that no running relay has; the file
 * is made with the first line. Every line that is there, also in files of
 * relays that run no more, is given to EACH; if there are such, the caller
 * writes all anew, and then calls notes_drop_others(). E_IO: it cannot be used,
 * which is logged. E_NOMEM.
 */
enum status notes_open(struct notes **out, int base_fd,
    void (*each)(void *arg, const struct notes_line *l), void *arg) MUST_CHECK;
void notes_close(struct notes *n); /* NULL is fine */
bool notes_has_others(const struct notes *n);
void notes_drop_others(struct notes *n);

/* Add a line; it is in the file after notes_flush(). */
void notes_add(struct notes *n, const struct notes_line *l);
/* E_IO: some lines are not in the file; they are lost unless all is written
 * anew. Logged once. SYNCS: they are on the disk, too. */
enum status notes_flush(struct notes *n, bool syncs) MUST_CHECK;
/* Did somebody remove the file, or put another in its place? */
bool notes_is_gone(const struct notes *n);
/* Lines in the file, also those that do not count any more. */
uint64_t notes_lines(const struct notes *n);

/* Write all anew: begin, add each line that counts, then end. E_IO: it stays as
 * it was. With no line the file is removed. */
void notes_begin_anew(struct notes *n);
enum status notes_end_anew(struct notes *n) MUST_CHECK;

#endif
