/* SPDX-License-Identifier: MIT */
/* The answers to requests about stored traces. */
#include <stdlib.h>
#include <string.h>

#include "relayd/retention/retention_internal.h"
#include "store/archive.h"

/* Names that are read of a trace before other requests have a turn. */
#define LIST_STEP 200

static const char *const kinds[] = {
	[STORED_SESSION] = "session",
	[STORED_CHUNK] = "chunk",
	[STORED_SNAPSHOT] = "snapshot",
};

void
retention_fill_item(const struct entry *e, struct stored_item *to)
{
	*to = (struct stored_item){
		.path = e->path,
		.session = (char *)(uintptr_t)e->session,
		.host = (char *)(uintptr_t)e->host,
		.kind = kinds[e->kind],
		.number = e->number,
		.ino = e->ino,
		.born = e->born,
		.began_ns = e->began_ns,
		.ended_ns = e->is_ended ? e->ended_ns : 0,
		.bytes = table_bytes_of(e),
		.is_kept = e->is_kept,
		.is_active = !e->is_ended,
		.is_unreadable = e->is_unreadable,
		.has_losses = e->has_losses,
	};
}

static void
add_item(struct stored_info *i, const struct entry *e)
{
	struct stored_item item;

	retention_fill_item(e, &item);
	(void)stored_info_add(i, &item);
}

/* Nothing is noted, and so no limit applies, though the output directory is
 * there. */
static bool
lacks_notes(const struct retention *r)
{
	return r->base_fd >= 0 && r->notes == NULL;
}

static void
fill_figures(struct retention *r, struct stored_figures *f)
{
	retention_measure_disk(r);
	*f = (struct stored_figures){
		.limits = r->limits,
		.has_disk = r->disk.is_known,
		.use_bytes = table_bytes(&r->table),
		.free_bytes = r->disk.free,
		.total_bytes = r->disk.total,
		.keep_free_bytes = retention_keep_free(r),
		.directories = r->table.n,
		.kept = r->table.n_kept,
	};
	if (lacks_notes(r)) {
		f->limits = (struct retention_limits){ 0 };
		f->keep_free_bytes = 0;
	}
}

static void
answer(struct retention *r, struct stored_info *take_i)
{
	fill_figures(r, &take_i->figures);
	r->answer(take_i);
}

/* The oldest that has ended, kept or not. */
static void
summarize(struct retention *r, struct stored_info *i)
{
	if (!list_empty(&r->table.ended))
		add_item(i, list_first(&r->table.ended, struct entry, order));
}

static bool
is_removing(const struct retention *r, const struct entry *e)
{
	return e == r->job.entry && r->job.step == JOB_REMOVE;
}

/* Is E the directory at PATH, or one below it? */
static bool
is_within(const struct entry *e, const char *path)
{
	const size_t n = strlen(path);

	return strncmp(e->path, path, n) == 0 &&
	       (e->path[n] == '\0' || e->path[n] == '/');
}

static void
list_some(struct retention *r, struct stored_info *i)
{
	const struct entry *e;

	list_each (e, &r->table.all, struct entry, node) {
		if (e->number <= i->after || is_removing(r, e) ||
		    (i->host[0] != '\0' && strcmp(e->host, i->host) != 0) ||
		    (i->path != NULL && !is_within(e, i->path)))
			continue;
		if (i->n_items == i->limit) {
			i->has_more = true;
			return;
		}
		add_item(i, e);
	}
}

static void
keep(struct retention *r, struct stored_info *i)
{
	struct entry *e = table_find_path(&r->table, i->path);
	enum status st = OK;
	bool was;

	if (e == NULL || is_removing(r, e)) {
		i->st = E_NOENT;
		return;
	}
	was = e->is_kept;
	table_keep(&r->table, e, i->keeps);
	retention_note(r, e, e->path);
	/* The answer promises that it is kept: have it on the disk first. */
	st = retention_flush(r, true);
	if (st != OK) {
		table_keep(&r->table, e, was);
		i->st = st;
		return;
	}
	add_item(i, e);
}

/* What would go, in the order in which it would. */
static void
run_dry(struct retention *r, struct stored_info *i)
{
	struct usage o;
	struct stored_item item;
	struct entry *e;
	uint64_t mark;

	retention_measure(r, &o);
	retention_estimate(r, &o);
	mark = ++r->last_mark;
	list_each (e, &r->table.ended, struct entry, order) {
		if (!retention_may_delete(r, e, mark))
			continue;
		retention_fill_item(e, &item);
		/* Readers no longer see the one that is being removed. */
		if (!is_removing(r, e)) {
			if (!retention_is_due(r, &o, e, &item.reason))
				break;
			i->deleted_bytes += item.bytes;
			(void)stored_info_add(i, &item);
		}
		e->mark = mark;
		o.use -= item.bytes;
		o.free += item.bytes;
	}
	i->is_done = true;
}

/* An archive of the trace. */
static enum status
open_archive(struct retention *r, struct stored_info *i)
{
	const struct entry *e = table_find_id(&r->table, i->ino, i->born);
	enum status st;
	int fd;

	if (e == NULL || is_removing(r, e))
		return E_NOENT;
	if (!e->is_ended)
		return E_BUSY;
	st = retention_open(r, e, &fd);
	if (st == OK)
		st = archive_create(&i->archive, fd, e->path);
	i->drop = archive_destroy;
	i->path = strdup(e->path);
	return st == OK && i->path == NULL ? E_NOMEM : st;
}

static enum status
read_some(struct retention *r, struct stored_info *i)
{
	enum status st = i->archive == NULL ? open_archive(r, i) : OK;

	if (st == OK && !archive_is_listed(i->archive))
		st = archive_list(i->archive, LIST_STEP);
	if (st != OK)
		return st;
	i->size = archive_size(i->archive);
	i->tag = archive_tag(i->archive);
	return archive_read(i->archive, i->at, i->n, &i->data);
}

void
retention_ask(struct retention *r, struct stored_info *take_i)
{
	struct stored_info *i = take_i;

	if (i->kind != STORED_SUMMARY && lacks_notes(r)) {
		i->st = E_REFUSED;
		answer(r, i);
		return;
	}
	i->st = OK;
	switch (i->kind) {
	case STORED_SUMMARY:
		summarize(r, i);
		break;
	case STORED_LIST:
		list_some(r, i);
		break;
	case STORED_KEEP:
		keep(r, i);
		break;
	case STORED_VACUUM:
		if (i->is_dry) {
			run_dry(r, i);
			break;
		}
		i->until_ns = clock_now_ns() + RETENTION_WAIT_NS;
		i->next = r->waiting;
		r->waiting = i;
		r->next_tick_ns = 0;
		return;
	case STORED_READ:
		i->st = read_some(r, i);
		r->answer(i);
		return;
	}
	answer(r, i);
}

void
retention_report_deleted(struct retention *r, const struct stored_item *item)
{
	struct stored_info *i;

	for (i = r->waiting; i != NULL; i = i->next) {
		i->deleted_bytes += item->bytes;
		(void)stored_info_add(i, item);
	}
}

void
retention_answer_waiting(struct retention *r, bool is_idle)
{
	const uint64_t now = clock_now_ns();
	struct stored_info **at = &r->waiting, *i;

	while ((i = *at) != NULL) {
		if (!is_idle && now < i->until_ns) {
			at = &i->next;
			continue;
		}
		*at = i->next;
		i->is_done = is_idle;
		answer(r, i);
	}
}
