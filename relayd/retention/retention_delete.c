/* SPDX-License-Identifier: MIT */
/* Which limit is exceeded, what is deleted for it, and how it is deleted. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/log.h"
#include "common/relpath.h"
#include "relayd/retention/retention_internal.h"
#include "relayd/stats/relay_event.h"
#include "store/dir.h"
#include "store/dir_registry.h"
#include "store/session_dir.h"

/* Names to read or remove between two looks at the clock. */
#define STEP 8
/* A directory that is being deleted has this name with its inode, in the same
 * folder: readers skip names with a dot. */
#define DELETED_PREFIX ".tracepulse-deleted-"

void
retention_measure_disk(struct retention *r)
{
	const uint64_t now = clock_now_ns();
	struct disk_space *m = &r->disk;
	struct statvfs sb;
	uint64_t before = m->free;

	if (r->base_fd < 0 || fstatvfs(r->base_fd, &sb) != 0) {
		m->is_known = false;
		return;
	}
	if (!m->is_known)
		before = UINT64_MAX;
	m->is_known = true;
	m->free = (uint64_t)sb.f_bavail * sb.f_frsize;
	m->total = (uint64_t)sb.f_blocks * sb.f_frsize;
	/* Space that is reported now is no longer pending. */
	if (m->free > before)
		m->pending -= m->pending < m->free - before ? m->pending
							    : m->free - before;
	if (now >= m->pending_until_ns)
		m->pending = 0;
}

uint64_t
retention_keep_free(const struct retention *r)
{
	if (r->limits.keep_free > 0)
		return r->limits.keep_free;
	return r->disk.total / 100 * r->limits.keep_free_percent;
}

/* The wall clock may be set while the relay runs: the smaller of two ages. */
static uint64_t
age(const struct entry *e)
{
	const uint64_t now = clock_wall_ns();
	const uint64_t n = e->ended_ns < now ? now - e->ended_ns : 0;

	return e->seen_end_ns == 0
		   ? n
		   : clock_earlier(n, clock_now_ns() - e->seen_end_ns);
}

bool
retention_may_delete(const struct retention *r, struct entry *e, uint64_t mark)
{
	const struct entry *other;

	if (!e->is_ended || age(e) < r->limits.keep_at_least_ns ||
	    e->retry_ns > clock_now_ns() || table_is_kept(e) ||
	    table_is_used(e))
		return false;
	/* A session is deleted after its chunks, and they are deleted after it
	 * has ended. A snapshot is a whole trace, even while its session runs.
	 */
	list_each (other, &e->children, struct entry, sibling)
		if (other->mark != mark)
			return false;
	for (other = e->parent; other != NULL; other = other->parent)
		if (!other->is_ended && e->kind != STORED_SNAPSHOT)
			return false;
	return true;
}

/* The oldest that may be deleted now; NULL: none. */
static struct entry *
oldest(struct retention *r)
{
	struct entry *e;

	list_each (e, &r->table.ended, struct entry, order) {
		/* The others have ended later. */
		if (age(e) < r->limits.keep_at_least_ns)
			break;
		if (retention_may_delete(r, e, UINT64_MAX))
			return e;
	}
	return NULL;
}

void
retention_measure(struct retention *r, struct usage *o)
{
	retention_measure_disk(r);
	o->use = table_bytes(&r->table);
	o->free = r->disk.free + r->disk.pending;
}

void
retention_estimate(struct retention *r, struct usage *o)
{
	const uint64_t mark = ++r->last_mark;
	struct entry *e;

	o->least_use = o->use;
	o->most_free = o->free;
	list_each (e, &r->table.ended, struct entry, order) {
		if (!retention_may_delete(r, e, mark))
			continue;
		e->mark = mark;
		o->least_use -= e->bytes;
		o->most_free += e->bytes;
	}
}

/* Is a limit on bytes exceeded with USE and FREE? */
static bool
is_over(
    const struct retention *r, enum deleted reason, uint64_t use, uint64_t free)
{
	if (reason == DELETED_max_use)
		return r->limits.max_use > 0 && use > r->limits.max_use;
	return r->disk.is_known && free < retention_keep_free(r);
}

