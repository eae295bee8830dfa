/* SPDX-License-Identifier: MIT */
#include "relayd/record/old_root.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "common/idmap.h"
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

/* The length of the folder at the beginning of PATH. The first component is the
 * host's, in which all its sessions have folders. The folder of a path without
 * a domain is the path. */
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

static uint64_t
name_key(const struct relpath *name)
{
	return name == NULL ? 0 : idmap_lasting_key(name->s, name->len);
}

static uint64_t
owner_of(const struct session *s)
{
	const char *address = s->tag + strlen("peer=");
	size_t n = strcspn(address, " ");

	while (n > 0 && address[n - 1] != ':')
		n--;
	const uint64_t parts[] = { idmap_lasting_key(address, n),
		name_key(s->request.hostname),
		name_key(s->request.session_name) };
	return idmap_lasting_key(parts, sizeof(parts));
}

static enum status
claim(struct old_root *r, const struct session *s)
{
	const int base = chunk_fd(s->chunks.current);
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

static bool
is_inside(const struct old_root *r, const char *path)
{
	return strncmp(path, r->path->s, r->path->len) == 0 &&
	       (path[r->path->len] == '\0' || path[r->path->len] == '/');
}

enum status
old_root_enter(struct session *s, const struct relpath *path)
{
	const size_t n = root_length(path->s);
	struct old_root *r;
	enum status st;

	if (session_dir_is_relays(path->s))
		return E_EXISTS;
	/* The host's folder belongs to no session. */
	if (strchr(path->s, '/') == NULL)
		return OK;
	if (s->old_root != NULL)
		return is_inside(s->old_root, path->s) ? OK : E_EXISTS;
	list_each (r, &s->shard->old_roots, struct old_root, node) {
		if (r->path->len != n || memcmp(r->path->s, path->s, n) != 0)
			continue;
		if (r->owner != owner_of(s))
			return E_EXISTS;
		r->refs++;
		s->old_root = r;
		return OK;
	}
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return E_NOMEM;
	st = relpath_parse(&r->path, (struct span){ path->s, n });
	if (st == OK)
		st = claim(r, s);
	if (st != OK) {
		dir_claim_release(r->claim);
		relpath_free(r->path);
		free(r);
		return st;
	}
	r->refs = 1;
	r->owner = owner_of(s);
	list_append(&s->shard->old_roots, &r->node);
	s->old_root = r;
	return OK;
}

void
old_root_leave(struct session *s)
{
	struct old_root *r = s->old_root;

	s->old_root = NULL;
	if (r == NULL || --r->refs > 0)
		return;
	list_del(&r->node);
	folder_dir_close(r->fd);
	dir_claim_release(r->claim);
	relpath_free(r->path);
	free(r);
}
