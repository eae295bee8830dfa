/* SPDX-License-Identifier: MIT */
/*
 * The count of moves of a place is odd while the chunk is being moved. A reader
 * that does not find its folder and sees the same even count before and after
 * knows that the folder is gone; otherwise it tries again.
 */
#include "store/folder.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <urcu.h>

#include "common/fds.h"
#include "common/publish.h"
#include "common/ref.h"
#include "common/relpath.h"
#include "common/state.h"
#include "store/dir.h"
#include "store/stored.h"

/* How often a reader tries while the folder is being moved. A move takes less
 * than a millisecond, unless the disk is slow: then the reader tries again
 * later. */
#define MOVE_RETRIES 4

struct folder_base {
	struct ref ref;
	int fd;
	struct stored_dir *used; /* a reference; NULL: none */
};

/* RCU replaces it as a whole. */
struct name {
	struct rcu_head rcu;
	char s[];
};

struct folder_place {
	struct ref ref;
	struct folder_base *base; /* a reference */
	struct published_pointer name;
	struct published moves;
	struct published is_deleted;
	struct stored_dir *readers; /* a reference */
	struct name *next;	    /* between begin and end; worker only */
};

struct folder {
	struct ref ref;
	struct folder_place *place; /* a reference */
	struct dir_id identity;
	char path[];
};

enum status
folder_dir_open(int *out, int base, const char *path)
{
	enum status st;
	int saved;

	*out = -1;
	if (!fds_take(FDS_SESSIONS))
		return E_IO;
	st = dir_open(out, base, path);
	saved = errno;
	if (st != OK)
		fds_give(FDS_SESSIONS);
	errno = saved;
	return st;
}

void
folder_dir_close(int fd)
{
	close(fd);
	fds_give(FDS_SESSIONS);
}

bool
folder_dir_is_removed(int fd)
{
	struct stat sb;

	return fstat(fd, &sb) == 0 && sb.st_nlink == 0;
}

enum status
folder_base_create(struct folder_base **out, int take_fd)
{
	struct folder_base *b = calloc(1, sizeof(*b));

	*out = b;
	if (b == NULL)
		return E_NOMEM;
	ref_init(&b->ref);
	b->fd = take_fd;
	return OK;
}

static void
release_base(struct ref *r)
{
	struct folder_base *b = container_of(r, struct folder_base, ref);

	folder_dir_close(b->fd);
	stored_dir_leave(b->used);
	stored_dir_put(b->used);
	free(b);
}

void
folder_base_use(struct folder_base *b, struct stored_dir *d)
{
	b->used = stored_dir_get(d);
	stored_dir_enter(d);
}

void
folder_base_put(struct folder_base *b)
{
	if (b != NULL)
		ref_put(&b->ref, release_base);
}

static void
free_name(struct rcu_head *head)
{
	free(container_of(head, struct name, rcu));
}

/* SIZE includes the NUL. */
static struct name *
new_name(size_t size)
{
	return calloc(1, sizeof(struct name) + size);
}

enum status
folder_place_create(
    struct folder_place **out, struct folder_base *base, const char *name)
{
	struct folder_place *p = calloc(1, sizeof(*p));
	struct name *first = new_name(strlen(name) + 1);
	struct stored_dir *readers = stored_dir_create();

	*out = NULL;
	if (p == NULL || first == NULL || readers == NULL) {
		free(p);
		free(first);
		stored_dir_put(readers);
		return E_NOMEM;
	}
	p->readers = readers;
	ref_init(&p->ref);
	ref_get(&base->ref);
	p->base = base;
	assert(strlen(name) < FOLDER_NAME_MAX);
	memcpy(first->s, name, strlen(name));
	publish_pointer(&p->name, first);
	*out = p;
	return OK;
}

enum status
folder_place_begin(struct folder_place *p)
{
	/* Allocated before the move, because publishing the new name must not
	 * fail. */
	assert(p->next == NULL && published(&p->moves) % 2 == 0);
	p->next = new_name(FOLDER_NAME_MAX);
	if (p->next == NULL)
		return E_NOMEM;
	published_add(&p->moves, 1);
	published_fence();
	return OK;
}

void
folder_place_end(struct folder_place *p, const char *name)
{
	struct name *old = published_pointer(&p->name);

	assert(p->next != NULL && published(&p->moves) % 2 == 1);
	if (name != NULL) {
		assert(strlen(name) < FOLDER_NAME_MAX);
		memcpy(p->next->s, name, strlen(name));
		publish_pointer(&p->name, p->next);
		call_rcu(&old->rcu, free_name);
	} else {
		free(p->next);
	}
	p->next = NULL;
	publish(&p->moves, published(&p->moves) + 1);
}

void
folder_place_delete(struct folder_place *p)
{
	publish(&p->is_deleted, 1);
}

