/* SPDX-License-Identifier: MIT */
#include "store/chunk.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "store/dir.h"
#include "store/folder.h"
#include "store/journal.h"
#include "store/output.h"
#include "store/session_dir.h"
#include "store/store.h"

struct top {
	struct list node;
	struct relpath *name;
};

enum status
chunk_create(struct chunk **out, struct session_dir *dir, uint64_t id,
    uint64_t creation_time, const struct relpath *override_name,
    void (*released)(struct chunk *take_c, void *arg), void *arg)
{
	struct chunk *c = calloc(1, sizeof(*c));

	*out = NULL;
	if (c == NULL)
		return E_NOMEM;
	c->refs = 1;
	c->id = id;
	c->serial = ++dir->store->chunk_serials;
	c->creation_time = creation_time;
	c->fd = -1;
	c->released = released;
	c->released_arg = arg;
	list_init(&c->node);
	list_init(&c->doomed_node);
	list_init(&c->tops);
	list_init(&c->families);
	c->dir = session_dir_get(dir);
	if (override_name != NULL &&
	    relpath_dup(&c->override_name, override_name) != OK) {
		chunk_finish(c);
		return E_NOMEM;
	}
	*out = c;
	return OK;
}

struct chunk *
chunk_get(struct chunk *c)
{
	c->refs++;
	return c;
}

void
chunk_put(struct chunk *c)
{
	if (c == NULL)
		return;
	assert(c->refs > 0);
	if (--c->refs == 0)
		c->released(c, c->released_arg);
}

void
chunk_finish(struct chunk *take_c)
{
	struct chunk_family *f;
	struct list *n, *tmp;
	struct top *t;

	list_for_each (n, tmp, &take_c->families) {
		f = list_entry(n, struct chunk_family, node);
		folder_put(f->folder);
		journal_remove_root(
		    take_c->dir->output->journal, &f->journal_root);
		relpath_free(f->path);
		relpath_free(f->channel);
		free(f);
	}
	list_for_each (n, tmp, &take_c->tops) {
		t = list_entry(n, struct top, node);
		relpath_free(t->name);
		free(t);
	}
	list_del(&take_c->node);
	list_del(&take_c->doomed_node);
	if (take_c->fd >= 0)
		close(take_c->fd);
	session_dir_put(take_c->dir);
	relpath_free(take_c->override_name);
	free(take_c);
}

/* YYYYmmddTHHMMSS+hhmm, local time (streaming 5.5). */
static enum status
format_time(char out[64], uint64_t when)
{
	time_t t = (time_t)when;
	struct tm tm;

	/* Four digits of year: names beyond are not formed. */
	if (when > INT64_MAX / 2 || localtime_r(&t, &tm) == NULL ||
	    tm.tm_year > 9999 - 1900 ||
	    strftime(out, 64, "%Y%m%dT%H%M%S%z", &tm) == 0)
		return E_REFUSED;
	return OK;
}

enum status
chunk_name(const struct chunk *c, char out[256])
{
	char begin[64], end[64];

	if (c->override_name != NULL) {
		assert(c->override_name->len < 256);
		memcpy(out, c->override_name->s, c->override_name->len + 1);
		return OK;
	}
	if (format_time(begin, c->creation_time) != OK ||
	    (c->is_closed && format_time(end, c->close_time) != OK))
		return E_REFUSED;
	if (c->is_closed)
		snprintf(out, 256, "%s-%s-%" PRIu64, begin, end, c->id);
	else
		snprintf(out, 256, "%s-%" PRIu64, begin, c->id);
	return OK;
}

int
chunk_fd(const struct chunk *c)
{
	return c->fd >= 0 ? c->fd : c->dir->fd;
}

/* The name at PLACE, below the session's directory. */
static enum status
place_name(struct chunk *c, enum chunk_place place, char out[RELPATH_MAX])
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
 * Choose the temporary name for PLACE. A chunk whose last stream is slow may
 * still hold the plain name; then this one gets its id at the end.
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
make_at(struct chunk *c, enum chunk_place place, char name[RELPATH_MAX])
{
	enum status st = OK;

	for (int i = 0; i < 2; i++) {
		if (is_tmp(place))
			choose_tmp(c, place, i > 0);
		st = place_name(c, place, name);
		if (st == OK)
			st = dir_create(c->dir->fd, name);
		if (st != E_EXISTS || !is_tmp(place))
			break;
	}
	return st;
}

