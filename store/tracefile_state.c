/* SPDX-License-Identifier: MIT */
/* A settled tracefile moves to the next process: the names and lengths of its
 * files, which are opened again with the next packet. */
#include <stdlib.h>

#include "common/state.h"
#include "ctf/index.h"
#include "store/chunk.h"
#include "store/folder.h"
#include "store/packet_log.h"
#include "store/store.h"
#include "store/tracefile_internal.h"

/* Of a file: two together are no negative number. */
#define LENGTH_MAX (INT64_MAX / 2)

static const struct state_member file_members[] = {
	STATE_DROP(struct tracefile_file, fd), /* closed */
	STATE_KEEP(struct tracefile_file, is_made),
	STATE_KEEP(struct tracefile_file, has_tail),
	STATE_KEEP(struct tracefile_file, length),
	STATE_CODE(struct tracefile_file, journal),
};
static STATE_TABLE(file_state, struct tracefile_file, file_members);

static const struct state_member members[] = {
	STATE_DROP(struct tracefile, store),
	STATE_CODE(struct tracefile, chunk),
	STATE_CODE(struct tracefile, dir),
	STATE_KEEP(struct tracefile, n_restored),
	STATE_MOST(struct tracefile, index_format, TRACEFILE_INDEX_1_1),
	STATE_CODE(struct tracefile, family),
	STATE_KEEP(struct tracefile, number),
	STATE_DROP(struct tracefile, is_discarded), /* not for long */
	STATE_KEEP(struct tracefile, replaces),
	STATE_STRUCT(struct tracefile, data, file_state),
	STATE_STRUCT(struct tracefile, index, file_state),
	STATE_DROP(struct tracefile, ahead),   /* cut off */
	STATE_DROP(struct tracefile, waiting), /* written */
	STATE_DROP(struct tracefile, waiting_first),
	STATE_DROP(struct tracefile, waiting_since),
	STATE_DROP(struct tracefile, open_node),
	STATE_CODE(struct tracefile, log),
	STATE_CODE(struct tracefile, log_file),
};
static STATE_TABLE(tracefile_state, struct tracefile, members);

static void
put_journal(struct state_out *o, const struct tracefile *tf,
    const struct tracefile_file *f)
{
	if (f->is_made)
		journal_put_file(o, tf->dir->output->journal, &f->journal);
}

void
tracefile_put_state(struct state_out *o, const struct tracefile *tf)
{
	if (tracefile_n_waiting(tf) > 0)
		o->bad = true;
	session_dir_put_state(o, tf->dir);
	state_put(o, &tracefile_state, tf);
	put_journal(o, tf, &tf->data);
	put_journal(o, tf, &tf->index);
	packet_log_put_state(o, tf->log);
	state_put_bool(o, tf->log_file != NULL);
}

/* Can these be lengths of files that were settled? */
static bool
is_sane(const struct tracefile *tf)
{
	const uint64_t data = tf->data.length, index = tf->index.length;
	const uint32_t record = index_record_len(tracefile_minor(tf));

	if (!tf->data.is_made || data > LENGTH_MAX || index > LENGTH_MAX)
		return false;
	if (!tf->index.is_made || index == 0)
		return index == 0;
	return tf->index_format != TRACEFILE_NO_INDEX &&
	       index >= INDEX_HEADER_LEN &&
	       (index - INDEX_HEADER_LEN) % record == 0;
}

/* The journal has the file from now on. */
static enum status
get_journal(struct tracefile *tf, struct tracefile_file *f, struct state_in *in)
{
	if (!f->is_made)
		return OK;
	return journal_get_file(&f->journal, in, tf->dir->output->journal,
	    tf->chunk->is_base ? &tf->family->journal_root
			       : &tf->dir->journal_root,
	    f == &tf->index, f->length);
}

static enum status
get_log(struct tracefile *tf, struct state_in *in)
{
	struct folder *folder;
	enum status st = packet_log_get_state(&tf->log, in);
	bool has_file;

	if (st != OK)
		return st;
	has_file = state_get_bool(in);
	if (in->r.bad || (tf->log == NULL && has_file) ||
	    (tf->log != NULL && tf->log->minor != tracefile_minor(tf)))
		return E_MALFORMED;
	if (!has_file)
		return OK;
	st = chunk_folder(tf->chunk, tf->family, &folder);
	if (st != OK)
		return st;
	st = packet_log_file_create(
	    &tf->log_file, folder, tf->number, tf->chunk->serial);
	folder_put(folder);
	return st;
}

enum status
tracefile_get_state(struct tracefile **out, struct state_in *in,
    struct store *store, struct chunk *chunk, struct chunk_family *family)
{
	struct tracefile *tf = calloc(1, sizeof(*tf));
	enum status st;

	*out = NULL;
	if (tf == NULL)
		return E_NOMEM;
	st = session_dir_get_state(&tf->dir, in, store);
	if (st != OK) {
		free(tf);
		return st;
	}
	tf->store = store;
	tf->chunk = chunk_get(chunk);
	tf->family = family;
	tf->data.fd = tf->index.fd = -1;
	list_init(&tf->open_node);
	st = state_get(in, &tracefile_state, tf);
	if (st == OK &&
	    (!is_sane(tf) || (tf->dir->path == NULL && !chunk->is_base)))
		st = E_MALFORMED;
	if (st == OK)
		st = get_journal(tf, &tf->data, in);
	if (st == OK)
		st = get_journal(tf, &tf->index, in);
	if (st == OK)
		st = get_log(tf, in);
	if (st != OK) {
		/* Nothing is known of the files. */
		tf->is_discarded = true;
		tracefile_close(tf);
		return st;
	}
	*out = tf;
	return OK;
}

void
tracefile_leave(struct tracefile *take_tf)
{
	if (take_tf == NULL)
		return;
	take_tf->data.has_tail = take_tf->index.has_tail = false;
	tracefile_close(take_tf);
}
