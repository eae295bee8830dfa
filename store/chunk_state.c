/* SPDX-License-Identifier: MIT */
/* A chunk moves to the next process: its directory as a descriptor, with the
 * claim on it, and the names of its files. */
#include <stdlib.h>
#include <string.h>

#include "common/fds.h"
#include "common/relpath.h"
#include "common/state.h"
#include "store/chunk.h"
#include "store/folder.h"
#include "store/session_dir.h"
#include "store/store.h"

static const struct state_member family_members[] = {
	STATE_DROP(struct chunk_family, node),
	STATE_PATH(struct chunk_family, path),
	STATE_PATH(struct chunk_family, channel),
	STATE_KEEP(struct chunk_family, is_numbered),
	STATE_KEEP(struct chunk_family, has_losses),
	STATE_KEEP(struct chunk_family, has_data_folder),
	STATE_KEEP(struct chunk_family, has_index_folder),
	STATE_KEEP(struct chunk_family, n_files),
	STATE_KEEP(struct chunk_family, n_gone),
	STATE_DROP(struct chunk_family, journal_root), /* with its files */
	STATE_CODE(struct chunk_family, folder),
};
static STATE_TABLE(family_state, struct chunk_family, family_members);

static const struct state_member members[] = {
	STATE_DROP(struct chunk, node),
	STATE_DROP(struct chunk, doomed_node),
	STATE_DROP(struct chunk, refs), /* by the owner */
	STATE_CODE(struct chunk, fd),
	STATE_KEEP(struct chunk, id),
	STATE_KEEP(struct chunk, serial),
	STATE_KEEP(struct chunk, creation_time),
	STATE_KEEP(struct chunk, close_time),
	STATE_PATH(struct chunk, override_name),
	STATE_MOST(struct chunk, place, CHUNK_AT_ARCHIVE),
	STATE_BYTES(struct chunk, tmp_name),
	STATE_MOST(struct chunk, command, CHUNK_DELETE),
	STATE_KEEP(struct chunk, n_restored),
	STATE_KEEP(struct chunk, is_closed),
	STATE_KEEP(struct chunk, is_base),
	STATE_KEEP(struct chunk, is_extra),
	STATE_DROP(struct chunk, is_kept), /* by the owner */
	STATE_KEEP(struct chunk, is_added_to),
	STATE_CODE(struct chunk, dir),
	STATE_CODE(struct chunk, folders),
	STATE_CODE(struct chunk, tops),
	STATE_CODE(struct chunk, n_tops),
	STATE_CODE(struct chunk, families),
	STATE_KEEP(struct chunk, delete_next),
	STATE_KEEP(struct chunk, began_ns),
	STATE_KEEP(struct chunk, bytes), /* also in those of DIR */
	STATE_KEEP(struct chunk, names_bytes),
	STATE_DROP(struct chunk, released),
	STATE_DROP(struct chunk, released_arg),
};
static STATE_TABLE(chunk_state, struct chunk, members);

void
chunk_put_state(struct state_out *o, const struct chunk *c)
{
	const struct chunk_family *f;

	session_dir_put_state(o, c->dir);
	state_put(o, &chunk_state, c);
	state_put_bool(o, c->fd >= 0);
	if (c->fd >= 0)
		state_put_fd(o, c->fd);
	folder_place_put_state(o, c->folders);
	state_put_u32(o, c->n_tops);
	for (unsigned i = 0; i < c->n_tops; i++)
		state_put_text(o, c->tops[i]->s);
	list_each (f, &c->families, struct chunk_family, node) {
		state_put_bool(o, true);
		if (!state_put_object(o, f))
			o->bad = true;
		state_put(o, &family_state, f);
		folder_put_state(o, f->folder);
	}
	state_put_bool(o, false);
}

static enum status
get_tops(struct chunk *c, struct state_in *in)
{
	const uint32_t n = state_get_u32(in, CHUNK_TOPS_MAX);
	const char *top;
	enum status st;

	c->tops = calloc(n, sizeof(struct relpath *));
	if (c->tops == NULL && n > 0)
		return E_NOMEM;
	for (uint32_t i = 0; i < n; i++) {
		top = state_get_text(in);
		if (top == NULL)
			return E_MALFORMED;
		st = relpath_parse(
		    &c->tops[i], (struct span){ top, strlen(top) });
		if (st != OK)
			return st;
		c->n_tops++;
	}
	return state_in_status(in);
}

/* The kind of families is their chunk, so that no other one's is taken. */
static enum status
get_family(struct chunk *c, struct state_in *in)
{
	struct chunk_family *f;
	uint32_t number;
	enum status st;
	void *known;

	if (state_get_object(in, c, &known, &number))
		return E_MALFORMED;
	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return E_NOMEM;
	list_append(&c->families, &f->node);
	state_made(in, number, c, f);
	st = state_get(in, &family_state, f);
	if (st == OK && (f->path == NULL || f->channel == NULL))
		st = E_MALFORMED;
	f->journal_root.path = f->path;
	return st == OK ? folder_get_state(&f->folder, in) : st;
}

static enum status
get_contents(struct chunk *c, struct state_in *in)
{
	struct store *s = c->dir->store;
	enum status st = state_get(in, &chunk_state, c);
	bool is_extra = c->is_extra;

	/* What is counted below, or chunk_finish() counts less. */
	s->names_bytes += c->names_bytes;
	c->is_extra = false;
	if (st == OK &&
	    (c->tmp_name[sizeof(c->tmp_name) - 1] != '\0' ||
		(c->override_name != NULL && c->override_name->len >= 256)))
		st = E_MALFORMED;
	if (st == OK && is_extra && !fds_take(FDS_EXTRA))
		st = E_LIMIT;
	c->is_extra = st == OK && is_extra;
	if (s->chunk_serials < c->serial)
		s->chunk_serials = c->serial;
	if (st == OK && state_get_bool(in))
		st = folder_dir_get_state(&c->fd, in);
	if (st == OK)
		st = folder_place_get_state(&c->folders, in);
	if (st == OK)
		st = get_tops(c, in);
	while (st == OK && state_get_bool(in))
		st = get_family(c, in);
	return st == OK ? state_in_status(in) : st;
}

enum status
chunk_get_state(struct chunk **out, struct state_in *in, struct store *store,
    void (*released)(struct chunk *take_c, void *arg), void *arg)
{
	struct session_dir *dir;
	struct chunk *c;
	enum status st;

	*out = NULL;
	st = session_dir_get_state(&dir, in, store);
	if (st != OK)
		return st;
	st = chunk_create(&c, dir, 0, 0, NULL, released, arg);
	session_dir_put(dir);
	if (st != OK)
		return st;
	c->refs = 0;
	st = get_contents(c, in);
	if (st != OK) {
		chunk_finish(c);
		return st;
	}
	*out = c;
	return OK;
}

void
chunk_put_family(struct state_out *o, const struct chunk_family *f)
{
	if (f == NULL || state_put_object(o, f))
		o->bad = true;
}

enum status
chunk_get_family(
    struct chunk_family **out, struct state_in *in, const struct chunk *c)
{
	uint32_t number;
	void *known;

	*out = NULL;
	if (!state_get_object(in, c, &known, &number) || known == NULL)
		return E_MALFORMED;
	*out = known;
	return OK;
}
