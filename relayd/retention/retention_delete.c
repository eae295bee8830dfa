/* SPDX-License-Identifier: MIT */
/* Which limit does not hold, what goes for it, and how. */
#include <errno.h>
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
#include "relayd/stats/news.h"
#include "store/dir.h"
#include "store/room.h"

/* Names, and removals of directories, between two looks at the clock. */
#define STEP 8
/* What is being deleted has this name, and its inode, beside where it was:
 * readers skip names with a dot. */
#define DELETED_PREFIX ".tracepulse-deleted-"

void
retention_look_at_room(struct retention *r)
{
	const uint64_t now = clock_now_ns();
	struct disk_room *m = &r->room;
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
	/* What is seen now is not awaited any more. */
	if (m->free > before)
		m->pending -= m->pending < m->free - before ? m->pending
							    : m->free - before;
	if (now >= m->pending_until_ns)
		m->pending = 0;
	/* What was made is used first. */
	m->is_wanted |= published_word(room_wanted()) != m->wanted_seen &&
			m->pending == 0;
	m->wanted_seen = published_word(room_wanted());
}

uint64_t
retention_keep_free(const struct retention *r)
{
	if (r->limits.keep_free > 0)
		return r->limits.keep_free;
	return r->room.total / 100 * r->limits.keep_free_percent;
}

static uint64_t
age(const struct entry *e)
{
	const uint64_t now = clock_wall_ns();

	return e->ended_ns < now ? now - e->ended_ns : 0;
}

/* May E be deleted, but for those who use it now? A session goes when what was
 * archived of it has gone. */
static bool
may_go(const struct entry *e)
{
	return e->is_ended && !table_is_kept(e) && list_empty(&e->children);
}

/* The oldest that may go now; NULL: none. */
static struct entry *
oldest(struct retention *r)
{
	const uint64_t now = clock_now_ns();
	struct entry *e;

	list_each (e, &r->table.ended, struct entry, order) {
		if (may_go(e) && e->retry_ns <= now && !table_is_used(e))
			return e;
	}
	return NULL;
}

bool
retention_is_over(struct retention *r, enum deleted *reason)
{
	const struct retention_limits *l = &r->limits;
	const struct entry *e = NULL;

	if (l->max_age_ns > 0)
		e = oldest(r);
	if (e != NULL && age(e) > l->max_age_ns) {
		*reason = DELETED_max_age;
		return true;
	}
	if (l->max_use > 0 && table_bytes(&r->table) > l->max_use) {
		*reason = DELETED_max_use;
		return true;
	}
	*reason = DELETED_keep_free;
	if (!r->room.is_known || retention_keep_free(r) == 0)
		return false;
	return r->room.is_wanted ||
	       r->room.free + r->room.pending < retention_keep_free(r);
}

enum status
retention_open(struct retention *r, const struct entry *e, int *fd)
{
	struct dir_id id;
	enum status st = dir_open(fd, r->base_fd, e->path);

	/* A file or a link has its place, or that of a folder above it. */
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
	retention_note_gone(r, e);
	if (r->look_at == e)
		r->look_at = table_next(&r->table, e);
	if (r->counted == e) {
		tree_destroy(r->count);
		close(r->count_fd);
		r->count = NULL;
		r->counted = NULL;
		r->count_fd = -1;
	}
	table_remove(&r->table, e);
}

/* The name beside E's under which it is deleted. False: it would be too
 * long. */
static bool
hidden_path(const struct entry *e, char out[RELPATH_MAX])
{
	const char *slash = strrchr(e->path, '/');
	const int n = slash == NULL ? 0 : (int)(slash - e->path) + 1;

	return snprintf(out, RELPATH_MAX, "%.*s" DELETED_PREFIX "%" PRIx64, n,
		   e->path, e->ino) < RELPATH_MAX;
}

/* Take the directory's name away, so that nobody reads half of it. If that
 * cannot be, it is deleted where it is. */
static void
hide(struct retention *r, struct entry *e)
{
	char hidden[RELPATH_MAX];

	if (!hidden_path(e, hidden) || strcmp(hidden, e->path) == 0)
		return;
	retention_note_moved(r, e, hidden);
	/* After a crash it must be found by its new name. */
	if (retention_flush(r, false) != OK)
		return;
	if (dir_rename(r->base_fd, e->path, hidden) == OK &&
	    table_move(&r->table, e, hidden) == OK)
		return;
	retention_note_moved(r, e, e->path);
}