/* The path to rename E to before its deletion. False: it is too long. */
static bool
hidden_path(const struct entry *e, char out[RELPATH_MAX])
{
	const char *slash = strrchr(e->path, '/');
	const int n = slash == NULL ? 0 : (int)(slash - e->path) + 1;

	return snprintf(out, RELPATH_MAX, "%.*s" DELETED_PREFIX "%" PRIx64, n,
		   e->path, e->ino) < RELPATH_MAX;
}

/* Is E half deleted? */
static bool
is_hidden(const struct entry *e)
{
	char hidden[RELPATH_MAX];

	return hidden_path(e, hidden) && strcmp(hidden, e->path) == 0;
}

bool
retention_is_due(const struct retention *r, const struct usage *o,
    const struct entry *e, enum deleted *reason)
{
	*reason = DELETED_max_age;
	if (r->limits.max_age_ns > 0 && age(e) > r->limits.max_age_ns)
		return true;
	for (*reason = DELETED_max_use; *reason < DELETED_REASONS; ++*reason)
		if (is_over(r, *reason, o->use, o->free) &&
		    !is_over(r, *reason, o->least_use, o->most_free))
			return true;
	/* Complete a deletion that was interrupted, even if the limit holds by
	 * now: what is left of the trace cannot be read. */
	*reason = r->limits.max_use > 0	     ? DELETED_max_use
		  : r->limits.max_age_ns > 0 ? DELETED_max_age
					     : DELETED_keep_free;
	return is_hidden(e);
}

enum status
retention_open(struct retention *r, const struct entry *e, int *fd)
{
	struct dir_id id;
	enum status st = dir_open(fd, r->base_fd, e->path);

	/* A file or a link has replaced it, or a folder above it. */
	if (st == E_IO && (errno == ENOTDIR || errno == ELOOP))
		return E_NOENT;
	if (st != OK)
		return st;
	st = dir_identify(&id, *fd);
	if (st == OK && (id.ino != e->ino || id.born != e->born))
		st = E_NOENT;
	if (st != OK)
		close(*fd);
	return st;
}

void
retention_forget(struct retention *r, struct entry *e)
{
	if (r->notes != NULL)
		notes_remove_row(r->notes, e->ino, e->born);
	if (r->job.entry == e)
		retention_end_job(r);
	if (r->next_to_check == e)
		r->next_to_check = table_next(&r->table, e);
	table_remove(&r->table, e);
}

/* Rename the directory, so that half of it is never read. If that fails, it is
 * deleted under its own name. */
static void
hide(struct retention *r, struct entry *e)
{
	char hidden[RELPATH_MAX];

	if (!hidden_path(e, hidden) || strcmp(hidden, e->path) == 0)
		return;
	retention_note(r, e, hidden);
	/* After a crash the next start must find the new name. */
	if (retention_flush(r, false) != OK)
		return;
	if (table_move(&r->table, e, hidden, r->base_fd) == OK) {
		dir_claim_release(r->job.claim);
		r->job.claim = NULL;
		return;
	}
	retention_note(r, e, e->path);
}

/* Undo hide(), unless the name is taken by now. */
static void
restore_name(struct retention *r, struct entry *e)
{
	if (strcmp(e->path, e->name) != 0 &&
	    table_move(&r->table, e, e->name, r->base_fd) == OK)
		retention_note(r, e, e->name);
}

/* Lock the directory FD until it is closed. False: a session of this relay or
 * another one has it. */
