/* SPDX-License-Identifier: MIT */
#include "store/dir_registry.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/idmap.h"
#include "common/ids.h"

/* How often a thread tries to take the tree before it gives up: a hundred
 * microseconds, unless the thread that has it lost its processor. */
#define TRIES 100

/* One component of a path. It exists while something at it or below it does. */
struct dir_node {
	struct dir_node *parent; /* NULL: the top */
	uint64_t serial;	 /* stands for the node in the keys of others */
	unsigned refs;		 /* children, claims, an entry, being shared */
	unsigned claims;	 /* at this path */
	unsigned claims_below;
	unsigned suffix;    /* the last one that was given for this name */
	uint64_t sharers;   /* sessions that may claim it together; 0: none */
	struct list shared; /* registry->shared, while unclaimed */
	/* The sharers of the claim that found it free on the disk, so that they
	 * may join; 0: none may. */
	struct published settled_for;
	struct dir_id shared_dir; /* their directory; set before SETTLED_FOR */
	void *entry; /* retention's: it is noted; NULL: it is not */
	char name[];
};

struct dir_registry {
	struct published in_use;
	struct published_pointer released; /* struct dir_claim */
	struct idmap nodes;
	struct dir_node *top; /* its children stand for output directories */
	uint64_t last_serial;
	struct list shared; /* struct dir_node, the oldest first */
	unsigned n_shared;
};

/* A component of a path. */
struct part {
	const char *s;
	size_t n;
};

/* The component at the beginning of PATH. */
static struct part
part_of(const char *path)
{
	return (struct part){ path, strcspn(path, "/") };
}

static bool
is_last(struct part p)
{
	return p.s[p.n] == '\0';
}

/* The next component of the path that P is in. */
static struct part
next_part(struct part p)
{
	return part_of(p.s + p.n + 1);
}

static uint64_t
node_key(const struct dir_node *parent, struct part name)
{
	char bytes[sizeof(parent->serial) + NAME_MAX];

	assert(name.n <= NAME_MAX);
	memcpy(bytes, &parent->serial, sizeof(parent->serial));
	memcpy(bytes + sizeof(parent->serial), name.s, name.n);
	return idmap_key(bytes, sizeof(parent->serial) + name.n);
}

/* NULL: there is none; PARENT may be NULL. */
static struct dir_node *
find_child(const struct dir_registry *r, const struct dir_node *parent,
    struct part name)
{
	struct dir_node *n;

	if (parent == NULL)
		return NULL;
	n = idmap_find(&r->nodes, node_key(parent, name));
	return n != NULL && n->parent == parent && strlen(n->name) == name.n &&
		       memcmp(n->name, name.s, name.n) == 0
		   ? n
		   : NULL;
}

/* Drop a reference. */
static void
node_put(struct dir_registry *r, struct dir_node *n)
{
	struct dir_node *parent;

	for (; n != NULL && --n->refs == 0; n = parent) {
		parent = n->parent;
		(void)idmap_remove(
		    &r->nodes, node_key(parent,
				   (struct part){ n->name, strlen(n->name) }));
		free(n);
	}
}

static struct dir_node *
new_node(struct dir_registry *r, struct part name)
{
	struct dir_node *n = calloc(1, sizeof(*n) + name.n + 1);

	if (n == NULL)
		return NULL;
	memcpy(n->name, name.s, name.n);
	n->refs = 1;
	n->serial = ++r->last_serial;
	list_init(&n->shared);
	return n;
}

/* A reference to the child NAME of PARENT, in exchange for one to PARENT, also
 * on failure: NULL. */
static struct dir_node *
get_child(
    struct dir_registry *r, struct dir_node *take_parent, struct part name)
{
	struct dir_node *n = find_child(r, take_parent, name);

	if (n != NULL) {
		n->refs++;
		node_put(r, take_parent);
		return n;
	}
	n = new_node(r, name);
	if (n != NULL &&
	    idmap_insert(&r->nodes, node_key(take_parent, name), n) != OK) {
		free(n);
		n = NULL;
	}
	if (n == NULL)
		node_put(r, take_parent);
	else
		n->parent = take_parent;
	return n;
}

/* The name of the node that stands for the directory OUTPUT. */
#define ROOT_NAME_LEN 36

