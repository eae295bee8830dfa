/* SPDX-License-Identifier: MIT */
#include "store/chunk.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/fds.h"
#include "common/log.h"
#include "store/dir.h"
#include "store/folder.h"
#include "store/journal.h"
#include "store/kept_dir.h"
#include "store/output.h"
#include "store/session_dir.h"
#include "store/store.h"

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
	c->began_ns = clock_wall_ns();
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
	struct list *n, *tmp;
	struct chunk_top *t;

	/* They may be hundreds of thousands. */
	list_move_all(&take_c->dir->store->old_families, &take_c->families);
	list_for_each (n, tmp, &take_c->tops) {
		t = list_entry(n, struct chunk_top, node);
		relpath_free(t->name);
		free(t);
	}
	take_c->dir->store->names_bytes -= take_c->names_bytes;
	idmap_free(&take_c->losses);
	list_del(&take_c->node);
	list_del(&take_c->doomed_node);
	folder_place_put(take_c->folders);
	if (take_c->fd >= 0)
		kept_dir_close(take_c->fd);
	if (take_c->is_extra)
		fds_give(FDS_EXTRA);
	session_dir_put(take_c->dir);
	relpath_free(take_c->override_name);
	free(take_c);
}

void
chunk_free_family(struct chunk_family *take_f)
{
	list_del(&take_f->node);
	folder_put(take_f->folder);
	relpath_free(take_f->path);
	relpath_free(take_f->channel);
	free(take_f);
}

bool
chunk_free_some(struct store *s)
{
	for (unsigned n = 0; n < CHUNK_FREE_SLICE; n++) {
		if (list_empty(&s->old_families))
			return false;
		chunk_free_family(
		    list_first(&s->old_families, struct chunk_family, node));
	}
	return !list_empty(&s->old_families);
}

/* YYYYmmddTHHMMSS+hhmm, local time (streaming 5.5). */
static enum status
format_time(char out[64], uint64_t when)
{
	time_t t = (time_t)when;
	struct tm tm;

	/* The year has four digits: later years get no name. */
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

void
chunk_count(struct chunk *c, int64_t n)
{
	c->bytes += (uint64_t)n;
	session_dir_count(c->dir, n);
}

bool
chunk_is_gone(const struct chunk *c)
{
	return kept_dir_is_gone(chunk_fd(c));
}

/* Did the chunk make the top-level folder of PATH? */
static bool
has_top(const struct chunk *c, const struct relpath *path)
{
	const size_t n = strcspn(path->s, "/");
	const struct chunk_top *t;

	list_each (t, &c->tops, struct chunk_top, node)
		if (t->name->len == n && memcmp(t->name->s, path->s, n) == 0)
			return true;
	return false;
}

static enum status
remember_top(struct chunk *c, const struct relpath *path)
{
	struct relpath *name;
	enum status st;
	struct chunk_top *t;

	st = relpath_top(&name, path);
	if (st != OK)
		return st;
	t = calloc(1, sizeof(*t));
	if (t == NULL) {
		relpath_free(name);
		return E_NOMEM;
	}
	t->name = name;
	list_append(&c->tops, &t->node);
	c->n_tops++;
	return OK;
}

enum status
chunk_add_stream(struct chunk *c, const struct relpath *path,
    const struct relpath *channel, bool is_numbered, struct chunk_family **out)
{
	/* What never moves needs no tops. */
	const bool is_known = c->is_base || has_top(c, path);
	struct chunk_family *f;
	enum status st;

	if (!is_known && c->n_tops >= CHUNK_TOPS_MAX) {
		log_peer(LOG_WARN,
		    CHUNK_FMT ": %s: refused: it has %u top-level folders",
		    CHUNK_ARGS(c), path->s, c->n_tops);
		return E_LIMIT;
	}
	do
		st = dir_create_path(chunk_fd(c), path->s);
	while (st == E_NOSPC && room_yield(&c->dir->output->room));
	if (st != OK) {
		/* The caller can make a removed directory again, and tries
		 * again on a full disk. */
		if (st != E_NOSPC ||
		    log_ratelimit(
			&c->dir->store->last_full_log, STORE_FULL_LOG_NS))
			log_peer_errno(st == E_NOENT ? LOG_INFO : LOG_ERROR,
			    "%s/%s: create folder", session_dir_text(c->dir),
			    path->s);
		return st;
	}
	/* Remember the name only now: if something else had it, the chunk must
	 * not move that. */
	if (!is_known)
		st = remember_top(c, path);
	if (st != OK)
		return st;
	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return E_NOMEM;
	f->is_numbered = is_numbered;
	f->path = relpath_share(path);
	f->channel = relpath_share(channel);
	/* The journal searches below this root, not below the whole output
	 * directory. */
	f->journal_root.path = f->path;
	list_append(&c->families, &f->node);
	*out = f;
	return OK;
}

enum status
chunk_new_folder(struct chunk *c, const struct relpath *path)
{
	enum status st;

	do {
		st = dir_create(chunk_fd(c), path->s);
		/* If somebody removed its parents, PATH does not exist,
		 * either. */
		if (st == E_NOENT)
			st = dir_create_path(chunk_fd(c), path->s);
	} while (st == E_NOSPC && room_yield(&c->dir->output->room));
	if (st != OK && st != E_EXISTS)
		log_peer_errno(LOG_ERROR, "%s/%s: create folder",
		    session_dir_text(c->dir), path->s);
	return st;
}

/* The newest families that are searched: streams of one trace come one after
 * another. */
#define NEIGHBOURS 8

/* F's folder, if one of the newest families has it; otherwise NULL. */
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

static enum status
new_folder(struct chunk *c, struct chunk_family *f)
{
	char name[RELPATH_MAX];
	struct folder_base *base;
	enum status st = OK;

	if (c->folders == NULL) {
		st = session_dir_share(c->dir, &base);
		if (st == OK)
			st = chunk_place_name(c, c->place, name);
		if (st == OK)
			st = folder_place_create(&c->folders, base, name);
	}
	return st != OK ? st
			: folder_create(&f->folder, c->folders, f->path->s);
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
			st = new_folder(c, f);
	}
	if (st == E_NOMEM)
		errno = ENOMEM;
	if (st != OK)
		log_peer_errno(LOG_ERROR, "%s/%s: open folder",
		    session_dir_text(c->dir), f->path->s);
	*out = st == OK ? folder_get(f->folder) : NULL;
	return st;
}

void
chunk_folder_done(struct chunk_family *f)
{
	folder_put(f->folder);
	f->folder = NULL;
}

void
chunk_stream_left(struct chunk *c, struct chunk_family *f)
{
	const uint64_t n = sizeof(*f) + relpath_memory(f->path) +
			   relpath_memory(f->channel);

	chunk_folder_done(f);
	c->names_bytes += n;
	c->dir->store->names_bytes += n;
}
