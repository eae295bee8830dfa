/* SPDX-License-Identifier: MIT */
/* The notes, read at the start, and kept as short as what they tell. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "relayd/retention/retention_internal.h"

/* Lines that do not count any more and are left where they are. */
#define LINES_TO_SPARE 1000
/* Lines of one entry: made, ended, kept, moved. */
#define LINES_OF_ONE 3

static void
add(struct retention *r, const struct notes_line *l)
{
	if (r->notes != NULL)
		notes_add(r->notes, l);
}

void
retention_note_made(struct retention *r, const struct entry *e)
{
	const struct notes_line l = {
		.kind = NOTES_MADE,
		.what = e->kind,
		.ino = e->ino,
		.born = e->born,
		.began_ns = e->began_ns,
		.path = e->path,
		.host = e->host,
		.session = e->session,
	};

	add(r, &l);
}

void
retention_note_ended(struct retention *r, const struct entry *e)
{
	const struct notes_line l = {
		.kind = NOTES_ENDED,
		.ino = e->ino,
		.born = e->born,
		.ended_ns = e->ended_ns,
		.bytes = list_empty(&e->to_count) ? e->bytes : 0,
	};

	add(r, &l);
}

void
retention_note_kept(struct retention *r, const struct entry *e)
{
	const struct notes_line l = {
		.kind = NOTES_KEPT,
		.ino = e->ino,
		.born = e->born,
		.is_kept = e->is_kept,
	};

	add(r, &l);
}

void
retention_note_moved(
    struct retention *r, const struct entry *e, const char *path)
{
	const struct notes_line l = {
		.kind = NOTES_MOVED,
		.ino = e->ino,
		.born = e->born,
		.path = path,
	};

	add(r, &l);
}

void
retention_note_gone(struct retention *r, const struct entry *e)
{
	const struct notes_line l = {
		.kind = NOTES_GONE, .ino = e->ino, .born = e->born
	};

	add(r, &l);
}

enum status
retention_flush(struct retention *r, bool syncs)
{
	enum status st = r->notes == NULL ? E_IO : notes_flush(r->notes, syncs);

	/* What was not written is written with all the rest, later. */
	if (st != OK)
		r->has_lost_lines = true;
	return st;
}

static void
add_all(struct retention *r)
{
	const struct entry *e;

	list_each (e, &r->table.all, struct entry, node) {
		retention_note_made(r, e);
		if (e->is_ended)
			retention_note_ended(r, e);
		if (e->is_kept)
			retention_note_kept(r, e);
	}
}

void
retention_tidy(struct retention *r)
{
	const uint64_t most = LINES_OF_ONE * r->table.n + LINES_TO_SPARE;
	const uint64_t now = clock_now_ns();

	if (r->notes == NULL || now < r->tidy_ns)
		return;
	if (!r->has_lost_lines && !notes_is_gone(r->notes) &&
	    notes_lines(r->notes) <= most &&
	    (r->table.n > 0 || notes_lines(r->notes) == 0))
		return;
	notes_begin_anew(r->notes);
	add_all(r);
	r->has_lost_lines = notes_end_anew(r->notes) != OK;
	/* All that is noted is written for it: not each time that somebody
	 * asks. */
	r->tidy_ns = r->has_lost_lines ? now + RETENTION_TICK_NS : 0;
}

/* As it was when its file was written. */
static void
apply(void *retention, const struct notes_line *l)
{
	struct retention *r = retention;
	struct table *t = &r->table;
	struct entry *e = table_find_id(t, l->ino, l->born), *other;
	enum status st = OK;

	if (l->kind == NOTES_MADE) {
		/* The directory that was there before is gone. */
		other = table_find_path(t, l->path);
		if (other != NULL && other != e)
			table_remove(t, other);
		st = table_add(t,
		    &(struct table_new){ l->what, l->ino, l->born, l->began_ns,
			l->path, l->host, l->session },
		    &e);
	} else if (e != NULL && l->kind == NOTES_ENDED) {
		table_end(t, e, l->ended_ns, l->bytes, l->bytes > 0);
	} else if (e != NULL && l->kind == NOTES_KEPT) {
		table_keep(t, e, l->is_kept);
	} else if (e != NULL && l->kind == NOTES_MOVED) {
		st = table_move(t, e, l->path);
	} else if (e != NULL && l->kind == NOTES_GONE) {
		table_remove(t, e);
	}
	if (st != OK)
		log_error("notes of %s: %s", l->path, status_text(st));
}

/* Those that the relay was busy with when it was killed have ended then. */
static void
end_all(struct retention *r)
{
	struct list *n, *tmp;
	struct entry *e;
	struct stat sb;
	uint64_t ended;
	int fd;

	list_for_each (n, tmp, &r->table.active) {
		e = list_entry(n, struct entry, active);
		ended = e->began_ns;
		if (retention_open(r, e, &fd) == OK) {
			if (fstat(fd, &sb) == 0 &&
			    (uint64_t)sb.st_mtim.tv_sec * NS_PER_S > ended)
				ended = (uint64_t)sb.st_mtim.tv_sec * NS_PER_S;
			close(fd);
		}
		table_end(&r->table, e, ended, 0, false);
		retention_note_ended(r, e);
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

void
retention_load(struct retention *r)
{
	r->is_loaded = true;
	r->base_fd = open(r->output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->base_fd < 0 || dir_identify(&r->table.output, r->base_fd) != OK)
		return;
	if (notes_open(&r->notes, r->base_fd, apply, r) != OK)
		return;
	r->table.memory_max = r->memory_max;
	find_moved(r);
	end_all(r);
	if (notes_has_others(r->notes)) {
		r->has_lost_lines = true;
		retention_tidy(r);
		if (!r->has_lost_lines)
			notes_drop_others(r->notes);
	}
	if (r->table.n > 0)
		log_info("notes: %" PRIu64 " directories, %" PRIu64 " bytes",
		    r->table.n, r->table.bytes);
}

void
retention_unload(struct retention *r)
{
	retention_end_job(r);
	notes_close(r->notes);
	r->notes = NULL;
	table_clear(&r->table);
	if (r->base_fd >= 0)
		close(r->base_fd);
	r->base_fd = -1;
	r->look_at = NULL;
	r->must_look = false;
	r->fresh_ns = r->tidy_ns = 0;
	r->room = (struct disk_room){ 0 };
}
