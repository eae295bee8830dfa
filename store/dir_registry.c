/* SPDX-License-Identifier: MIT */
#include "store/dir_registry.h"

#include <assert.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "common/idmap.h"

/* How often a worker tries to take the map before it gives up: a hundred
 * microseconds, unless the thread that has it lost its processor. */
#define TRIES 100

struct dir_registry {
	struct published map_in_use, list_in_use;
	struct idmap noted; /* key of output and path -> entry */
	struct list shared; /* struct shared_dir, the oldest first */
	unsigned n_shared;
};

static bool
try_take(struct published *in_use)
{
	for (unsigned i = 0; !published_take(in_use); i++) {
		if (i >= TRIES)
			return false;
		sched_yield();
	}
	return true;
}

static void
take(struct published *in_use)
{
	while (!try_take(in_use))
		;
}

enum status
dir_registry_create(struct dir_registry **out)
{
	struct dir_registry *r = calloc(1, sizeof(*r));

	*out = r;
	if (r == NULL)
		return E_NOMEM;
	list_init(&r->shared);
	return OK;
}

/* Forget the oldest directories without users until N are left. */
static void
forget_oldest(struct dir_registry *r, unsigned n)
{
	struct list *node, *tmp;
	struct shared_dir *d;

	list_for_each (node, tmp, &r->shared) {
		d = list_entry(node, struct shared_dir, node);
		if (r->n_shared <= n)
			return;
		if (published(&d->users) > 0)
			continue;
		list_del(&d->node);
		r->n_shared--;
		free(d);
	}
}

void
dir_registry_destroy(struct dir_registry *r)
{
	if (r == NULL)
		return;
	forget_oldest(r, 0);
	assert(r->n_shared == 0 && r->noted.n == 0);
	idmap_free(&r->noted);
	free(r);
}

static uint64_t
key_of(const struct dir_id *output, const char *path)
{
	const uint64_t parts[] = { output->ino, output->born,
		idmap_key(path, strlen(path)) };

	return idmap_key(parts, sizeof(parts));
}

enum status
dir_registry_enter(struct dir_registry *r, const struct dir_id *output,
    const char *path, void *entry)
{
	enum status st;

	take(&r->map_in_use);
	st = idmap_insert(&r->noted, key_of(output, path), entry);
	publish(&r->map_in_use, 0);
	return st;
}

void
dir_registry_forget(
    struct dir_registry *r, const struct dir_id *output, const char *path)
{
	take(&r->map_in_use);
	(void)idmap_remove(&r->noted, key_of(output, path));
	publish(&r->map_in_use, 0);
}

void *
dir_registry_find(
    struct dir_registry *r, const struct dir_id *output, const char *path)
{
	void *entry;

	take(&r->map_in_use);
	entry = idmap_find(&r->noted, key_of(output, path));
	publish(&r->map_in_use, 0);
	return entry;
}

enum status
dir_registry_check(
    struct dir_registry *r, const struct dir_id *output, const char *path)
{
	bool is_noted;

	if (!try_take(&r->map_in_use))
		return E_LATER;
	is_noted = idmap_find(&r->noted, key_of(output, path)) != NULL;
	publish(&r->map_in_use, 0);
	return is_noted ? E_EXISTS : OK;
}

struct shared_dir *
dir_registry_share(struct dir_registry *r, const struct dir_id *output,
    const struct relpath *wanted, uint64_t sharers, bool *is_used)
{
	const uint64_t key = idmap_key(wanted->s, wanted->len);
	struct shared_dir *d, *found = NULL;

	take(&r->list_in_use);
	list_each_back (d, &r->shared, struct shared_dir, node)
		if (d->sharers == sharers && d->wanted == key &&
		    dir_is_same(&d->output, output)) {
			*is_used = published_add(&d->users, 1) > 1;
			found = d;
			break;
		}
	publish(&r->list_in_use, 0);
	return found;
}

struct shared_dir *
dir_registry_remember(struct dir_registry *r, const struct dir_id *output,
    const struct relpath *wanted, uint64_t sharers, const struct relpath *path,
    const struct dir_id *id)
{
	struct shared_dir *d = calloc(1, sizeof(*d) + path->len + 1);

	if (d == NULL)
		return NULL;
	d->output = *output;
	d->id = *id;
	d->sharers = sharers;
	d->wanted = idmap_key(wanted->s, wanted->len);
	memcpy(d->path, path->s, path->len);
	publish(&d->users, 1);
	take(&r->list_in_use);
	list_append(&r->shared, &d->node);
	r->n_shared++;
	forget_oldest(r, DIR_REGISTRY_SHARED_MAX);
	publish(&r->list_in_use, 0);
	return d;
}

void
dir_registry_unshare(struct dir_registry *r, const struct dir_id *id)
{
	struct shared_dir *d;

	take(&r->list_in_use);
	list_each (d, &r->shared, struct shared_dir, node)
		if (dir_is_same(&d->id, id))
			d->sharers = 0;
	publish(&r->list_in_use, 0);
}

void
dir_registry_leave(struct shared_dir *d)
{
	if (d != NULL)
		(void)published_release(&d->users);
}