static void
begin(struct retention *r, struct entry *e, enum deleted reason)
{
	const uint64_t now = clock_now_ns();
	struct victim *v = &r->victim;
	enum status st = retention_open(r, e, &v->fd);

	if (st == E_NOENT) {
		log_info(
		    "%s: was removed or replaced, not ours any more", e->path);
		retention_forget(r, e);
		return;
	}
	if (st != OK ||
	    (flock(v->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)) {
		/* A session has begun in it, perhaps another relay's. */
		e->retry_ns = now + RETENTION_BUSY_NS;
		if (st == OK)
			close(v->fd);
		return;
	}
	if (tree_create(&v->tree, v->fd, true) != OK) {
		log_error("%s: not deleted: out of memory", e->path);
		e->retry_ns = now + RETENTION_BUSY_NS;
		close(v->fd);
	} else {
		hide(r, e);
		v->entry = e;
		v->reason = reason;
	}
}

static void
tell_news(const struct stored_item *i)
{
	const struct session_info info = {
		.host = i->host,
		.name = i->session,
		.path = i->path,
		.sums = { .written_bytes = i->bytes },
	};

	if (news_has_listener())
		news_tell(&(struct news){ .kind = NEWS_DELETED,
		    .session = &info,
		    .reason = deleted_names[i->reason] });
}

static void
count_deleted(struct retention *r, enum deleted reason, uint64_t bytes)
{
	stats_add(r->stats,
	    (enum stats_row)(STAT_deleted_max_age + (unsigned)reason), 1);
	stats_add(r->stats,
	    (enum stats_row)(STAT_deleted_bytes_max_age + (unsigned)reason),
	    bytes);
	r->room.pending += bytes;
	r->room.pending_until_ns = clock_now_ns() + RETENTION_SETTLE_NS;
	r->room.is_wanted = false;
}

static void
tell_deleted(struct retention *r, const struct entry *e, uint64_t bytes)
{
	struct stored_item i;

	retention_fill_item(e, &i);
	i.path = e->name;
	i.bytes = bytes;
	i.reason = r->victim.reason;
	log_notice("deleted %s: session=%s host=%s bytes=%" PRIu64
		   " seconds_since_end=%" PRIu64 " reason=%s",
	    i.path, i.session, i.host, bytes, age(e) / NS_PER_S,
	    deleted_names[i.reason]);
	retention_tell_deleted(r, &i);
	tell_news(&i);
}

/* Close what is open of it. */
static void
let_go(struct retention *r)
{
	tree_destroy(r->victim.tree);
	close(r->victim.fd);
	r->victim = (struct victim){ .fd = -1 };
}

void
retention_give_up_victim(struct retention *r)
{
	if (r->victim.entry != NULL)
		let_go(r);
}

/* All that can go has gone. */
static void
finish(struct retention *r)
{
	const uint64_t bytes = tree_bytes(r->victim.tree);
	struct entry *e = r->victim.entry;
	const bool is_gone = dir_remove(r->base_fd, e->path) == OK ||
			     errno == ENOENT;

	count_deleted(r, r->victim.reason, bytes);
	if (is_gone) {
		tell_deleted(r, e, bytes);
		let_go(r);
		retention_forget(r, e);
		return;
	}
	log_errno(LOG_ERROR, "%s: a part of it cannot be deleted", e->path);
	e->retry_ns = clock_now_ns() + RETENTION_RETRY_NS;
	table_end(&r->table, e, e->ended_ns, 0, false);
	let_go(r);
}

static void
say_stuck(struct retention *r, enum deleted reason)
{
	if (!r->is_stuck)
		log_warn("nothing is left to delete, and still %s: what goes "
			 "on, is kept, or is not the relay's takes the room",
		    reason == DELETED_max_use
			? "more is used than --max-use allows"
			: "less is free than --keep-free asks for");
	r->is_stuck = true;
}

/* Is it not known of all entries that they are there, and how large they are?
 * --max-use counts them. */
static bool
must_look_first(struct retention *r, enum deleted reason)
{
	if (reason == DELETED_max_use && !list_empty(&r->table.to_count))
		return true;
	if (reason != DELETED_max_use ||
	    (r->fresh_ns != 0 &&
		clock_now_ns() - r->fresh_ns < RETENTION_FRESH_NS))
		return false;
	if (!r->must_look)
		r->look_at = NULL;
	r->must_look = true;
	return true;
}

bool
retention_delete_step(struct retention *r)
{
	enum deleted reason;
	struct entry *e;

	if (r->victim.entry != NULL) {
		if (tree_step(r->victim.tree, STEP))
			finish(r);
		return true;
	}
	if (r->notes == NULL)
		return false;
	retention_look_at_room(r);
	if (!retention_is_over(r, &reason)) {
		r->is_stuck = false;
		return false;
	}
	if (must_look_first(r, reason))
		return false;
	e = oldest(r);
	if (e == NULL) {
		say_stuck(r, reason);
		return false;
	}
	begin(r, e, reason);
	return true;
}