static struct part
root_name(const struct dir_id *output, char out[ROOT_NAME_LEN])
{
	(void)snprintf(out, ROOT_NAME_LEN, "%" PRIx64 "-%" PRIx64, output->ino,
	    output->born);
	return part_of(out);
}

/* A reference to the node of PATH below OUTPUT. NULL: no memory. */
static struct dir_node *
get_path(struct dir_registry *r, const struct dir_id *output, const char *path)
{
	char name[ROOT_NAME_LEN];
	struct part p = part_of(path);
	struct dir_node *n;

	r->top->refs++;
	n = get_child(r, r->top, root_name(output, name));
	for (; n != NULL; p = next_part(p)) {
		n = get_child(r, n, p);
		if (is_last(p))
			break;
	}
	return n;
}

/* NULL: there is none. */
static struct dir_node *
find_root(const struct dir_registry *r, const struct dir_id *output)
{
	char name[ROOT_NAME_LEN];

	return find_child(r, r->top, root_name(output, name));
}

static struct dir_node *
find_path(
    const struct dir_registry *r, const struct dir_id *output, const char *path)
{
	struct part p = part_of(path);
	struct dir_node *n = find_child(r, find_root(r, output), p);

	for (; n != NULL && !is_last(p); n = find_child(r, n, p))
		p = next_part(p);
	return n;
}

static void
remember(struct dir_registry *r, struct dir_node *n)
{
	n->refs++;
	list_append(&r->shared, &n->shared);
	r->n_shared++;
}

static void
forget_shared(struct dir_registry *r, struct dir_node *n)
{
	if (list_empty(&n->shared))
		return;
	list_del(&n->shared);
	r->n_shared--;
	n->sharers = 0;
	node_put(r, n);
}

static void
count_claim(struct dir_node *n, int by)
{
	n->claims += (unsigned)by;
	for (n = n->parent; n != NULL; n = n->parent)
		n->claims_below += (unsigned)by;
}

/* The claim leaves its node. */
static void
leave(struct dir_registry *r, struct dir_claim *c)
{
	struct dir_node *n = c->node;

	if (c->is_settled && c->sharers != n->sharers) {
		forget_shared(r, n);
		n->sharers = c->sharers;
	}
	count_claim(n, -1);
	if (n->claims == 0 && n->sharers != 0 && list_empty(&n->shared)) {
		if (published_word(&n->settled_for) != 0)
			remember(r, n);
		else
			n->sharers = 0;
	}
	node_put(r, n);
	if (r->n_shared > DIR_REGISTRY_SHARED_MAX)
		forget_shared(
		    r, list_first(&r->shared, struct dir_node, shared));
}

static void
free_claim(struct dir_claim *c)
{
	relpath_free(c->path);
	relpath_free(c->wanted);
	free(c);
}

static void
free_released(struct dir_registry *r)
{
	struct dir_claim *c = published_take_all(&r->released), *next;

	for (; c != NULL; c = next) {
		next = c->next_released;
		leave(r, c);
		free_claim(c);
	}
}

/* Take the tree. False: another thread has it. */
static bool
try_enter(struct dir_registry *r)
{
	for (unsigned i = 0; !published_take(&r->in_use); i++) {
		if (i >= TRIES)
			return false;
		sched_yield();
	}
	free_released(r);
	return true;
}

static void
enter(struct dir_registry *r)
{
	while (!try_enter(r))
		;
}

static void
done(struct dir_registry *r)
{
	publish(&r->in_use, 0);
}

enum status
dir_registry_create(struct dir_registry **out)
{
	struct dir_registry *r = calloc(1, sizeof(*r));

	*out = r;
	if (r == NULL)
		return E_NOMEM;
	list_init(&r->shared);
	r->top = new_node(r, (struct part){ "", 0 });
	if (r->top != NULL)
		return OK;
	free(r);
	*out = NULL;
	return E_NOMEM;
}

void
dir_registry_destroy(struct dir_registry *r)
{
	if (r == NULL)
		return;
	free_released(r);
	while (!list_empty(&r->shared))
		forget_shared(
		    r, list_first(&r->shared, struct dir_node, shared));
	assert(r->top->refs == 1);
	free(r->top);
	idmap_free(&r->nodes);
	free(r);
}

