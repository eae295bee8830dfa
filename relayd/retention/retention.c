/* SPDX-License-Identifier: MIT */
#include "relayd/retention/retention.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "relayd/retention/retention_internal.h"
#include "store/folder.h"
#include "store/output.h"
#include "store/stored.h"

/* How often the lack of memory for notes is logged. */
#define RETENTION_FULL_LOG_NS (60 * NS_PER_S)
/* Entries to check between two looks at the clock. */
#define CHECK_STEP 32

enum status
retention_create(struct retention **out, struct dir_registry *registry,
    const char *output, const char *state_dir, uint64_t memory_max,
    void (*answer)(struct stored_info *take_i))
{
	struct retention *r = calloc(1, sizeof(*r));
	int fd;

	*out = r;
	if (r == NULL)
		return E_NOMEM;
	r->output = output;
	r->state_dir = state_dir;
	fd = output_open_state(state_dir);
	if (fd >= 0)
		close(fd);
	r->memory_max = memory_max;
	r->answer = answer;
	r->base_fd = r->job.fd = -1;
	r->stats = stats_retention();
	table_init(&r->table, registry);
	return OK;
}

void
retention_set_limits(struct retention *r, const struct retention_limits *limits)
{
	r->limits = *limits;
	memset(r->is_unreachable, 0, sizeof(r->is_unreachable));
	/* Try to open the notes again. */
	if (r->notes == NULL)
		r->is_loaded = r->has_logged_why = false;
	r->next_tick_ns = 0;
}

void
retention_note(struct retention *r, const struct entry *e, const char *path)
{
	const struct notes_row row = {
		.ino = e->ino,
		.born = e->born,
		.kind = e->kind,
		.began_ns = e->began_ns,
		.ended_ns = e->is_ended ? e->ended_ns : 0,
		/* 0: the next start counts it, and so finds out again that it
		 * is unreadable, or lacks packets. */
		.bytes = e->is_ended && list_empty(&e->to_count) &&
				 !e->is_unreadable && !e->has_losses
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

/* Restore an entry from its note. */
static void
restore_entry(void *retention, const struct notes_row *row)
{
	struct retention *r = retention;
	struct table *t = &r->table;
	struct entry *e, *other = table_find_path(t, row->path);
	enum status st;

	/* An earlier directory at this path is gone. */
	if (other != NULL)
		table_remove(t, other);
	st = table_add(t, row, &e);
	if (st == OK)
		st = table_move(t, e, row->path, -1);
	if (st != OK) {
		log_error("notes of %s: %s", row->path, status_text(st));
		return;
	}
	if (row->ended_ns != 0)
		table_end(t, e, row->ended_ns, row->bytes, row->bytes > 0);
	e->seen_end_ns = 0;
	table_keep(t, e, row->is_kept);
}

/* Sessions without users have ended. A note follows when the bytes are counted,
 * unless IS_LAST: nothing is counted any more. */
static void
end_unused_sessions(struct retention *r, bool is_last)
{
	struct list *n, *tmp;
	struct entry *e;
	uint64_t bytes;

	list_for_each (n, tmp, &r->table.active) {
		e = list_entry(n, struct entry, active);
		bytes = table_bytes_of(e);
		if (table_is_used(e))
			continue;
		table_end(&r->table, e, clock_wall_ns(), bytes, false);
		if (is_last)
			retention_note(r, e, e->path);
	}
}

/* An entry whose rename was noted but not done still has its old path. */
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
		if (table_move(&r->table, e, e->name, -1) != OK)
			log_error("%s: out of memory", e->name);
	}
}

static bool
has_limits(const struct retention_limits *l)
{
	return l->max_use > 0 || l->keep_free > 0 || l->keep_free_percent > 0 ||
	       l->max_age_ns > 0;
}