enum status
chunk_make(struct chunk *c, enum chunk_place place)
{
	char name[RELPATH_MAX];
	enum status st;

	assert(c->fd < 0);
	if (place == CHUNK_AT_ROOT)
		return OK;
	st = make_at(c, place, name);
	/* A second snapshot of that name adds to it; files never collide. */
	if (st == E_EXISTS && c->override_name != NULL)
		st = OK;
	if (st == OK)
		st = dir_open(&c->fd, c->dir->fd, name);
	if (st == OK)
		c->place = place;
	else if (st != E_REFUSED)
		log_errno(LOG_ERROR, "trace chunk %" PRIu64 ": %s: create",
		    c->id, name);
	return st;
}

/* FROM and TO are directories below the session's; "": that itself. */
static enum status
move_top(struct chunk *c, const struct top *t, const char *from, const char *to)
{
	char source[RELPATH_MAX + 257], target[RELPATH_MAX + 257];

	snprintf(source, sizeof(source), "%s%s%s", from,
	    *from == '\0' ? "" : "/", t->name->s);
	snprintf(target, sizeof(target), "%s%s%s", to, *to == '\0' ? "" : "/",
	    t->name->s);
	return dir_rename(c->dir->fd, source, target);
}

/* All folders that the chunk made, or none. errno is kept. */
static enum status
move_tops(struct chunk *c, const char *from, const char *to)
{
	enum status st = OK;
	struct list *n;
	int saved;

	for (n = c->tops.next; st == OK && n != &c->tops; n = n->next)
		st = move_top(c, list_entry(n, struct top, node), from, to);
	if (st == OK)
		return OK;
	saved = errno;
	for (n = n->prev->prev; n != &c->tops; n = n->prev)
		if (move_top(c, list_entry(n, struct top, node), to, from) !=
		    OK)
			log_errno(LOG_ERROR,
			    "trace chunk %" PRIu64 ": a part stays in '%s'",
			    c->id, to);
	errno = saved;
	return st;
}

/* From the session's directory into a directory of its own. */
static enum status
move_from_root(struct chunk *c, enum chunk_place place)
{
	char name[RELPATH_MAX];
	enum status st;
	int fd = -1, saved;

	if (place == CHUNK_AT_ARCHIVE &&
	    dir_create_path(c->dir->fd, "archives") != OK)
		return E_IO;
	st = make_at(c, place, name);
	if (st != OK)
		return st;
	st = dir_open(&fd, c->dir->fd, name);
	if (st == OK)
		st = move_tops(c, "", name);
	if (st != OK) {
		saved = errno;
		if (fd >= 0)
			close(fd);
		(void)dir_remove(c->dir->fd, name);
		errno = saved;
		return st;
	}
	c->fd = fd;
	return OK;
}

/* Out of its own directory into the session's. */
static enum status
move_to_root(struct chunk *c, const char *from)
{
	enum status st = move_tops(c, from, "");

	if (st != OK)
		return st;
	close(c->fd);
	c->fd = -1;
	if (dir_remove(c->dir->fd, from) != OK)
		log_errno(
		    LOG_INFO, "trace chunk %" PRIu64 ": %s: kept", c->id, from);
	return OK;
}

static enum status
rename_dir(struct chunk *c, const char *from, enum chunk_place place)
{
	char name[RELPATH_MAX];
	enum status st = OK;

	if (place == CHUNK_AT_ARCHIVE &&
	    dir_create_path(c->dir->fd, "archives") != OK)
		return E_IO;
	for (int i = 0; i < 2; i++) {
		if (is_tmp(place))
			choose_tmp(c, place, i > 0);
		st = place_name(c, place, name);
		if (st == OK)
			st = dir_rename(c->dir->fd, from, name);
		if (st != E_EXISTS || !is_tmp(place))
			break;
	}
	return st;
}