static bool
lock(int fd)
{
	return (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
	       !session_dir_has_lock(fd);
}

/* May FD, a directory below the job's, be deleted with it? Not if it has a note
 * of its own, or was created after the end of the trace. */
static bool
may_delete_inside(void *retention, int fd)
{
	struct retention *r = retention;
	struct dir_id id;

	if (!lock(fd) || dir_identify(&id, fd) != OK ||
	    table_find_id(&r->table, id.ino, id.born) != NULL)
		return false;
	r->job.has_newer = id.born > r->job.entry->ended_ns;
	return !r->job.has_newer;
}

/* Start the next step of the job. False: out of memory. */
static bool
walk(struct retention *r, enum job_step step)
{
	struct job *j = &r->job;

	tree_destroy(j->tree);
	if (tree_create(&j->tree, j->fd, step == JOB_REMOVE) != OK)
		return false;
	if (step != JOB_COUNT)
		tree_guard(j->tree, may_delete_inside, r);
	j->step = step;
	return true;
}

/* Try the deletion again: soon if the directory is in use, after growing pauses
 * if it contains a newer one. */
static void
postpone(struct retention *r)
{
	struct entry *e = r->job.entry;
	uint64_t pause = RETENTION_BUSY_NS;

	if (!r->job.has_newer) {
		log_info("%s: not deleted yet: it is in use", e->name);
	} else if (e->n_refused++ == 0) {
		log_warn(
		    "%s: not deleted: its directory \"%s\" was created "
		    "after the trace had ended; move this directory elsewhere, "
		    "or keep the trace with \"tracepulse keep\"",
		    e->name, tree_found(r->job.tree)->used);
	}
	for (unsigned n = e->n_refused; n > 1 && pause < RETENTION_RETRY_NS;
	     n--)
		pause *= 2;
	e->retry_ns = clock_now_ns() + clock_earlier(pause, RETENTION_RETRY_NS);
	if (r->job.step == JOB_REMOVE) {
		restore_name(r, e);
		table_end(&r->table, e, e->ended_ns, 0, false);
	}
	retention_end_job(r);
}

/* Claim the path of a session, so that no session begins there. A chunk is
 * below the directory of its session and needs no claim. */
static enum status
claim(struct retention *r, const struct entry *e)
{
	struct relpath *path;
	enum status st;

	if (e->kind != STORED_SESSION)
		return OK;
	st = relpath_parse(&path, (struct span){ e->path, strlen(e->path) });
	if (st != OK)
		return st;
	st = dir_registry_claim(&r->job.claim, r->table.registry,
	    &r->table.output, path, DIR_CLAIM_DELETE, 0);
	relpath_free(path);
	return st;
}

static void
begin(struct retention *r, struct entry *e, enum job_step step,
    enum deleted reason)
{
	struct job *j = &r->job;
	enum status st = retention_open(r, e, &j->fd);

	if (st == E_NOENT) {
		log_info(
		    "%s was removed or replaced, so the relay never deletes it",
		    e->path);
		retention_forget(r, e);
		return;
	}
	if (st != OK)
		j->fd = -1;
	j->entry = e;
	j->reason = reason;
	if (st == OK &&
	    (step == JOB_COUNT || (claim(r, e) == OK && lock(j->fd))) &&
	    walk(r, step))
		return;
	if (step == JOB_CHECK) {
		postpone(r);
	} else {
		list_del(&e->to_count);
		retention_end_job(r);
	}
}

static void
report_event(const struct stored_item *i)
{
	const struct session_info info = {
		.host = i->host,
		.name = i->session,
		.path = i->path,
		.sums = { .written_bytes = i->bytes },
	};

	if (relay_event_has_listener())
		relay_event_report(
		    &(struct relay_event){ .kind = RELAY_EVENT_DELETED,
			.session = &info,
			.reason = deleted_names[i->reason] });
}

static void
count_deleted(
    struct retention *r, enum deleted reason, bool is_trace, uint64_t bytes)
{
	stats_add(r->stats,
	    (enum stats_row)(STAT_deleted_max_age + (unsigned)reason),
	    is_trace);
	stats_add(r->stats,
	    (enum stats_row)(STAT_deleted_bytes_max_age + (unsigned)reason),
	    bytes);
	r->disk.pending += bytes;
	r->disk.pending_until_ns = clock_now_ns() + RETENTION_SETTLE_NS;
}

static void
report_deleted(struct retention *r, const struct entry *e, uint64_t bytes)
{
	const uint64_t seconds = age(e) / NS_PER_S;
	const uint64_t youngest = published_word(
	    &r->stats->n[STAT_deleted_youngest]);
	struct stored_item i;

	retention_fill_item(e, &i);
	i.path = e->name;
	i.bytes = bytes;
	i.reason = r->job.reason;
	log_warn("deleted %s: session=%s host=%s bytes=%" PRIu64
		 " seconds_since_end=%" PRIu64 " reason=%s",
	    i.path, i.session, i.host, bytes, seconds, deleted_names[i.reason]);
	/* Rounded up: 0 is none. */
	if (youngest == 0 || seconds < youngest)
		stats_set(r->stats, STAT_deleted_youngest, seconds + 1);
	retention_report_deleted(r, &i);
	report_event(&i);
}

void
retention_end_job(struct retention *r)
{
	tree_destroy(r->job.tree);
	if (r->job.fd >= 0)
		close(r->job.fd);
	dir_claim_release(r->job.claim);
	r->job = (struct job){ .fd = -1 };
}

/* Everything that can be deleted is. */
static void
finish(struct retention *r)
{
	const uint64_t bytes = tree_found(r->job.tree)->bytes;
	const uint64_t foreign = tree_found(r->job.tree)->n_foreign;
	struct entry *e = r->job.entry;
	const bool is_gone = dir_remove(r->base_fd, e->path) == OK ||
			     errno == ENOENT;

	count_deleted(r, r->job.reason, is_gone || foreign > 0, bytes);
	if (!is_gone && foreign == 0) {
		log_errno(
		    LOG_ERROR, "%s: a part of it cannot be deleted", e->path);
		e->retry_ns = clock_now_ns() + RETENTION_RETRY_NS;
		table_end(&r->table, e, e->ended_ns, 0, false);
		retention_end_job(r);
		return;
	}
	report_deleted(r, e, bytes);
	if (!is_gone) {
		restore_name(r, e);
		log_warn("%s: files that the relay did not create are left "
			 "there: %" PRIu64,
		    e->path, foreign);
	}
	retention_forget(r, e);
}

static void
continue_job(struct retention *r)
{
	struct job *j = &r->job;

	if (!tree_step(j->tree, STEP))
		return;
	if (j->step == JOB_COUNT)
		retention_end_count(r);
	else if (tree_found(j->tree)->used != NULL)
		postpone(r);
	else if (j->step == JOB_REMOVE)
		finish(r);
	/* Somebody may keep or read it by now. */
	else if (!retention_may_delete(r, j->entry, UINT64_MAX) ||
		 !walk(r, JOB_REMOVE))
		postpone(r);
	else
		hide(r, j->entry);
}

/* Log once that deleting cannot reach a limit. */
static void
warn_unreachable(struct retention *r)
{
	const struct usage *o = &r->usage;

	for (enum deleted i = DELETED_max_use; i < DELETED_REASONS; i++) {
		if (!is_over(r, i, o->use, o->free)) {
			r->is_unreachable[i] = false;
			continue;
		}
		if (r->is_unreachable[i] ||
		    !is_over(r, i, o->least_use, o->most_free))
			continue;
		r->is_unreachable[i] = true;
		log_warn("--%s of %" PRIu64
			 " bytes cannot be reached, so nothing is deleted for "
			 "it: %" PRIu64 " bytes are used, %" PRIu64
			 " are free, and only %" PRIu64 " may be deleted",
		    i == DELETED_max_use ? "max-use" : "keep-free",
		    i == DELETED_max_use ? r->limits.max_use
					 : retention_keep_free(r),
		    o->use, o->free, o->most_free - o->free);
	}
}

/* Must entries be checked or counted first? Limits in bytes count all that
 * exist. */
static bool
must_check_first(struct retention *r)
{
	if (!list_empty(&r->table.to_count))
		return true;
	if (r->fresh_ns != 0 &&
	    clock_now_ns() - r->fresh_ns < RETENTION_FRESH_NS)
		return false;
	if (!r->must_check)
		r->next_to_check = NULL;
	r->must_check = true;
	r->is_estimated = false;
	return true;
}

/* The next entry to delete; NULL: none. */
static struct entry *
next_due(struct retention *r, enum deleted *reason)
{
	struct usage *u = &r->usage;
	struct entry *e;

	retention_measure(r, u);
	if (is_over(r, DELETED_max_use, u->use, u->free) ||
	    is_over(r, DELETED_keep_free, u->use, u->free)) {
		if (must_check_first(r))
			return NULL;
		if (!r->is_estimated)
			retention_estimate(r, u);
		r->is_estimated = true;
	}
	warn_unreachable(r);
	e = oldest(r);
	return e != NULL && retention_is_due(r, u, e, reason) ? e : NULL;
}

bool
retention_work(struct retention *r)
{
	enum deleted reason = DELETED_max_age;
	struct entry *e;

	if (r->job.entry != NULL) {
		continue_job(r);
		return true;
	}
	if (r->notes == NULL)
		return false;
	e = next_due(r, &reason);
	if (e != NULL) {
		begin(r, e, JOB_CHECK, reason);
		return true;
	}
	if (r->must_check || list_empty(&r->table.to_count))
		return false;
	e = list_first(&r->table.to_count, struct entry, to_count);
	begin(r, e, JOB_COUNT, reason);
	return true;
}
