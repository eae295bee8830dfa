/* SPDX-License-Identifier: MIT */
/*
 * Deleting a chunk: the files that it made, by name, then the folders that are
 * empty. What somebody else put there stays.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "store/chunk.h"
#include "store/dir.h"
#include "store/folder.h"
#include "store/session_dir.h"

/* BYTES is added to, if it is not NULL. */
static void
delete_file(const struct chunk *c, const char *path, uint64_t *bytes)
{
	const uint64_t n = bytes == NULL ? 0 : dir_file_size(chunk_fd(c), path);
	enum status st = dir_unlink(chunk_fd(c), path);

	if (st == OK && bytes != NULL)
		*bytes += n;
	if (st != OK && st != E_NOENT)
		log_peer_errno(
		    LOG_WARN, CHUNK_FMT ": %s: unlink", CHUNK_ARGS(c), path);
}

static void
delete_pair(const struct chunk *c, const struct chunk_family *f, uint64_t n,
    uint64_t *bytes)
{
	char path[2 * RELPATH_MAX], number[32] = "";

	if (f->is_numbered)
		snprintf(number, sizeof(number), "_%" PRIu64, n);
	snprintf(
	    path, sizeof(path), "%s/%s%s", f->path->s, f->channel->s, number);
	delete_file(c, path, bytes);
	snprintf(path, sizeof(path), "%s/index/%s%s.idx", f->path->s,
	    f->channel->s, number);
	delete_file(c, path, bytes);
}

void
chunk_delete_file(struct chunk *c, struct chunk_family *f, uint64_t number)
{
	uint64_t bytes = 0;

	/* A file that this family never made is somebody else's. */
	if (number >= f->n_files)
		return;
	delete_pair(c, f, number, &bytes);
	chunk_count(c, -(int64_t)bytes);
	if (f->n_gone == number)
		f->n_gone++;
}

/* Remove the folders of PATH, from the deepest up, until one is not empty. */
static void
remove_folders(const struct chunk *c, const struct relpath *path)
{
	char folder[RELPATH_MAX + sizeof("/index")];
	char *slash;

	snprintf(folder, sizeof(folder), "%s/index", path->s);
	(void)dir_remove(chunk_fd(c), folder);
	snprintf(folder, sizeof(folder), "%s", path->s);
	do {
		if (dir_remove(chunk_fd(c), folder) != OK)
			return; /* not empty: it has other files */
		slash = strrchr(folder, '/');
		if (slash != NULL)
			*slash = '\0';
	} while (slash != NULL);
}

static void
delete_losses(const struct chunk *c, const struct chunk_family *f)
{
	char path[2 * RELPATH_MAX];

	if (!f->has_losses)
		return;
	snprintf(path, sizeof(path), "%s/" CHUNK_LOSSES, f->path->s);
	delete_file(c, path, NULL);
}

static void
drop_family(struct chunk *c, struct chunk_family *f)
{
	delete_losses(c, f);
	remove_folders(c, f->path);
	chunk_free_family(f);
	c->delete_next = 0;
}

static void
remove_own_folder(struct chunk *c)
{
	char name[256];
	enum status st;

	if (c->fd < 0)
		return;
	if (c->place == CHUNK_AT_NAME) {
		/* On disk it has the name of an open chunk. */
		c->is_closed = false;
		st = chunk_name(c, name);
		c->is_closed = true;
	} else {
		snprintf(name, sizeof(name), "%s", c->tmp_name);
		st = OK;
	}
	if (st == OK && dir_remove(c->dir->fd, name) != OK)
		log_peer_errno(
		    LOG_INFO, CHUNK_FMT ": %s: kept", CHUNK_ARGS(c), name);
}

static bool
take_one(unsigned *budget)
{
	if (*budget == 0)
		return false;
	--*budget;
	return true;
}

bool
chunk_delete_step(struct chunk *c, unsigned *budget)
{
	struct chunk_family *f;

	if (c->folders != NULL)
		folder_place_delete(c->folders);
	while (!list_empty(&c->families)) {
		f = list_first(&c->families, struct chunk_family, node);
		if (c->delete_next < f->n_gone)
			c->delete_next = f->n_gone;
		for (; c->delete_next < f->n_files; c->delete_next++) {
			if (!take_one(budget))
				return false;
			delete_pair(c, f, c->delete_next, NULL);
		}
		if (!take_one(budget))
			return false;
		drop_family(c, f);
	}
	if (!take_one(budget))
		return false;
	remove_own_folder(c);
	chunk_count(c, -(int64_t)c->bytes);
	return true;
}
