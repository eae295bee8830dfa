/* SPDX-License-Identifier: MIT */
/* Where a chunk is, and its moves (streaming 5.5). */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "common/log.h"
#include "store/chunk.h"
#include "store/dir.h"
#include "store/folder.h"
#include "store/output.h"
#include "store/session_dir.h"
#include "store/store.h"

enum status
chunk_place_name(struct chunk *c, enum chunk_place place, char out[RELPATH_MAX])
{
	char name[256];
	enum status st;

	switch (place) {
	case CHUNK_AT_ROOT:
		out[0] = '\0';
		return OK;
	case CHUNK_AT_OLD:
	case CHUNK_AT_NEW:
		snprintf(out, RELPATH_MAX, "%s", c->tmp_name);
		return OK;
	case CHUNK_AT_NAME:
	case CHUNK_AT_ARCHIVE:
		break;
	}
	if (place == CHUNK_AT_NAME && c->is_closed) {
		/* The name of an open chunk has no end time. */
		c->is_closed = false;
		st = chunk_name(c, name);
		c->is_closed = true;
	} else {
		st = chunk_name(c, name);
	}
	snprintf(out, RELPATH_MAX, "%s%s",
	    place == CHUNK_AT_ARCHIVE ? "archives/" : "", name);
	return st;
}

/*
 * Choose the temporary name for PLACE. An older chunk whose last stream is slow
 * may still have the plain name; then C gets a name that ends with its id.
 */
static void
choose_tmp(struct chunk *c, enum chunk_place place, bool is_second)
{
	const char *name = place == CHUNK_AT_OLD ? ".tmp_old_chunk"
						 : ".tmp_new_chunk";

	if (is_second)
		snprintf(c->tmp_name, sizeof(c->tmp_name), "%s-%" PRIu64, name,
		    c->id);
	else
		snprintf(c->tmp_name, sizeof(c->tmp_name), "%s", name);
}

static bool
is_tmp(enum chunk_place place)
{
	return place == CHUNK_AT_OLD || place == CHUNK_AT_NEW;
}

static enum status
make_archives(const struct chunk *c)
{
	enum status st;

	do
		st = dir_create_path(c->dir->fd, "archives");
	while (st == E_NOSPC && reserve_release(&c->dir->output->reserve));
	return st;
}

/* Make the directory TO, or rename FROM, unless it is NULL, to it. */
static enum status
make_or_rename(const struct chunk *c, const char *from, const char *to)
{
	const int fd = c->dir->fd;
	enum status st;

	do
		st = from == NULL ? dir_create(fd, to)
				  : dir_rename(fd, from, to);
	while (st == E_NOSPC && reserve_release(&c->dir->output->reserve));
	return st;
}

/* Make a new directory at PLACE (FROM is NULL), or move the directory FROM
 * there. NAME is set to its name. */
static enum status
put_at(struct chunk *c, const char *from, enum chunk_place place,
    char name[RELPATH_MAX])
{
	enum status st = OK;

	if (place == CHUNK_AT_ARCHIVE) {
		st = make_archives(c);
		if (st != OK)
			return st;
	}
	for (int i = 0; i < 2; i++) {
		if (is_tmp(place))
			choose_tmp(c, place, i > 0);
		st = chunk_place_name(c, place, name);
		if (st == OK)
			st = make_or_rename(c, from, name);
		if (st != E_EXISTS || !is_tmp(place))
			break;
	}
	return st;
}

/* May a peer give its chunk this name? Some names have a meaning in a session's
 * directory. */
static bool
may_be_named(const struct relpath *name)
{
	return !session_dir_is_own_name(name->s, name->len) &&
	       strcmp(name->s, "kernel") != 0 && strcmp(name->s, "ust") != 0;
}

/* Have the names that were made or moved on the disk. */
static void
sync_names(const struct chunk *c, bool has_archive)
{
	struct store *s = c->dir->store;

	if (!store_syncs_names(s) || s->is_ending)
		return;
	if (dir_sync(c->dir->fd, has_archive ? "archives" : "") != OK ||
	    (c->fd >= 0 && dir_sync(c->fd, "") != OK))
		store_sync_failed(s, session_dir_text(c->dir), ".");
}

/* A finished snapshot may be deleted while its session continues. False: this
 * one is being deleted. The claim ends with the descriptor. */