/* May C not be at N, or lead through it? */
static bool
is_taken(const struct dir_claim *c, const struct dir_node *n, bool is_leaf)
{
	if (n == NULL)
		return false;
	if (is_leaf && n->claims_below > 0)
		return true;
	return n->claims > 0 &&
	       !(is_leaf && c->sharers != 0 && c->sharers == n->sharers &&
		   published(&n->settled_for) == c->sharers);
}

/* A path that is put together. */
struct text {
	char s[RELPATH_MAX];
	size_t n;
};

/* Append NAME with the suffix that try number K gives it. PLAIN, if it is not
 * NULL, counts the suffixes of that name. */
static enum status
append_name(
    struct text *t, struct part name, unsigned k, struct dir_node *plain)
{
	const size_t left = sizeof(t->s) - t->n;
	char suffix[16] = "";
	int n;

	if (k > DIR_REGISTRY_SUFFIXES)
		snprintf(suffix, sizeof(suffix), "-%08" PRIx32,
		    (uint32_t)ids_random());
	else if (k > 0)
		snprintf(suffix, sizeof(suffix), "-%u",
		    plain != NULL ? ++plain->suffix : k);
	n = snprintf(t->s + t->n, left, "%s%.*s%s", t->n > 0 ? "/" : "",
	    (int)name.n, name.s, suffix);
	if ((size_t)n >= left || name.n + strlen(suffix) > NAME_MAX)
		return E_LIMIT;
	t->n += (size_t)n;
	return OK;
}

/* Put a name for WANTED, component I of C, behind T, that is free in PARENT
 * (NULL: all are); *OUT is its node, or NULL. The first FROM tries are left
 * out. */
static enum status
choose_name(struct dir_registry *r, const struct dir_claim *c,
    struct dir_node *parent, struct part wanted, unsigned from, struct text *t,
    struct dir_node **out)
{
	const size_t before = t->n;
	struct dir_node *plain = NULL;
	struct part name;
	enum status st;

	/* Below a folder others get the same suffix as we do, and snapshots
	 * go where the one before went. */
	if (is_last(wanted) && c->sharers == 0)
		plain = find_child(r, parent, wanted);
	/* A random name is free with the first try. */
	for (unsigned k = from; k <= from + 2 * DIR_REGISTRY_SUFFIXES; k++) {
		t->n = before;
		st = append_name(t, wanted, k, plain);
		if (st != OK)
			return st;
		name.s = t->s + before + (before > 0);
		name.n = t->n - before - (before > 0);
		*out = find_child(r, parent, name);
		if (!is_taken(c, *out, is_last(wanted)))
			return OK;
	}
	return E_LIMIT;
}

/* Choose a path for C: up to the component LEVEL as it is now, there with
 * another name if FROM > 0, and below as it was wanted. */
static enum status
choose_path(struct dir_registry *r, struct dir_claim *c, unsigned level,
    unsigned from, struct text *t)
{
	struct part p = part_of(c->wanted->s), now = { 0 };
	struct dir_node *n = find_root(r, &c->output);
	enum status st;

	if (level > 0)
		now = part_of(c->path->s);
	c->finished_at = UINT_MAX;
	for (unsigned i = 0;; i++, p = next_part(p)) {
		if (i < level) {
			n = find_child(r, n, now);
			t->n = (size_t)(now.s - c->path->s) + now.n;
			memcpy(t->s, c->path->s, t->n);
			now = next_part(now);
		} else {
			st = choose_name(
			    r, c, n, p, i == level ? from : 0, t, &n);
			if (st != OK)
				return st;
		}
		if (is_last(p))
			return OK;
		if (n != NULL && n->entry != NULL && i < c->finished_at)
			c->finished_at = i;
	}
}

/* C is at the path T from now on. */
static enum status
move_to(struct dir_registry *r, struct dir_claim *c, const struct text *t)
{
	struct relpath *path;
	struct dir_node *n;
	enum status st;

	st = relpath_parse(&path, (struct span){ t->s, t->n });
	if (st != OK)
		return st == E_MALFORMED ? E_LIMIT : st;
	n = get_path(r, &c->output, path->s);
	if (n == NULL) {
		relpath_free(path);
		return E_NOMEM;
	}
	if (c->node != NULL)
		leave(r, c);
	c->joins = n->claims > 0;
	count_claim(n, 1);
	relpath_free(c->path);
	c->path = path;
	c->node = n;
	c->may_add = c->sharers != 0 && n->sharers == c->sharers;
	if (n->sharers == 0)
		n->sharers = c->sharers;
	if (!c->may_add)
		publish(&n->settled_for, 0);
	else
		c->shared = n->shared_dir;
	return OK;
}

