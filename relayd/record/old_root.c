/* SPDX-License-Identifier: MIT */
#include "relayd/record/old_root.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "common/log.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "store/chunk.h"
#include "store/dir.h"
#include "store/kept_dir.h"
#include "store/session_dir.h"

static bool
is_domain(const char *name, size_t n)
{
	return (n == strlen("kernel") && memcmp(name, "kernel", n) == 0) ||
	       (n == strlen("ust") && memcmp(name, "ust", n) == 0);
}

/* How long the folder is in PATH. It is below its host's, which is nobody's:
 * the folder of a path without a domain is the path. */
static size_t
root_length(const char *path)
{
	const char *name = strchr(path, '/'), *end;

	for (; name != NULL; name = end) {
		end = strchr(++name, '/');
		if (is_domain(name, strcspn(name, "/")) &&
		    memchr(path, '/', (size_t)(name - 1 - path)) != NULL)
			return (size_t)(name - 1 - path);
	}
	return strlen(path);
}

static bool
is_same_name(const struct relpath *a, const struct relpath *b)
{
	return a != NULL && b != NULL && relpath_equal(a, b);
}

static bool
is_same_session(const struct session *a, const struct session *b)
{
	if (strcmp(a->address, b->address) != 0 ||
	    (a->minor < 4) != (b->minor < 4))
		return false;
	return a->minor < 4 ||
	       (is_same_name(a->wish.hostname, b->wish.hostname) &&
		   is_same_name(a->wish.session_name, b->wish.session_name));
}

static struct old_root *
find(const struct session *s, const char *path, size_t n)
{
	struct old_root *r;

	list_each (r, &s->shard->old_roots, struct old_root, node)
		if (r->path->len == n && memcmp(r->path->s, path, n) == 0)
			return r;
	return NULL;
}

bool
old_root_is_ours(const struct session *s, const char *path, size_t n)
{
	const struct old_root *r = find(s, path, n);

	return r != NULL && (s->old_root == r || is_same_session(s, r->owner));
}

static enum status
claim(struct old_root *r, int base)
{
	enum status st = dir_create_path(base, r->path->s);

	if (st == OK)
		st = kept_dir_open(&r->fd, base, r->path->s);
	if (st != OK)
		return st;
	/* Where directories cannot be locked, the folder is not claimed. */
	if (flock(r->fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
		session_dir_show_claim(r->fd);
		return OK;
	}
	kept_dir_close(r->fd);
	return E_EXISTS;
}

static enum status
make_root(struct old_root **out, const struct session *s, struct span path)
{
	struct old_root *r = calloc(1, sizeof(*r));
	enum status st = E_NOMEM;

	*out = NULL;
	if (r != NULL) {
		list_init(&r->node);
		st = relpath_parse(&r->path, path);
	}
	if (st == OK)
		st = claim(r, chunk_fd(s->current));
	if (st != OK) {
		if (r != NULL)
			relpath_free(r->path);
		free(r);
		return st;
	}
	list_append(&s->shard->old_roots, &r->node);
	*out = r;
	return OK;
}

enum status
old_root_enter(struct session *s, const struct relpath *path)
{
	const size_t n = root_length(path->s);
	struct old_root *r = find(s, path->s, n);
	enum status st = OK;

	if (session_dir_is_relays(path->s))
		return E_EXISTS;
	/* A path of one component is the host's folder, which is nobody's. */
	if (s->old_root != NULL || strchr(path->s, '/') == NULL)
		return OK;
	if (r == NULL)
		st = make_root(&r, s, (struct span){ path->s, n });
	else if (!is_same_session(s, r->owner))
		st = E_EXISTS;
	if (st != OK)
		return st;
	r->refs++;
	r->owner = s;
	s->old_root = r;
	return OK;
}

void
old_root_leave(struct session *s)
{
	struct old_root *r = s->old_root;
	const struct session *o;

	s->old_root = NULL;
	if (r == NULL)
		return;
	if (--r->refs > 0) {
		list_each (o, &s->shard->sessions, struct session, shard_node)
			if (o->old_root == r)
				r->owner = o;
		return;
	}
	list_del(&r->node);
	kept_dir_close(r->fd);
	relpath_free(r->path);
	free(r);
}