static void
release_place(struct ref *r)
{
	struct folder_place *p = container_of(r, struct folder_place, ref);

	folder_base_put(p->base);
	stored_dir_put(p->readers);
	free(published_pointer(&p->name));
	free(p);
}

void
folder_place_put(struct folder_place *p)
{
	if (p != NULL)
		ref_put(&p->ref, release_place);
}

struct stored_dir *
folder_place_readers(struct folder_place *p)
{
	return stored_dir_get(p->readers);
}

void
folder_begin_reading(const struct folder *f)
{
	stored_dir_enter(f->place->readers);
}

void
folder_end_reading(const struct folder *f)
{
	stored_dir_leave(f->place->readers);
}

/* Open the directory that is now at the path of the folder. */
static enum status
open_path(int *fd, const struct folder_place *p, const char *path)
{
	char text[2 * RELPATH_MAX];
	const struct name *name;
	int n;

	rcu_read_lock();
	name = published_pointer(&p->name);
	n = snprintf(text, sizeof(text), "%s%s%s", name->s,
	    name->s[0] == '\0' ? "" : "/", path);
	rcu_read_unlock();
	if ((size_t)n < sizeof(text))
		return dir_open(fd, p->base->fd, text);
	errno = ENAMETOOLONG;
	return E_IO;
}

enum status
folder_create(struct folder **out, struct folder_place *place, const char *path)
{
	const size_t n = strlen(path) + 1;
	struct folder *f = calloc(1, sizeof(*f) + n);
	enum status st;
	int fd, saved;

	*out = NULL;
	if (f == NULL)
		return E_NOMEM;
	st = open_path(&fd, place, path);
	if (st == OK) {
		st = dir_identify(&f->identity, fd);
		dir_close(fd);
	}
	if (st != OK) {
		saved = errno;
		free(f);
		errno = saved;
		return st;
	}
	ref_init(&f->ref);
	ref_get(&place->ref);
	f->place = place;
	memcpy(f->path, path, n);
	*out = f;
	return OK;
}

struct folder *
folder_get(struct folder *f)
{
	ref_get(&f->ref);
	return f;
}

static void
release(struct ref *r)
{
	struct folder *f = container_of(r, struct folder, ref);

	folder_place_put(f->place);
	free(f);
}

void
folder_put(struct folder *f)
{
	if (f != NULL)
		ref_put(&f->ref, release);
}

/* Open the folder if it is the same. E_NOENT: its path is gone or is another
 * directory. */
static enum status
open_same(int *fd, const struct folder *f)
{
	struct dir_id found;
	enum status st = open_path(fd, f->place, f->path);

	/* A component of the path is no longer a directory. */
	if (st == E_IO && (errno == ENOTDIR || errno == ELOOP))
		return E_NOENT;
	if (st != OK)
		return st;
	st = dir_identify(&found, *fd);
	if (st == OK && !dir_is_same(&found, &f->identity))
		st = E_NOENT;
	if (st != OK)
		dir_close(*fd);
	return st;
}

static enum status
open_folder(int *fd, const struct folder *f)
{
	uint64_t before, after;
	enum status st;

	for (int i = 0; i < MOVE_RETRIES; i++) {
		before = published(&f->place->moves);
		if (published(&f->place->is_deleted) != 0)
			return E_NOENT;
		st = open_same(fd, f);
		if (st != E_NOENT)
			return st;
		published_fence();
		after = published(&f->place->moves);
		if (before == after && before % 2 == 0)
			return E_NOENT;
	}
	errno = EAGAIN;
	return E_IO;
}

enum status
folder_open_file(int *fd, const struct folder *f, const char *name, int flags)
{
	enum status st;
	int dir;

	*fd = -1;
	st = open_folder(&dir, f);
	if (st != OK)
		return st;
	st = dir_open_file(fd, dir, name, flags);
	dir_close(dir);
	return st;
}

bool
folder_is_gone(const struct folder *f)
{
	enum status st;
	int fd;

	st = open_folder(&fd, f);
	if (st == OK)
		close(fd);
	return st == E_NOENT;
}

static const struct state_member base_members[] = {
	STATE_DROP(struct folder_base, ref), STATE_CODE(struct folder_base, fd),
	STATE_DROP(struct folder_base, used), /* by the session's directory */
};
static STATE_TABLE(base_state, struct folder_base, base_members);

static const struct state_member place_members[] = {
	STATE_DROP(struct folder_place, ref),
	STATE_CODE(struct folder_place, base),
	STATE_CODE(struct folder_place, name),
	STATE_DROP(struct folder_place, moves), /* none is in progress */
	STATE_PUBLISHED(struct folder_place, is_deleted),
	STATE_DROP(struct folder_place, readers),
	STATE_DROP(struct folder_place, next),
};
static STATE_TABLE(place_state, struct folder_place, place_members);

static const struct state_member id_members[] = {
	STATE_KEEP(struct dir_id, device),
	STATE_KEEP(struct dir_id, ino),
	STATE_KEEP(struct dir_id, born),
};
STATE_TABLE(dir_id_state, struct dir_id, id_members);