/* May C have its path T, and no other one? */
static bool
is_exact(const struct dir_registry *r, const struct dir_claim *c,
    const struct text *t, enum dir_claim_kind kind)
{
	const struct dir_node *n = find_path(r, &c->output, c->wanted->s);

	if (t->n != c->wanted->len ||
	    memcmp(t->s, c->wanted->s, c->wanted->len) != 0)
		return false;
	return kind == DIR_CLAIM_DELETE ||
	       (c->finished_at == UINT_MAX &&
		   (n == NULL || (n->entry == NULL && n->sharers == 0)));
}

enum status
dir_registry_claim(struct dir_claim **out, struct dir_registry *r,
    const struct dir_id *output, const struct relpath *wanted,
    enum dir_claim_kind kind, uint64_t sharers)
{
	struct dir_claim *c = calloc(1, sizeof(*c));
	struct text t = { .n = 0 };
	enum status st = E_NOMEM;

	*out = NULL;
	if (c == NULL)
		return E_NOMEM;
	c->registry = r;
	c->output = *output;
	c->sharers = sharers;
	c->level = UINT_MAX;
	if (relpath_dup(&c->wanted, wanted) == OK)
		st = try_enter(r) ? OK : E_LATER;
	if (st != OK) {
		free_claim(c);
		return st;
	}
	st = choose_path(r, c, 0, 0, &t);
	if (st == OK && kind != DIR_CLAIM_BESIDE && !is_exact(r, c, &t, kind))
		st = E_EXISTS;
	if (st == OK)
		st = move_to(r, c, &t);
	done(r);
	if (st == OK)
		*out = c;
	else
		free_claim(c);
	return st;
}

enum status
dir_claim_avoid(struct dir_claim *c, unsigned n)
{
	struct dir_registry *r = c->registry;
	struct text t = { .n = 0 };
	enum status st;

	if (!try_enter(r))
		return E_LATER;
	if (c->level != n)
		c->tries = 0;
	c->level = n;
	if (c->tries >= DIR_REGISTRY_TRIES) {
		done(r);
		return E_LIMIT;
	}
	st = choose_path(r, c, n, ++c->tries, &t);
	if (st == OK)
		st = move_to(r, c, &t);
	done(r);
	return st;
}

void
dir_claim_settled(struct dir_claim *c, const struct dir_id *id)
{
	c->is_settled = true;
	c->may_add = c->sharers != 0;
	c->shared = c->node->shared_dir = *id;
	publish(&c->node->settled_for, c->sharers);
}

void
dir_claim_release(struct dir_claim *take_c)
{
	struct dir_registry *r;

	if (take_c == NULL)
		return;
	r = take_c->registry;
	published_push(
	    &r->released, take_c, (void **)(void *)&take_c->next_released);
	/* Otherwise the next thread that takes the tree does it. */
	if (try_enter(r))
		done(r);
}

enum status
dir_registry_enter(struct dir_node **out, struct dir_registry *r,
    const struct dir_id *output, const char *path, void *entry)
{
	struct dir_node *n;

	enter(r);
	n = get_path(r, output, path);
	*out = n != NULL && n->entry == NULL ? n : NULL;
	if (*out != NULL)
		n->entry = entry;
	else
		node_put(r, n);
	done(r);
	if (*out != NULL)
		return OK;
	return n == NULL ? E_NOMEM : E_EXISTS;
}

void
dir_registry_forget(struct dir_registry *r, struct dir_node *n)
{
	enter(r);
	n->entry = NULL;
	node_put(r, n);
	done(r);
}

void *
dir_registry_find(
    struct dir_registry *r, const struct dir_id *output, const char *path)
{
	const struct dir_node *n;
	void *entry;

	enter(r);
	n = find_path(r, output, path);
	entry = n == NULL ? NULL : n->entry;
	done(r);
	return entry;
}

void *
dir_node_above(const struct dir_node *n)
{
	for (n = n->parent; n != NULL; n = n->parent)
		if (n->entry != NULL)
			return n->entry;
	return NULL;
}