static bool
claim(const struct chunk *c)
{
	return c->fd < 0 || c->dir->sharers == 0 ||
	       flock(c->fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

enum status
chunk_make(struct chunk *c, enum chunk_place place)
{
	char name[RELPATH_MAX];
	enum status st = OK;

	assert(c->fd < 0);
	name[0] = '\0';
	if (c->override_name != NULL && !may_be_named(c->override_name)) {
		errno = EEXIST;
		st = E_EXISTS;
	} else if (place != CHUNK_AT_ROOT) {
		st = put_at(c, NULL, place, name);
		/* A second snapshot with the same name adds to the directory;
		 * names of files never collide. */
		if (st == E_EXISTS && c->override_name != NULL) {
			c->is_added_to = true;
			st = OK;
		}
	}
	if (st == OK && place != CHUNK_AT_ROOT)
		st = folder_dir_open(&c->fd, c->dir->fd, name);
	if (st == OK && !claim(c))
		st = E_EXISTS;
	/* Perhaps no file was made there yet, and lttng does not tell its user
	 * when a stream is refused. */
	if (st == OK && !dir_is_writable(chunk_fd(c)))
		st = E_IO;
	if (st == OK) {
		c->place = place;
		sync_names(c, false);
	} else if (st != E_REFUSED) {
		log_peer_errno(LOG_ERROR, CHUNK_FMT ": cannot create %s",
		    CHUNK_ARGS(c), *name != '\0' ? name : ".");
	}
	return st;
}

/* FROM and TO are directories below the session's directory; "" is that
 * directory itself. */
static enum status
move_top(const struct chunk *c, const struct relpath *top, const char *from,
    const char *to)
{
	char source[RELPATH_MAX + 257], target[RELPATH_MAX + 257];
	enum status st;

	snprintf(source, sizeof(source), "%s%s%s", from,
	    *from == '\0' ? "" : "/", top->s);
	snprintf(target, sizeof(target), "%s%s%s", to, *to == '\0' ? "" : "/",
	    top->s);
	st = make_or_rename(c, source, target);
	/* This folder was removed: the others are still moved. */
	return st == E_NOENT ? OK : st;
}

/* Move all folders that the chunk made, or none. errno says why. */
static enum status
move_tops(const struct chunk *c, const char *from, const char *to)
{
	enum status st = OK;
	unsigned n = 0;
	int saved;

	while (n < c->n_tops && st == OK)
		st = move_top(c, c->tops[n++], from, to);
	if (st == OK)
		return OK;
	saved = errno;
	for (n--; n > 0; n--)
		if (move_top(c, c->tops[n - 1], to, from) != OK)
			log_peer_errno(LOG_ERROR,
			    CHUNK_FMT ": cannot move a part back from '%s'",
			    CHUNK_ARGS(c), to);
	errno = saved;
	return st;
}

/* Move the folders from the session's directory into a directory of the chunk's
 * own. */
static enum status
move_from_root(struct chunk *c, enum chunk_place place, char name[RELPATH_MAX])
{
	enum status st;
	int fd = -1, saved;

	st = put_at(c, NULL, place, name);
	if (st != OK)
		return st;
	st = folder_dir_open(&fd, c->dir->fd, name);
	if (st == OK)
		st = move_tops(c, "", name);
	if (st != OK) {
		saved = errno;
		if (fd >= 0)
			folder_dir_close(fd);
		(void)dir_remove(c->dir->fd, name);
		errno = saved;
		return st;
	}
	c->fd = fd;
	return OK;
}

/* Move the folders out of the chunk's directory into the session's. */
static enum status
move_to_root(struct chunk *c, const char *from)
{
	enum status st = move_tops(c, from, "");

	if (st != OK)
		return st;
	if (c->fd >= 0)
		folder_dir_close(c->fd);
	c->fd = -1;
	if (dir_remove(c->dir->fd, from) != OK)
		log_peer_errno(LOG_INFO, CHUNK_FMT ": cannot remove %s",
		    CHUNK_ARGS(c), from);
	return OK;
}

/* NAME is set to the new name. */
static enum status
move(struct chunk *c, const char *from, enum chunk_place place,
    char name[RELPATH_MAX])
{
	name[0] = '\0';
	if (c->place == CHUNK_AT_ROOT)
		return move_from_root(c, place, name);
	if (place == CHUNK_AT_ROOT)
		return move_to_root(c, from);
	return put_at(c, from, place, name);
}

/* The same, while viewers look for its folders. */
static enum status
move_folders(struct chunk *c, const char *from, enum chunk_place place)
{
	char name[RELPATH_MAX];
	enum status st = OK;
	int saved;

	if (c->folders != NULL)
		st = folder_place_begin(c->folders);
	if (st != OK) {
		errno = ENOMEM;
		return st;
	}
	st = move(c, from, place, name);
	saved = errno;
	if (c->folders != NULL)
		folder_place_end(c->folders, st == OK ? name : NULL);
	errno = saved;
	return st;
}

enum status
chunk_move(struct chunk *c, enum chunk_place place)
{
	char from[RELPATH_MAX];
	enum status st;

	if (place == c->place || c->is_base)
		return OK;
	st = chunk_place_name(c, c->place, from);
	if (st == OK)
		st = move_folders(c, from, place);
	if (st == E_NOENT) {
		log_line(place == CHUNK_AT_ARCHIVE ? LOG_WARN : LOG_INFO,
		    CHUNK_FMT ": cannot move '%s': somebody removed it",
		    CHUNK_ARGS(c), from);
		if (is_tmp(place))
			choose_tmp(c, place, false);
		st = OK;
	}
	if (st != OK) {
		log_peer_errno(LOG_ERROR, CHUNK_FMT ": cannot move from '%s'",
		    CHUNK_ARGS(c), from);
		return st;
	}
	c->place = place;
	sync_names(c, place == CHUNK_AT_ARCHIVE);
	return OK;
}

enum status
chunk_restore(struct chunk *c)
{
	char name[RELPATH_MAX] = "";
	enum status st;
	struct chunk_family *f;
	int fd = -1;

	if (c->is_base)
		return E_NOENT;
	st = session_dir_renew(&c->dir);
	if (st == OK && c->place != CHUNK_AT_ROOT) {
		st = chunk_place_name(c, c->place, name);
		if (st == OK)
			st = dir_create_path(c->dir->fd, name);
		if (st == OK)
			st = folder_dir_open(&fd, c->dir->fd, name);
	}
	if (st != OK) {
		log_peer_errno(LOG_ERROR,
		    CHUNK_FMT ": cannot create '%s' again", CHUNK_ARGS(c),
		    name);
		return st;
	}
	if (c->fd >= 0)
		folder_dir_close(c->fd);
	c->fd = fd;
	sync_names(c, false);
	/* Folders opened in the old directory are no longer valid. */
	folder_place_put(c->folders);
	c->folders = NULL;
	c->n_restored++;
	list_each (f, &c->families, struct chunk_family, node)
		chunk_folder_done(f);
	log_warn(CHUNK_FMT ": somebody removed it; created again in '%s'",
	    CHUNK_ARGS(c), name);
	return OK;
}

enum status
chunk_prepare_archive(struct chunk *c)
{
	enum status st;

	if (c->is_base || c->override_name != NULL)
		return OK;
	st = make_archives(c);
	if (st == OK || st == E_NOENT) /* removed: nothing to archive */
		return OK;
	log_peer_errno(LOG_ERROR,
	    CHUNK_FMT ": cannot create the directory for archived chunks",
	    CHUNK_ARGS(c));
	return st;
}

/* Move it to where its command says. True: it is to be deleted. */
static bool
settle(struct chunk *c)
{
	switch (c->command) {
	case CHUNK_ARCHIVE:
		/* The last step is one rename: an archive is whole, or not
		 * there. */
		if (c->override_name != NULL ||
		    (c->place == CHUNK_AT_ROOT &&
			chunk_move(c, CHUNK_AT_OLD) != OK) ||
		    chunk_move(c, CHUNK_AT_ARCHIVE) == OK)
			return false;
		break;
	case CHUNK_DELETE:
		return true;
	case CHUNK_KEEP:
		break;
	}
	/* This rotation will not be finished. Readers skip temporary names, so
	 * rename the chunk. */
	if (is_tmp(c->place) && chunk_move(c, CHUNK_AT_NAME) != OK)
		log_peer(LOG_ERROR, CHUNK_FMT ": keeps the name %s",
		    CHUNK_ARGS(c), c->tmp_name);
	return false;
}

bool
chunk_settle(struct chunk *c)
{
	if (c->is_base)
		return false;
	if (settle(c))
		return true;
	chunk_note(c);
	return false;
}

void
chunk_settle_early(struct chunk *c)
{
	if (!c->is_base && c->command != CHUNK_DELETE)
		(void)settle(c);
}
