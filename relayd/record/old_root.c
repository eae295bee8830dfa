/* SPDX-License-Identifier: MIT */
#include "relayd/record/old_root.h"

#include <errno.h>
#include <stdlib.h>
#include <sched.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/fds.h"
#include "common/idmap.h"
#include "common/log.h"
#include "common/state.h"
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

static void
free_root(struct old_root *r)
{
	list_del(&r->node);
	if (r->fd >= 0)
		folder_dir_close(r->fd);
	dir_claim_release(r->claim);
	relpath_free(r->path);
	free(r);
}

void
old_root_leave(struct session *s)
{
	struct old_root *r = s->old_root;

	s->old_root = NULL;
	if (r == NULL || --r->refs > 0)
		return;
	free_root(r);
}

static const struct state_member old_root_members[] = {
	STATE_DROP(struct old_root, node),
	STATE_DROP(struct old_root, refs), /* its sessions join again */
	STATE_CODE(struct old_root, fd),
	STATE_CODE(struct old_root, claim),
	STATE_PATH(struct old_root, path),
	STATE_KEEP(struct old_root, owner),
};
static STATE_TABLE(old_root_state, struct old_root, old_root_members);

void
old_roots_put_state(struct state_out *o, const struct shard *sh)
{
	const struct old_root *r;
	size_t part;

	list_each (r, &sh->old_roots, struct old_root, node) {
		state_put_bool(o, true);
		part = state_begin(o);
		if (!state_put_object(o, r))
			o->bad = true;
		state_put(o, &old_root_state, r);
		state_put_fd(o, r->fd);
		state_end(o, part);
	}
	state_put_bool(o, false);
}

/* The lock moved with the descriptor. */
static enum status
claim_again(struct old_root *r, struct shard *sh, int take_fd)
{
	const struct output *output = store_output(sh->store);
	enum status st;

	if (take_fd < 0 || r->path == NULL || !fds_take(FDS_SESSIONS)) {
		if (take_fd >= 0)
			close(take_fd);
		return E_MALFORMED;
	}
	r->fd = take_fd;
	do
		st = dir_registry_claim(&r->claim, sh->store->config.registry,
		    &output->id, r->path, DIR_CLAIM_EXACT, 0);
	while (st == E_LATER && sched_yield() == 0);
	return st;
}

static enum status
get_one(struct shard *sh, struct state_in *in)
{
	struct old_root *r;
	uint32_t number;
	enum status st;
	void *known;

	if (state_get_object(in, &old_root_state, &known, &number))
		return E_MALFORMED;
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return E_NOMEM;
	list_init(&r->node);
	r->fd = -1;
	st = state_get(in, &old_root_state, r);
	if (st == OK)
		st = claim_again(r, sh, state_get_fd(in));
	if (st != OK) {
		log_error("%s: cannot be claimed again: %s",
		    r->path == NULL ? "a folder" : r->path->s, status_text(st));
		free_root(r);
		return st;
	}
	list_append(&sh->old_roots, &r->node);
	state_made(in, number, &old_root_state, r);
	return OK;
}

enum status
old_roots_get_state(struct shard *sh, struct state_in *in)
{
	struct reader rest;

	while (state_get_bool(in)) {
		rest = state_part(in);
		(void)(get_one(sh, in) == OK);
		state_part_end(in, &rest);
	}
	return state_in_status(in);
}

void
old_roots_are_read(struct shard *sh)
{
	struct old_root *r, *next;

	list_each_safe (r, next, &sh->old_roots, struct old_root, node)
		if (r->refs == 0)
			free_root(r);
}

void
old_root_put_name(struct state_out *o, const struct old_root *r)
{
	if (state_put_object(o, r))
		o->bad = true;
}

enum status
old_root_get_name(struct session *s, struct state_in *in)
{
	uint32_t number;
	void *object;

	if (!state_get_object(in, &old_root_state, &object, &number))
		return E_MALFORMED;
	s->old_root = object;
	if (s->old_root != NULL)
		s->old_root->refs++;
	return state_in_status(in);
}
