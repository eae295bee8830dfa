/* SPDX-License-Identifier: MIT */
#include "relayd/retention/table.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "store/dir_registry.h"

void
table_init(struct table *t, struct dir_registry *registry)
{
	*t = (struct table){ .registry = registry };
	list_init(&t->all);
	list_init(&t->ended);
	list_init(&t->active);
	list_init(&t->to_count);
}

static uint64_t
id_key(uint64_t ino, uint64_t born)
{
	const uint64_t id[] = { ino, born };

	return idmap_key(id, sizeof(id));
}

struct entry *
table_find_id(const struct table *t, uint64_t ino, uint64_t born)
{
	struct entry *e = idmap_find(&t->by_id, id_key(ino, born));

	return e != NULL && e->ino == ino && e->born == born ? e : NULL;
}

struct entry *
table_find_path(const struct table *t, const char *path)
{
	return dir_registry_find(t->registry, &t->output, path);
}

struct entry *
table_next(const struct table *t, const struct entry *e)
{
	struct list *n = e == NULL ? t->all.next : e->node.next;

	return n == &t->all ? NULL : list_entry(n, struct entry, node);
}

static void
free_entry(struct entry *e)
{
	for (unsigned i = 0; i < e->n_users; i++)
		stored_dir_put(e->users[i]);
	free(e->users);
	if (e->path != e->name)
		free(e->path);
	free(e->name);
	free(e);
}

void
table_clear(struct table *t)
{
	while (!list_empty(&t->all))
		table_remove(t, list_first(&t->all, struct entry, node));
	idmap_free(&t->by_id);
	table_init(t, t->registry);
}

/* The place in the map, which is at most half empty, the node of the path, and
 * the words that malloc keeps. */
#define ENTRY_EXTRA 256

/* Hosts and archives have many directories; other folders may have one. */
static uint64_t
memory_of(const struct entry *e)
{
	unsigned folders = 0;

	for (const char *s = e->name; (s = strchr(s, '/')) != NULL; s++)
		folders++;
	return sizeof(*e) + ENTRY_EXTRA + e->name_size +
	       (folders > 3 ? folders - 3 : 0) * ENTRY_EXTRA;
}

static struct entry *
new_entry(const struct notes_row *from)
{
	const size_t path = strlen(from->name) + 1;
	const size_t host = strlen(from->host) + 1;
	const size_t session = strlen(from->session) + 1;
	struct entry *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return NULL;
	e->name = malloc(path + host + session);
	if (e->name == NULL) {
		free(e);
		return NULL;
	}
	e->name_size = path + host + session;
	memcpy(e->name, from->name, path);
	e->path = e->name;
	e->host = memcpy(e->name + path, from->host, host);
	e->session = memcpy(e->name + path + host, from->session, session);
	e->kind = from->kind;
	e->ino = from->ino;
	e->born = from->born;
	e->began_ns = from->began_ns;
	list_init(&e->node);
	list_init(&e->order);
	list_init(&e->active);
	list_init(&e->to_count);
	list_init(&e->children);
	list_init(&e->sibling);
	return e;
}

/* E is a session that records, perhaps again. */
static void
begin_again(struct table *t, struct entry *e)
{
	if (e->is_ended)
		t->bytes -= e->bytes;
	e->is_ended = false;
	list_del(&e->order);
	list_del(&e->to_count);
	list_del(&e->active);
	list_append(&t->active, &e->active);
}

enum status
table_add(struct table *t, const struct notes_row *from, struct entry **out)
{
	struct entry *e = table_find_id(t, from->ino, from->born);
	enum status st;

	*out = e;
	if (e != NULL) {
		begin_again(t, e);
		return table_move(t, e, from->name, -1);
	}
	if (t->memory_max != 0 && t->memory >= t->memory_max)
		return E_LIMIT;
	e = new_entry(from);
	if (e == NULL)
		return E_NOMEM;
	st = dir_registry_enter(&e->place, t->registry, &t->output, e->path, e);
	if (st == OK) {
		st = idmap_insert(&t->by_id, id_key(e->ino, e->born), e);
		if (st != OK)
			dir_registry_forget(t->registry, e->place);
	}
	if (st != OK) {
		free_entry(e);
		return st;
	}
	e->number = ++t->last_number;
	list_append(&t->all, &e->node);
	t->n++;
	t->memory += memory_of(e);
	e->parent = dir_node_above(e->place);
	if (e->parent != NULL)
		list_append(&e->parent->children, &e->sibling);
	begin_again(t, e);
	*out = e;
	return OK;
}