static const struct state_member members[] = {
	STATE_DROP(struct folder, ref),
	STATE_CODE(struct folder, place),
	STATE_STRUCT(struct folder, identity, dir_id_state),
	STATE_TAIL(struct folder, path),
};
static STATE_TABLE(folder_state, struct folder, members);

static void
put_base(void *b)
{
	folder_base_put(b);
}

static void
put_place(void *p)
{
	folder_place_put(p);
}

static void
put_folder(void *f)
{
	folder_put(f);
}

int
folder_base_fd(const struct folder_base *b)
{
	return b->fd;
}

void
folder_base_put_state(struct state_out *o, struct folder_base *b)
{
	if (!state_put_object(o, b))
		return;
	state_put(o, &base_state, b);
	state_put_fd(o, b->fd);
}

enum status
folder_dir_get_state(int *out, struct state_in *in)
{
	const int fd = state_get_fd(in);
	enum status st = E_MALFORMED;
	struct stat sb;

	*out = -1;
	if (fd < 0)
		return E_MALFORMED;
	if (fstat(fd, &sb) == 0 && S_ISDIR(sb.st_mode))
		st = fds_take(FDS_SESSIONS) ? OK : E_LIMIT;
	if (st == OK)
		*out = fd;
	else
		close(fd);
	return st;
}

enum status
folder_base_get_state(struct folder_base **out, struct state_in *in)
{
	uint32_t number;
	enum status st;
	void *b;
	int fd;

	*out = NULL;
	if (state_get_object(in, &base_state, &b, &number)) {
		*out = b;
		if (b != NULL)
			ref_get(&(*out)->ref);
		return state_in_status(in);
	}
	st = state_get(in, &base_state, &(struct folder_base){ .fd = -1 });
	if (st == OK)
		st = folder_dir_get_state(&fd, in);
	if (st != OK)
		return st;
	st = folder_base_create(out, fd);
	if (st != OK) {
		folder_dir_close(fd);
		return st;
	}
	ref_get(&(*out)->ref);
	state_made_shared(in, number, &base_state, *out, put_base);
	return OK;
}

void
folder_place_put_state(struct state_out *o, struct folder_place *p)
{
	const struct name *name;

	if (!state_put_object(o, p))
		return;
	folder_base_put_state(o, p->base);
	name = published_pointer(&p->name);
	state_put_text(o, name->s);
	state_put(o, &place_state, p);
}

enum status
folder_place_get_state(struct folder_place **out, struct state_in *in)
{
	struct folder_base *base;
	const char *name;
	uint32_t number;
	enum status st;
	void *p;

	*out = NULL;
	if (state_get_object(in, &place_state, &p, &number)) {
		*out = p;
		if (p != NULL)
			ref_get(&(*out)->ref);
		return state_in_status(in);
	}
	st = folder_base_get_state(&base, in);
	if (st != OK)
		return st;
	name = state_get_text(in);
	if (base == NULL || name == NULL || strlen(name) >= FOLDER_NAME_MAX)
		st = E_MALFORMED;
	if (st == OK)
		st = folder_place_create(out, base, name);
	folder_base_put(base);
	if (st == OK)
		st = state_get(in, &place_state, *out);
	if (st != OK) {
		folder_place_put(*out);
		*out = NULL;
		return st;
	}
	ref_get(&(*out)->ref);
	state_made_shared(in, number, &place_state, *out, put_place);
	return OK;
}

void
folder_put_state(struct state_out *o, struct folder *f)
{
	if (!state_put_object(o, f))
		return;
	folder_place_put_state(o, f->place);
	state_put_text(o, f->path);
	state_put(o, &folder_state, f);
}

enum status
folder_get_state(struct folder **out, struct state_in *in)
{
	struct folder_place *place;
	struct folder *f = NULL;
	const char *path;
	uint32_t number;
	enum status st;
	void *found;

	*out = NULL;
	if (state_get_object(in, &folder_state, &found, &number)) {
		if (found != NULL)
			*out = folder_get(found);
		return state_in_status(in);
	}
	st = folder_place_get_state(&place, in);
	if (st != OK)
		return st;
	path = state_get_text(in);
	if (place == NULL || path == NULL || strlen(path) >= RELPATH_MAX)
		st = E_MALFORMED;
	if (st == OK)
		f = calloc(1, sizeof(*f) + strlen(path) + 1);
	if (st == OK && f == NULL)
		st = E_NOMEM;
	if (st == OK)
		st = state_get(in, &folder_state, f);
	if (st != OK) {
		folder_place_put(place);
		free(f);
		return st;
	}
	ref_init(&f->ref);
	f->place = place;
	memcpy(f->path, path, strlen(path) + 1);
	state_made_shared(in, number, &folder_state, folder_get(f), put_folder);
	*out = f;
	return OK;
}
