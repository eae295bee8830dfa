/* SPDX-License-Identifier: MIT */
#include "store/session_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ids.h"
#include "common/log.h"
#include "store/dir.h"
#include "store/dir_registry.h"
#include "store/folder.h"
#include "store/journal.h"
#include "store/output.h"
#include "store/store.h"
#include "store/stored.h"

/* How the names of the relay's own files in the output directory begin. */
#define RELAYS_PREFIX ".tracepulse-"
/* Suffixes -1, -2, ... that are tried for one name before a random one is used,
 * and names of one component that may be taken: more cannot be chance. Each
 * costs system calls. */
#define SUFFIXES 4
#define TRIES (2 * SUFFIXES)

static enum status
new_dir(struct session_dir **out, struct store *store)
{
	struct session_dir *d = calloc(1, sizeof(*d));

	*out = d;
	if (d == NULL)
		return E_NOMEM;
	d->refs = 1;
	d->fd = -1;
	d->store = store;
	d->output = output_get(store_output(store));
	return OK;
}

/* Make the flock(2) of FD visible to session_dir_has_lock(). */
static void
show_claim(int fd)
{
	struct flock all = { .l_type = F_RDLCK };

	(void)fcntl(fd, F_OFD_SETLK, &all);
}

bool
session_dir_lock(int fd)
{
	if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return false;
	show_claim(fd);
	return true;
}

/* Claim the directory FD. IS_OURS: it was just created, or sessions of the same
 * sharers have it, and IS_USED: they have it now. */