/* There are no notes: log why, and what that means with these limits. */
static void
log_no_notes(struct retention *r, enum status st)
{
	const char *why = st == E_IO ? strerror(errno) : status_text(st);
	const char *cure = "set --state-dir to one that the relay can write to";

	if (st == E_MALFORMED) {
		why = "its notes of the output directory are damaged, or of "
		      "another version";
		cure = "to start with empty notes, remove that file (then the "
		       "earlier traces are never deleted)";
	}
	if (r->has_logged_why)
		return;
	r->has_logged_why = true;
	if (st == E_BUSY)
		log_warn("%s: another relay uses this output directory: this "
			 "relay deletes no traces in it; give each relay a "
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

static void
note_all_again(struct retention *r)
{
	const struct entry *e;
	enum status st;

	if (r->notes == NULL)
		return;
	if (notes_are_lost(r->notes)) {
		notes_close(r->notes);
		st = open_notes(r, NULL);
		if (st != OK) {
			log_warn(
			    "%s: the notes were removed from the state "
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

static void
load(struct retention *r)
{
	enum status st;

	r->is_loaded = true;
	r->is_locked_out = false;
	r->base_fd = open(r->output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->base_fd < 0)
		return;
	st = dir_identify(&r->table.output, r->base_fd);
	if (st == OK)
		st = open_notes(r, restore_entry);
	if (st != OK) {
		log_no_notes(r, st);
		/* It may pass. */
		r->is_locked_out = st == E_BUSY || st == E_IO;
		/* Some rows may have been read. */
		table_clear(&r->table);
		return;
	}
	r->has_logged_why = r->has_unnoted = false;
	r->table.memory_max = r->memory_max;
	find_moved(r);
	if (r->table.n > 0)
		log_info("retention: notes of %" PRIu64
			 " directories with %" PRIu64 " bytes",
		    r->table.n, r->table.bytes);
}

static void
unload(struct retention *r)
{
	retention_end_job(r);
	if (r->notes != NULL &&
	    (r->table.n == 0 || folder_dir_is_removed(r->base_fd)))
		notes_remove(r->notes);
	notes_close(r->notes);
	r->notes = NULL;
	table_clear(&r->table);
	if (r->base_fd >= 0)
		close(r->base_fd);
	r->base_fd = -1;
	r->next_to_check = NULL;
	r->must_check = false;
	r->fresh_ns = 0;
	r->disk = (struct disk_space){ 0 };
}

static bool
is_same_output(const struct retention *r)
{
	struct stat ours, there;

	return r->base_fd >= 0 && fstat(r->base_fd, &ours) == 0 &&
	       stat(r->output, &there) == 0 && ours.st_dev == there.st_dev &&
	       ours.st_ino == there.st_ino;
}

/* The output directory may be removed, replaced, or created again by the next
 * session. What was below the old one is forgotten. */
static void
follow_output(struct retention *r)
{
	const bool is_same = is_same_output(r);

	if (r->is_loaded && is_same && !r->is_locked_out)
		return;
	if (r->base_fd >= 0 && !is_same)
		log_warn("output directory %s was removed or replaced: its "
			 "traces are never deleted",
		    r->output);
	unload(r);
	load(r);
}

/* Chunks with entries of their own are not counted with their session. */
static uint64_t
bytes_without_chunks(const struct entry *e, uint64_t bytes)
{
	const struct entry *c;

	list_each (c, &e->children, struct entry, sibling)
		bytes -= c->bytes < bytes ? c->bytes : bytes;
	return bytes;
}

static void
note_whether_readable(struct entry *e, const struct tree *count)
{
	e->has_losses = tree_found(count)->has_losses;
	e->is_unreadable = tree_found(count)->is_unreadable;
	if (e->is_unreadable)
		log_peer(LOG_WARN,
		    "%s: unreadable, as it ended before its metadata arrived",
		    e->path);
}

void
retention_end_count(struct retention *r)
{
	struct entry *e = r->job.entry;

	if (e->is_ended) {
		note_whether_readable(e, r->job.tree);
		table_set_bytes(&r->table, e,
		    bytes_without_chunks(e, tree_found(r->job.tree)->bytes));
		retention_note(r, e, e->path);
	}
	retention_end_job(r);
}

/* Check whether the next entry exists. False: all were checked. */
static bool
check_one(struct retention *r)
{
	struct entry *e = r->next_to_check;
	enum status st;
	int fd;

	if (e == NULL) {
		e = table_next(&r->table, NULL);
		r->pass_began_ns = clock_now_ns();
	}
	if (e != NULL) {
		r->next_to_check = table_next(&r->table, e);
		st = retention_open(r, e, &fd);
		if (st == OK) {
			close(fd);
		} else if (st == E_NOENT && e != r->job.entry) {
			log_info("%s was removed, renamed or replaced, so the "
				 "relay never deletes it",
			    e->path);
			retention_forget(r, e);
		}
	}
	if (r->next_to_check != NULL)
		return true;
	r->fresh_ns = r->pass_began_ns;
	r->must_check = false;
	return false;
}

static void
check_some(struct retention *r, unsigned n)
{
	while (n-- > 0 && check_one(r))
		;
}

static void
tick(struct retention *r)
{
	const bool is_first = !r->is_loaded;

	follow_output(r);
	note_all_again(r);
	/* The sessions that a restart has moved are reported meanwhile. */
	if (!is_first)
		end_unused_sessions(r, false);
	retention_measure_disk(r);
	r->is_estimated = false;
	check_some(r, RETENTION_CHECKS);
	stats_set(r->stats, STAT_trace_bytes, table_bytes(&r->table));
}

/* False: there is nothing to do. */
static bool
work(struct retention *r)
{
	if (r->must_check) {
		check_some(r, CHECK_STEP);
		return true;
	}
	return retention_work(r) || r->must_check;
}

/* Is the disk nearly full, so that recording may lose packets? */
static bool
is_urgent(const struct retention *r)
{
	return r->job.entry != NULL && r->disk.is_known &&
	       r->disk.free < retention_keep_free(r) / 4;
}

uint64_t
retention_step(struct retention *r)
{
	const uint64_t now = clock_now_ns();
	bool is_idle = false;

	if (now >= r->next_tick_ns) {
		tick(r);
		r->next_tick_ns = now + RETENTION_TICK_NS;
	}
	do {
		is_idle = !work(r);
	} while (!is_idle && clock_now_ns() - now < RETENTION_SLICE_NS);
	(void)!retention_flush(r, false);
	retention_answer_waiting(r, is_idle);
	if (is_idle)
		return r->next_tick_ns;
	return clock_now_ns() +
	       (is_urgent(r) ? RETENTION_SHORT_PAUSE_NS : RETENTION_PAUSE_NS);
}

static void
log_full(struct retention *r)
{
	r->n_unnoted++;
	stats_add(r->stats, STAT_unnoted, 1);
	if (!log_ratelimit(&r->last_full_log, RETENTION_FULL_LOG_NS))
		return;
	log_warn("%" PRIu64 " directories will never be deleted: the notes of "
		 "%" PRIu64 " others use %" PRIu64
		 " bytes, all that --max-memory leaves for notes",
	    r->n_unnoted, r->table.n, r->table.memory);
}

/* The entry of the directory in N. NULL: it is not noted. */
static struct entry *
enter(struct retention *r, const struct stored_note *n)
{
	struct entry *e = table_find_id(&r->table, n->row.ino, n->row.born);
	struct entry *other = table_find_path(&r->table, n->row.path);
	enum status st;

	if (e == NULL && !n->is_new) {
		log_info("%s: never deleted: the relay did not create it",
		    n->row.path);
		return NULL;
	}
	if (other != NULL && other != e)
		retention_forget(r, other);
	st = table_add(&r->table, &n->row, &e);
	if (st == OK)
		return e;
	if (st == E_LIMIT)
		log_full(r);
	else
		log_error("%s: will never be deleted: %s", n->row.path,
		    status_text(st));
	return NULL;
}

void
retention_take(struct retention *r, struct stored_note *take_n)
{
	struct stored_note *n = take_n;
	struct entry *e;

	follow_output(r);
	e = r->notes == NULL ? NULL : enter(r, n);
	if (e != NULL) {
		if (n->dir != NULL && table_use(e, n->dir) != OK)
			log_error("%s: out of memory", n->row.path);
		n->dir = NULL;
		if (n->row.ended_ns != 0)
			table_end(
			    &r->table, e, n->row.ended_ns, n->row.bytes, false);
		retention_note(r, e, e->path);
	}
	stored_note_destroy(n);
}

void
retention_destroy(struct retention *r)
{
	if (r == NULL)
		return;
	if (r->is_loaded) {
		end_unused_sessions(r, true);
		/* Removed directories need no notes. */
		r->next_to_check = NULL;
		check_some(r, RETENTION_CHECKS);
		(void)!retention_flush(r, false);
	}
	retention_answer_waiting(r, true);
	unload(r);
	free(r);
}