enum status
chunk_move(struct chunk *c, enum chunk_place place)
{
	char from[RELPATH_MAX];
	enum status st;

	if (place == c->place || c->is_base)
		return OK;
	st = place_name(c, c->place, from);
	if (st == OK && c->place == CHUNK_AT_ROOT)
		st = move_from_root(c, place);
	else if (st == OK && place == CHUNK_AT_ROOT)
		st = move_to_root(c, from);
	else if (st == OK)
		st = rename_dir(c, from, place);
	if (st != OK) {
		log_errno(LOG_ERROR, "trace chunk %" PRIu64 ": move from '%s'",
		    c->id, from);
		return st;
	}
	c->place = place;
	return OK;
}

static enum status
remember_top(struct chunk *c, const struct relpath *path)
{
	struct relpath *name;
	struct list *n, *tmp;
	enum status st;
	struct top *t;

	st = relpath_top(&name, path);
	if (st != OK)
		return st;
	list_for_each (n, tmp, &c->tops) {
		t = list_entry(n, struct top, node);
		if (relpath_equal(t->name, name)) {
			relpath_free(name);
			return OK;
		}
	}
	t = calloc(1, sizeof(*t));
	if (t == NULL) {
		relpath_free(name);
		return E_NOMEM;
	}
	t->name = name;
	list_add(&c->tops, &t->node);
	return OK;
}

enum status
chunk_add_stream(struct chunk *c, const struct relpath *path,
    const struct relpath *channel, bool is_numbered, struct chunk_family **out)
{
	struct chunk_family *f;
	enum status st;

	st = dir_create_path(chunk_fd(c), path->s);
	if (st != OK) {
		log_errno(LOG_ERROR, "stream folder %s: create", path->s);
		return st;
	}
	/* Only now: what stands in the way is not the chunk's to move. */
	st = remember_top(c, path);
	if (st != OK)
		return st;
	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return E_NOMEM;
	f->is_numbered = is_numbered;
	st = relpath_dup(&f->path, path);
	if (st == OK)
		st = relpath_dup(&f->channel, channel);
	if (st != OK) {
		relpath_free(f->path);
		free(f);
		return st;
	}
	/* The journal searches below a root: not the whole output directory. */
	if (c->is_base)
		journal_add_root(
		    c->dir->output->journal, &f->journal_root, f->path);
	list_add(&c->families, &f->node);
	*out = f;
	return OK;
}

/* Streams of one trace come one after another. */
#define NEIGHBOURS 8

/* One of those newest families that has F's folder open, or NULL. */
static struct folder *
neighbours_folder(const struct chunk *c, const struct chunk_family *f)
{
	const struct list *n = c->families.prev;

	for (int i = 0; i < NEIGHBOURS && n != &c->families; n = n->prev, i++) {
		const struct chunk_family *o = list_entry(
		    n, struct chunk_family, node);

		if (o->folder != NULL && relpath_equal(o->path, f->path))
			return o->folder;
	}
	return NULL;
}

enum status
chunk_folder(struct chunk *c, struct chunk_family *f, struct folder **out)
{
	enum status st = OK;

	if (f->folder == NULL) {
		f->folder = neighbours_folder(c, f);
		if (f->folder != NULL)
			folder_get(f->folder);
		else
			st = folder_open(&f->folder, chunk_fd(c), f->path->s);
	}
	if (st != OK)
		log_errno(LOG_ERROR, "folder %s: open", f->path->s);
	*out = st == OK ? folder_get(f->folder) : NULL;
	return st;
}

void
chunk_folder_done(struct chunk_family *f)
{
	folder_put(f->folder);
	f->folder = NULL;
}

bool
chunk_settle(struct chunk *c)
{
	if (c->is_base)
		return false;
	switch (c->command) {
	case CHUNK_ARCHIVE:
		/* One rename at the end: an archive is whole, or not there. */
		if (c->override_name == NULL &&
		    (c->place != CHUNK_AT_ROOT ||
			chunk_move(c, CHUNK_AT_OLD) == OK) &&
		    chunk_move(c, CHUNK_AT_ARCHIVE) != OK)
			log_error("trace chunk %" PRIu64
				  ": stays where it is, not archived",
			    c->id);
		return false;
	case CHUNK_DELETE:
		return true;
	case CHUNK_KEEP:
		break;
	}
	/* Nobody will finish this rotation: leave no temporary name. */
	if (is_tmp(c->place) && chunk_move(c, CHUNK_AT_NAME) != OK)
		log_error("trace chunk %" PRIu64 ": keeps the name %s", c->id,
		    c->tmp_name);
	return false;
}