static bool
take(int fd, bool is_shared, bool is_ours, bool is_used)
{
	/* Another relay's snapshot sessions have the shared lock, too: only
	 * the first one of this relay can see that. */
	if (flock(fd, (is_used ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 &&
	    (!is_shared || flock(fd, LOCK_SH | LOCK_NB) == 0)) {
		show_claim(fd);
		return is_ours || dir_is_empty(fd);
	}
	/* Without locks (NFS), only a new directory is known to be free. */
	return errno != EWOULDBLOCK && is_ours;
}

bool
session_dir_has_lock(int fd)
{
	struct flock any = { .l_type = F_WRLCK };

	return fcntl(fd, F_OFD_GETLK, &any) == 0 && any.l_type != F_UNLCK;
}

static bool
has_folder(int dir, const char *name)
{
	int fd;

	if (dir_open(&fd, dir, name) != OK)
		return false;
	close(fd);
	return true;
}

/* Does FD contain a trace? */
static bool
has_trace(int fd)
{
	return has_folder(fd, "archives") || has_folder(fd, "kernel") ||
	       has_folder(fd, "ust");
}

/* The number, from 0 on, of the first folder above PATH, below the host's, that
 * is or was a session's; UINT_MAX: none. IS_MADE: the caller has made PATH, so
 * only live sessions count. */
static unsigned
foreign_folder(int base, const char *path, bool is_made)
{
	unsigned level = 0, found = UINT_MAX;
	char name[NAME_MAX + 1];
	const char *slash;
	int fd, at = base;

	for (; found == UINT_MAX && (slash = strchr(path, '/')) != NULL;
	     level++, path = slash + 1) {
		snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path);
		if (dir_open(&fd, at, name) != OK) {
			/* A file, or a link, which is not followed. */
			if (errno == ENOTDIR || errno == ELOOP)
				found = level;
			break;
		}
		if (at != base)
			close(at);
		at = fd;
		if (level > 0 &&
		    (session_dir_has_lock(fd) || (!is_made && has_trace(fd))))
			found = level;
	}
	if (at != base)
		close(at);
	return found;
}

bool
session_dir_is_foreign(int base, const char *path)
{
	bool is_foreign;
	int fd;

	if (foreign_folder(base, path, false) != UINT_MAX)
		return true;
	if (dir_open(&fd, base, path) != OK)
		return false;
	is_foreign = session_dir_has_lock(fd) || has_folder(fd, "archives");
	close(fd);
	return is_foreign;
}

bool
session_dir_is_own_name(const char *name, size_t n)
{
	return (n > 0 && name[0] == '.') ||
	       (n == strlen("archives") && memcmp(name, "archives", n) == 0);
}

bool
session_dir_is_relays(const char *path)
{
	return strncmp(path, RELAYS_PREFIX, strlen(RELAYS_PREFIX)) == 0;
}

static unsigned
last_level(const char *path)
{
	unsigned level = 0;

	while ((path = strchr(path, '/')) != NULL) {
		path++;
		level++;
	}
	return level;
}

/* Create the directory of D, and claim it. E_EXISTS: it belongs to another
 * session. */
static enum status
make_leaf(struct session_dir *d)
{
	struct output *o = d->output;
	const char *path = d->path->s;
	enum status st;

	do {
		/* The parents usually exist. */
		st = dir_create(o->fd, path);
		d->is_new = st == OK;
		if (st == E_NOENT)
			st = dir_create_path(o->fd, path);
	} while (st == E_NOSPC && reserve_release(&o->reserve));
	d->is_new |= st == OK;
	if (st == OK || st == E_EXISTS)
		st = folder_dir_open(&d->fd, o->fd, path);
	if (st != OK)
		return errno == ENOTDIR || errno == ELOOP ? E_EXISTS : st;
	if (take(d->fd, d->sharers != 0, d->is_new, false))
		return OK;
	folder_dir_close(d->fd);
	d->fd = -1;
	return E_EXISTS;
}

/* Make the directory of D. E_EXISTS: the component *LEVEL is somebody else's.
 */
static enum status
try_path(struct session_dir *d, unsigned *level)
{
	const int base = d->output->fd;
	enum status st;

	*level = foreign_folder(base, d->path->s, false);
	if (*level != UINT_MAX)
		return E_EXISTS;
	st = make_leaf(d);
	if (st != OK) {
		*level = last_level(d->path->s);
		return st;
	}
	/* Whoever claims a folder above from now on sees that it is not empty;
	 * one who has is seen here. */
	*level = foreign_folder(base, d->path->s, true);
	if (*level == UINT_MAX)
		return OK;
	folder_dir_close(d->fd);
	d->fd = -1;
	if (d->is_new)
		(void)dir_remove(base, d->path->s);
	return E_EXISTS;
}

/* Give component LEVEL of the path the suffix of try K, from 1 on; components
 * below it are as they were wanted. */
static enum status
add_suffix(struct session_dir *d, unsigned level, unsigned k)
{
	const char *now = d->path->s, *wanted = d->wanted->s;
	char text[RELPATH_MAX + 16], suffix[16];
	struct relpath *path;
	enum status st;
	size_t n;

	for (; level > 0; level--) {
		now = strchr(now, '/') + 1;
		wanted = strchr(wanted, '/') + 1;
	}
	if (k > SUFFIXES)
		snprintf(suffix, sizeof(suffix), "-%08" PRIx32,
		    (uint32_t)ids_random());
	else
		snprintf(suffix, sizeof(suffix), "-%u", k);
	n = strcspn(wanted, "/");
	if (n + strlen(suffix) > NAME_MAX ||
	    (size_t)snprintf(text, sizeof(text), "%.*s%.*s%s%s",
		(int)(now - d->path->s), d->path->s, (int)n, wanted, suffix,
		wanted + n) >= sizeof(text))
		return E_LIMIT;
	st = relpath_parse(&path, (struct span){ text, strlen(text) });
	if (st != OK)
		return st == E_MALFORMED ? E_LIMIT : st;
	relpath_free(d->path);
	d->path = path;
	return OK;
}

/* Make a directory at the wanted path, or beside it while that is taken. */
static enum status
make_dir(struct session_dir *d)
{
	unsigned level, last = UINT_MAX, tries = 0;
	enum status st = relpath_dup(&d->path, d->wanted);

	if (st != OK)
		return st;
	while ((st = try_path(d, &level)) == E_EXISTS) {
		tries = level == last ? tries + 1 : 1;
		last = level;
		st = tries > TRIES ? E_LIMIT : add_suffix(d, level, tries);
		if (st != OK)
			break;
	}
	return st;
}

/* Use the directory that sessions of the same sharers have, if it is still
 * there. */
static bool
join(struct session_dir *d)
{
	struct shared_dir *s;
	struct dir_id id;
	bool is_used;

	if (d->sharers == 0)
		return false;
	s = dir_registry_share(d->store->config.registry, &d->output->id,
	    d->wanted, d->sharers, &is_used);
	if (s == NULL)
		return false;
	if (folder_dir_open(&d->fd, d->output->fd, s->path) == OK) {
		if (dir_identify(&id, d->fd) == OK &&
		    dir_is_same(&id, &s->id) &&
		    take(d->fd, true, true, is_used) &&
		    relpath_parse(&d->path,
			(struct span){ s->path, strlen(s->path) }) == OK) {
			d->shared = s;
			return true;
		}
		folder_dir_close(d->fd);
		d->fd = -1;
	}
	dir_registry_leave(s);
	return false;
}

static void
log_failure(const struct relpath *wanted, enum status st)
{
	if (st == E_NOMEM)
		errno = ENOMEM;
	if (st == E_LIMIT)
		log_peer(LOG_ERROR,
		    "session directory %s: taken, and so are the names beside "
		    "it, or they are too long",
		    wanted->s);
	else
		log_peer_errno(LOG_ERROR, "session directory %s", wanted->s);
}

static enum status
find_place(struct session_dir *d, const struct relpath *wanted)
{
	struct dir_registry *r = d->store->config.registry;
	enum status st = relpath_dup(&d->wanted, wanted);
	struct dir_id id;

	if (st == OK && !join(d)) {
		st = make_dir(d);
		if (st == OK && (d->sharers != 0 || !d->is_new) &&
		    dir_identify(&id, d->fd) == OK) {
			/* It may be an empty one of snapshot sessions. */
			dir_registry_unshare(r, &id);
			if (d->sharers != 0)
				d->shared = dir_registry_remember(r,
				    &d->output->id, wanted, d->sharers, d->path,
				    &id);
		}
	}
	d->journal_root.path = d->path;
	return st;
}

enum status
session_dir_claim(struct session_dir **out, struct store *store,
    const struct relpath *wanted, uint64_t sharers)
{
	struct session_dir *d;
	enum status st;

	*out = NULL;
	if (new_dir(&d, store) != OK)
		return E_NOMEM;
	d->sharers = sharers;
	st = find_place(d, wanted);
	if (st != OK) {
		log_failure(wanted, st);
		session_dir_put(d);
		return st;
	}
	if (store_syncs_names(store) &&
	    dir_sync(d->output->fd, d->path->s) != OK)
		store_sync_failed(store, d->path->s, ".");
	*out = d;
	return OK;
}

/* The report of D; NULL: no memory. */
static struct stored_note *
make_note(struct session_dir *d)
{
	struct dir_id id;

	if (dir_identify(&id, d->fd) != OK)
		return NULL;
	return stored_note_create(&(struct stored_note){
	    .row = { .ino = id.ino,
		.born = id.born,
		.kind = STORED_SESSION,
		.began_ns = clock_wall_ns(),
		.path = d->path->s,
		.host = d->host,
		.session = d->session },
	    .is_new = d->is_new,
	    .dir = stored_dir_get(d->stored),
	});
}

static void
forget_note(struct session_dir *d)
{
	if (d->stored != NULL)
		stored_dir_leave(d->stored);
	stored_dir_put(d->stored);
	d->stored = NULL;
	free(d->host);
	free(d->session);
	d->host = d->session = NULL;
}

void
session_dir_note(struct session_dir *d, const char *host, const char *session)
{
	struct stored_door *door = d->store->config.stored;
	struct stored_note *n = NULL;

	if (door == NULL || d->path == NULL)
		return;
	d->stored = stored_dir_create();
	d->host = strdup(host);
	d->session = strdup(session);
	if (d->stored != NULL) {
		stored_dir_enter(d->stored);
		if (d->host != NULL && d->session != NULL)
			n = make_note(d);
	}
	if (n != NULL) {
		door->tell(door, n);
		return;
	}
	log_error("%s: not noted, so it will never be deleted: %s", d->path->s,
	    strerror(errno));
	forget_note(d);
}

void
session_dir_count(struct session_dir *d, int64_t n)
{
	if (d->stored != NULL)
		published_count(&d->stored->bytes, (uint64_t)n);
}

static enum status
make_again(struct session_dir *d)
{
	struct session_dir *next;
	enum status st;

	if (new_dir(&next, d->store) != OK)
		return E_NOMEM;
	next->sharers = d->sharers;
	st = find_place(next, d->wanted);
	if (st != OK) {
		log_failure(d->path, st);
		session_dir_put(next);
		return st;
	}
	log_warn(
	    "%s: was removed, created again as %s", d->path->s, next->path->s);
	if (d->stored != NULL)
		session_dir_note(next, d->host, d->session);
	d->next = next;
	return OK;
}

enum status
session_dir_renew(struct session_dir **d)
{
	struct session_dir *last = *d;
	enum status st;

	while (last->path != NULL && folder_dir_is_removed(last->fd)) {
		if (last->next == NULL && (st = make_again(last)) != OK)
			return st;
		last = last->next;
	}
	session_dir_get(last);
	session_dir_put(*d);
	*d = last;
	return OK;
}

enum status
session_dir_base(struct session_dir **out, struct store *store)
{
	struct session_dir *d;
	enum status st;

	*out = NULL;
	if (new_dir(&d, store) != OK)
		return E_NOMEM;
	st = folder_dir_open(&d->fd, d->output->fd, "");
	if (st != OK) {
		session_dir_put(d);
		return st;
	}
	*out = d;
	return OK;
}

enum status
session_dir_share(struct session_dir *d, struct folder_base **out)
{
	enum status st = OK;

	if (d->base == NULL) {
		st = folder_base_create(&d->base, d->fd);
		if (st == OK && d->stored != NULL)
			folder_base_use(d->base, d->stored);
	}
	*out = d->base;
	return st;
}

struct session_dir *
session_dir_get(struct session_dir *d)
{
	d->refs++;
	return d;
}

void
session_dir_put(struct session_dir *d)
{
	if (d == NULL || --d->refs > 0)
		return;
	if (d->base != NULL) {
		/* Viewers may still have it open: end the claim. */
		(void)fcntl(
		    d->fd, F_OFD_SETLK, &(struct flock){ .l_type = F_UNLCK });
		(void)flock(d->fd, LOCK_UN);
		folder_base_put(d->base);
	} else if (d->fd >= 0) {
		folder_dir_close(d->fd);
	}
	forget_note(d);
	session_dir_put(d->next);
	/* After its lock is gone. */
	dir_registry_leave(d->shared);
	output_put(d->output);
	relpath_free(d->wanted);
	relpath_free(d->path);
	free(d);
}