void
table_remove(struct table *t, struct entry *take_e)
{
	struct entry *e = take_e;
	struct list *n, *tmp;

	list_for_each (n, tmp, &e->children) {
		list_entry(n, struct entry, sibling)->parent = NULL;
		list_del(n);
	}
	(void)idmap_remove(&t->by_id, id_key(e->ino, e->born));
	dir_registry_forget(t->registry, e->place);
	if (e->is_ended)
		t->bytes -= e->bytes;
	t->n_kept -= e->is_kept;
	t->n--;
	t->memory -= memory_of(e);
	list_del(&e->sibling);
	list_del(&e->node);
	list_del(&e->order);
	list_del(&e->active);
	list_del(&e->to_count);
	free_entry(e);
}

/* Mostly it ended last. */
static void
put_in_order(struct table *t, struct entry *e)
{
	struct entry *before;

	list_del(&e->order);
	if (!e->is_ended || e->is_kept)
		return;
	list_each_back (before, &t->ended, struct entry, order) {
		if (before->ended_ns <= e->ended_ns)
			break;
	}
	/* list_append() puts it before the node that it is given. */
	list_append(before->order.next, &e->order);
}

void
table_end(struct table *t, struct entry *e, uint64_t ended_ns, uint64_t bytes,
    bool counted)
{
	if (e->is_ended)
		t->bytes -= e->bytes;
	else
		e->seen_end_ns = clock_now_ns();
	e->is_ended = true;
	e->ended_ns = ended_ns;
	e->bytes = bytes;
	t->bytes += bytes;
	list_del(&e->active);
	list_del(&e->to_count);
	if (!counted)
		list_append(&t->to_count, &e->to_count);
	put_in_order(t, e);
}

void
table_set_bytes(struct table *t, struct entry *e, uint64_t bytes)
{
	if (e->is_ended)
		t->bytes += bytes - e->bytes;
	e->bytes = bytes;
	list_del(&e->to_count);
}

void
table_keep(struct table *t, struct entry *e, bool keeps)
{
	if (keeps == e->is_kept)
		return;
	e->is_kept = keeps;
	t->n_kept += keeps ? 1 : UINT64_MAX;
	put_in_order(t, e);
}

enum status
table_move(struct table *t, struct entry *e, const char *path, int base)
{
	struct dir_node *n;
	enum status st;
	char *copy;

	if (strcmp(e->path, path) == 0)
		return OK;
	copy = strdup(path);
	if (copy == NULL)
		return E_NOMEM;
	st = dir_registry_enter(&n, t->registry, &t->output, copy, e);
	if (st == OK && base >= 0) {
		st = dir_rename(base, e->path, path);
		if (st != OK)
			dir_registry_forget(t->registry, n);
	}
	if (st != OK) {
		free(copy);
		return st;
	}
	dir_registry_forget(t->registry, e->place);
	e->place = n;
	if (e->path != e->name)
		free(e->path);
	e->path = copy;
	return OK;
}

enum status
table_use(struct entry *e, struct stored_dir *take_user)
{
	struct stored_dir **more = realloc(
	    e->users, (e->n_users + 1) * sizeof(struct stored_dir *));

	if (more == NULL) {
		stored_dir_put(take_user);
		return E_NOMEM;
	}
	e->users = more;
	e->users[e->n_users++] = take_user;
	return OK;
}

/* A session whose users have left has ended; viewers of a chunk may come
 * again, so its users are kept. */
bool
table_is_used(struct entry *e)
{
	bool is_used = false;
	unsigned n = 0;

	for (unsigned i = 0; i < e->n_users; i++) {
		const bool is = stored_dir_is_used(e->users[i]);

		is_used |= is;
		if (is || e->kind != STORED_SESSION)
			e->users[n++] = e->users[i];
		else
			stored_dir_put(e->users[i]);
	}
	e->n_users = n;
	if (n == 0) {
		free(e->users);
		e->users = NULL;
	}
	return is_used;
}

uint64_t
table_bytes_of(const struct entry *e)
{
	uint64_t n = 0, bytes;

	if (e->is_ended)
		return e->bytes;
	for (unsigned i = 0; i < e->n_users; i++) {
		bytes = published_word(&e->users[i]->bytes);
		/* It was counted down for a file that was larger before. */
		n += bytes > INT64_MAX ? 0 : bytes;
	}
	return n;
}

uint64_t
table_bytes(const struct table *t)
{
	const struct entry *e;
	uint64_t n = t->bytes;

	list_each (e, &t->active, struct entry, active)
		n += table_bytes_of(e);
	return n;
}

bool
table_is_kept(const struct entry *e)
{
	for (; e != NULL; e = e->parent)
		if (e->is_kept)
			return true;
	return false;
}
