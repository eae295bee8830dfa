/* SPDX-License-Identifier: MIT */
/* The notes, read at the start, and kept as short as what they tell. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "relayd/retention/retention_internal.h"

void
retention_note(struct retention *r, const struct entry *e, const char *path)
{
	const struct notes_row row = {
		.ino = e->ino,
		.born = e->born,
		.kind = e->kind,
		.began_ns = e->began_ns,
		.ended_ns = e->is_ended ? e->ended_ns : 0,
		/* 0: the next start counts it. That is how it learns what is
		 * unreadable, too. */
		.bytes = e->is_ended && list_empty(&e->to_count) &&
				 !e->is_unreadable
			     ? e->bytes
			     : 0,
		.is_kept = e->is_kept,
		.path = path,
		.name = e->name,
		.host = e->host,
		.session = e->session,
	};

	if (r->notes != NULL)
		notes_put(r->notes, &row);
}

enum status
retention_flush(struct retention *r, bool syncs)
{
	const enum status st = r->notes == NULL ? E_IO
						: notes_flush(r->notes, syncs);

	r->has_unnoted |= st != OK;
	return st;
}

/* As it was when it was noted. */
static void
apply(void *retention, const struct notes_row *row)
{
	struct retention *r = retention;
	struct table *t = &r->table;
	struct entry *e, *other = table_find_path(t, row->path);
	enum status st;

	/* The directory that was there before is gone. */
	if (other != NULL)
		table_remove(t, other);
	st = table_add(t, row, &e);
	if (st == OK)
		st = table_move(t, e, row->path);
	if (st != OK) {
		log_error("notes of %s: %s", row->path, status_text(st));
		return;
	}
	if (row->ended_ns != 0)
		table_end(t, e, row->ended_ns, row->bytes, row->bytes > 0);
	e->seen_end_ns = 0;
	table_keep(t, e, row->is_kept);
}

/* Those that the relay was busy with when it was killed have ended by now. */
static void
end_all(struct retention *r)
{
	struct list *n, *tmp;
	struct entry *e;

	list_for_each (n, tmp, &r->table.active) {
		e = list_entry(n, struct entry, active);
		table_end(&r->table, e, clock_wall_ns(), 0, false);
		retention_note(r, e, e->path);
	}
}

/* One whose rename was noted, and not done any more, is where it was. */
static void
find_moved(struct retention *r)
{
	struct list *n, *tmp;
	struct entry *e;
	int fd;

	list_for_each (n, tmp, &r->table.all) {
		e = list_entry(n, struct entry, node);
		if (e->path == e->name)
			continue;
		if (retention_open(r, e, &fd) == OK) {
			close(fd);
			continue;
		}
		if (table_move(&r->table, e, e->name) != OK)
			log_error("%s: out of memory", e->name);
	}
}

static bool
has_limits(const struct retention_limits *l)
{
	return l->max_use > 0 || l->keep_free > 0 || l->keep_free_percent > 0 ||
	       l->max_age_ns > 0;
}

/* Nothing is noted: say why, and what that means with these limits. */
static void
say_no_notes(struct retention *r, enum status st)
{
	const char *why = st == E_IO ? strerror(errno) : status_text(st);
	const char *cure = "set --state-dir to one that the relay can write to";

	if (st == E_MALFORMED) {
		why = "its notes of the output directory are damaged, or of "
		      "another version";
		cure = "to begin with new ones, which know no trace of before, "
		       "remove that file";
	}
	if (r->has_said_why)
		return;
	r->has_said_why = true;
	if (st == E_BUSY)
		log_warn("%s: another relay has this output directory: this "
			 "relay deletes none of its traces; give each relay a "
			 "directory of its own",
		    r->output);
	else if (has_limits(&r->limits))
		log_error("retention is refused, no trace is deleted: the "
			  "state directory \"%s\" cannot be used: %s; %s",
		    r->state_dir, why, cure);
	else
		log_info("the state directory \"%s\" cannot be used: %s: "
			 "retention is not possible",
		    r->state_dir, why);
}

static enum status
open_notes(
    struct retention *r, void (*each)(void *arg, const struct notes_row *row))
{
	const struct notes_place place = {
		.state_dir = r->state_dir,
		.output = r->output,
		.id = r->table.output,
	};

	return notes_open(&r->notes, &place, each, r);
}

void
retention_note_all(struct retention *r)
{
	const struct entry *e;
	enum status st;

	if (r->notes == NULL)
		return;
	if (notes_are_lost(r->notes)) {
		notes_close(r->notes);
		st = open_notes(r, NULL);
		if (st != OK) {
			log_warn("%s: the notes were removed from the state "
				 "directory \"%s\" and cannot be created again: "
				 "%s; no trace is deleted: restart the relay",
			    r->output, r->state_dir,
			    st == E_IO ? strerror(errno) : status_text(st));
			return;
		}
		r->has_unnoted = true;
	}
	if (!r->has_unnoted)
		return;
	r->has_unnoted = false;
	notes_clear(r->notes);
	list_each (e, &r->table.all, struct entry, node)
		retention_note(r, e, e->path);
}

void
retention_load(struct retention *r)
{
	enum status st;

	r->is_loaded = true;
	r->is_locked_out = false;
	r->base_fd = open(r->output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->base_fd < 0)
		return;
	st = dir_identify(&r->table.output, r->base_fd);
	if (st == OK)
		st = open_notes(r, apply);
	if (st != OK) {
		say_no_notes(r, st);
		/* It may pass. */
		r->is_locked_out = st == E_BUSY || st == E_IO;
		/* A part may have been read. */
		table_clear(&r->table);
		return;
	}
	r->has_said_why = r->has_unnoted = false;
	r->table.memory_max = r->memory_max;
	find_moved(r);
	end_all(r);
	if (r->table.n > 0)
		log_info("notes: %" PRIu64 " directories, %" PRIu64 " bytes",
		    r->table.n, r->table.bytes);
}

static bool
is_removed(int fd)
{
	struct stat sb;

	return fstat(fd, &sb) == 0 && sb.st_nlink == 0;
}

void
retention_unload(struct retention *r)
{
	retention_end_job(r);
	if (r->notes != NULL && (r->table.n == 0 || is_removed(r->base_fd)))
		notes_remove(r->notes);
	notes_close(r->notes);
	r->notes = NULL;
	table_clear(&r->table);
	if (r->base_fd >= 0)
		close(r->base_fd);
	r->base_fd = -1;
	r->look_at = NULL;
	r->must_look = false;
	r->fresh_ns = 0;
	r->room = (struct disk_room){ 0 };
}
