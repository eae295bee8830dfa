/* SPDX-License-Identifier: MIT */
/*
 * The directory of a session (streaming 5.2), claimed so that no other session
 * writes there: existing files are never truncated, and never mixed with those
 * of another session. Within this process the claim is in the tree of
 * directories (store/dir_registry.h). Other relays see a flock(2) on the
 * directory, exclusive, or shared by the snapshot sessions of one relay; it
 * ends with the process. Where directories cannot be locked, a session gets a
 * new one.
 *
 * Owned by one worker: get and put are not for other threads.
 */
#ifndef STORE_SESSION_DIR_H
#define STORE_SESSION_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/relpath.h"
#include "common/secret.h"
#include "common/status.h"
#include "store/journal.h"

struct state_in;
struct state_out;
struct dir_claim;
struct folder_base;
struct output;
struct store;
struct stored_dir;

struct session_dir {
	unsigned refs;
	int fd;
	struct folder_base *base; /* shares FD with viewers; NULL: none */
	struct relpath *wanted;	  /* below the output directory, as computed */
	struct relpath *path; /* the same, or with a suffix; NULL: the output
				 directory itself (peers before 2.11) */
	uint64_t sharers;     /* not 0: snapshot sessions share it */
	struct dir_claim *claim;
	bool is_new; /* it did not exist before */
	/* What session_dir_note() reported; NULL: nothing. */
	struct stored_dir *stored;
	char *host, *session;
	/* Not used where each stream's family has a root. */
	struct journal_root journal_root;
	struct store *store;
	struct output *output; /* a reference */
	/* The directory made at the same path after this one was removed; a
	 * reference, or NULL. */
	struct session_dir *next;
	bool has_beacons; /* BEACONS_FILE was made in it */
	bool has_key;	  /* the session may be resumed by who knows KEY */
	struct secret key;
};

/*
 * Create and claim the directory WANTED, or WANTED-1 and so on if WANTED is not
 * empty or belongs to another session. If a parent of it (other than the first
 * component) is a session's directory, the parent gets a suffix first. SHARERS,
 * not 0, stands for a peer, host and session name: its snapshot sessions share
 * a directory, including one that an earlier session created, because their
 * chunks have different names; 0: the directory is for one session. KEY, not
 * NULL: one that an earlier session with this key created is taken, too, with
 * what is in it, and a later one may take this (resume 4). E_IO, E_NOMEM,
 * E_LIMIT (a name is too long); E_BUSY: another process has the one with this
 * key; E_LATER: call it again in the next cycle.
 */
enum status session_dir_claim(struct session_dir **out, struct store *store,
    const struct relpath *wanted, uint64_t sharers,
    const struct secret *key) MUST_CHECK;
/* The file with the key, in the directory: 32 hexadecimal digits and a newline.
 * Only the relay's user can read it. */
#define SESSION_DIR_KEY ".tracepulse-key"

/*
 * *D is a reference. If somebody removed the directory, it is created again at
 * its path (with one more suffix if another directory has that path now). *D
 * becomes a reference to the new directory, which is the same for all callers.
 * On failure (E_IO, E_NOMEM, E_LIMIT) *D does not change. Files that are open
 * in the old directory stay there.
 */
enum status session_dir_renew(struct session_dir **d) MUST_CHECK;

/* The output directory itself, for peers before 2.11. */
enum status session_dir_base(
    struct session_dir **out, struct store *store) MUST_CHECK;

/* Report to the store's listener that a session of this name has the directory.
 * It is in use until the last reference is gone and no viewer has a folder in
 * it. Call it once, after the claim; a directory that is created again is
 * reported automatically. */
void session_dir_note(
    struct session_dir *d, const char *host, const char *session);
/* Its files have N bytes more (N < 0: fewer). */
void session_dir_count(struct session_dir *d, int64_t n);

/* Does a program read BEACONS_FILE, or can that not be known? */
bool session_dir_has_reader(const struct session_dir *d);
/* Its file BEACONS_FILE is made, or has these bytes in place of what it had; it
 * is removed with the last reference. It is written under an exclusive
 * flock(2). E_LATER: a reader has the lock. E_EXISTS: another file has the
 * name. E_IO, E_NOSPC: the file is as it was, or empty. */
enum status session_dir_write_beacons(
    struct session_dir *d, const void *p, size_t n) MUST_CHECK;

/* The directory for viewers, borrowed. It stays open while one of them has a
 * folder in it; the claim ends earlier. E_NOMEM. */
enum status session_dir_share(
    struct session_dir *d, struct folder_base **out) MUST_CHECK;

/* The path below the output directory, for logs. */
static inline const char *
session_dir_text(const struct session_dir *d)
{
	return d->path == NULL ? "." : d->path->s;
}

/* Does another session have the directory FD? The check takes no lock: another
 * relay that checks at the same time would take that for a claim. */
bool session_dir_has_lock(int fd);
/* Does PATH, or a folder above it below the host's, belong to a session that
 * this process does not know? At PATH the other domain of a session of a peer
 * before 2.11 may have recorded. */
bool session_dir_is_foreign(int base, const char *path);
/* Make the flock(2) of FD, which claims it, visible to
 * session_dir_has_lock(). */
void session_dir_show_claim(int fd);

/* Does the relay use the name itself: archives, or a name with a dot? */
bool session_dir_is_own_name(const char *name, size_t n);
/* Does PATH begin like the relay's own names in the output directory (journals,
 * directories that are being deleted)? */
bool session_dir_is_relays(const char *path);

struct session_dir *session_dir_get(struct session_dir *d);
void session_dir_put(struct session_dir *d); /* NULL is fine */

/* An object that is shared. *OUT is a new reference. E_MALFORMED, E_NOMEM;
 * E_IO: it cannot be claimed again. */
void session_dir_put_state(struct state_out *o, struct session_dir *d);
enum status session_dir_get_state(struct session_dir **out, struct state_in *in,
    struct store *store) MUST_CHECK;

#endif
