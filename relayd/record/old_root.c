/* SPDX-License-Identifier: MIT */
#include "relayd/record/old_root.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "common/fds.h"
#include "common/log.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "store/chunk.h"
#include "store/dir.h"
#include "store/dir_registry.h"
#include "store/folder.h"
#include "store/output.h"
#include "store/session_dir.h"
#include "store/store.h"

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
	       (is_same_name(a->request.hostname, b->request.hostname) &&
		   is_same_name(
		       a->request.session_name, b->request.session_name));
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

static bool
has_claim(const struct session *s, const struct old_root *r)
{
	const struct old_claim *c;

	list_each (c, &s->old_claims, struct old_claim, node) {
		if (c->root == r)
			return true;
	}
	return false;
}

static enum status
claim(struct old_root *r, const struct session *s)
{
	const int base = chunk_fd(s->current);
	enum status st;

	st = dir_registry_claim(&r->claim, s->shard->store->config.registry,
	    &s->dir->output->id, r->path, DIR_CLAIM_EXACT, 0);
	if (st == OK && session_dir_is_foreign(base, r->path->s))
		st = E_EXISTS;
	if (st == OK)
		st = dir_create_path(base, r->path->s);
	if (st == OK)
		st = folder_dir_open(&r->fd, base, r->path->s);
	if (st != OK)
		return st;
	/* Where directories cannot be locked, the folder is not claimed. */
	if (flock(r->fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
		session_dir_show_claim(r->fd);
		return OK;
	}
	folder_dir_close(r->fd);
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
		st = claim(r, s);
	if (st != OK) {
		if (r != NULL) {
			dir_claim_release(r->claim);
			relpath_free(r->path);
		}
		free(r);
		return st;
	}
	list_append(&s->shard->old_roots, &r->node);
	*out = r;
	return OK;
}

/* Is PATH in a folder of S? */
static bool
is_inside(const struct session *s, const char *path)
{
	const struct old_claim *c;
	size_t n;

	list_each (c, &s->old_claims, struct old_claim, node) {
		n = c->root->path->len;
		if (strncmp(path, c->root->path->s, n) == 0 &&
		    (path[n] == '\0' || path[n] == '/'))
			return true;
	}
	return false;
}

/* May S have one more folder? */
static enum status
make_claim(struct old_claim **out, const struct session *s)
{
	const struct old_claim *c;
	unsigned n = 0;

	list_each (c, &s->old_claims, struct old_claim, node)
		n++;
	*out = NULL;
	if (n >= OLD_ROOTS_MAX || (n > 0 && !fds_take(FDS_EXTRA)))
		return E_LIMIT;
	*out = calloc(1, sizeof(**out));
	if (*out == NULL && n > 0)
		fds_give(FDS_EXTRA);
	if (*out == NULL)
		return E_NOMEM;
	(*out)->is_extra = n > 0;
	return OK;
}

static void
free_claim(struct old_claim *c)
{
	if (c->is_extra)
		fds_give(FDS_EXTRA);
	free(c);
}

enum status
old_root_enter(struct session *s, const struct relpath *path)
{
	const size_t n = root_length(path->s);
	struct old_root *r = find(s, path->s, n);
	struct old_claim *c;
	enum status st;

	if (session_dir_is_relays(path->s))
		return E_EXISTS;
	/* A path of one component is the host's folder, which is nobody's. */
	if (strchr(path->s, '/') == NULL || is_inside(s, path->s))
		return OK;
	st = make_claim(&c, s);
	if (st != OK)
		return st;
	if (r == NULL)
		st = make_root(&r, s, (struct span){ path->s, n });
	else if (!is_same_session(s, r->owner))
		st = E_EXISTS;
	if (st != OK) {
		free_claim(c);
		return st;
	}
	r->refs++;
	r->owner = s;
	c->root = r;
	list_append(&s->old_claims, &c->node);
	return OK;
}

/* S leaves R; another session that has it speaks for it. */
static void
leave_root(struct old_root *r, const struct session *s)
{
	const struct session *o;

	if (--r->refs > 0) {
		list_each (o, &s->shard->sessions, struct session, shard_node)
			if (o != s && has_claim(o, r))
				r->owner = o;
		return;
	}
	list_del(&r->node);
	folder_dir_close(r->fd);
	dir_claim_release(r->claim);
	relpath_free(r->path);
	free(r);
}

void
old_root_leave(struct session *s)
{
	struct old_claim *c;

	while (!list_empty(&s->old_claims)) {
		c = list_first(&s->old_claims, struct old_claim, node);
		list_del(&c->node);
		leave_root(c->root, s);
		free_claim(c);
	}
}
