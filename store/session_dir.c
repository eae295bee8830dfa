/* SPDX-License-Identifier: MIT */
#include "store/session_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "store/dir.h"
#include "store/folder.h"
#include "store/journal.h"
#include "store/kept_dir.h"
#include "store/output.h"
#include "store/store.h"
#include "store/stored.h"

/* How the names of journals, notes and the like begin. */
#define RELAYS_PREFIX ".tracepulse-"

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

/* Make every component but the last. */
static enum status
make_parents(int base, const struct relpath *path)
{
	const char *slash = strrchr(path->s, '/');
	char parent[RELPATH_MAX];
	size_t n;

	if (slash == NULL)
		return OK;
	n = (size_t)(slash - path->s);
	memcpy(parent, path->s, n);
	parent[n] = '\0';
	return dir_create_path(base, parent);
}

void
session_dir_show_claim(int fd)
{
	struct flock all = { .l_type = F_RDLCK };

	(void)fcntl(fd, F_OFD_SETLK, &all);
}

static void
hide_claim(int fd)
{
	struct flock all = { .l_type = F_UNLCK };

	(void)fcntl(fd, F_OFD_SETLK, &all);
}

/* Claim the directory, for us alone or shared. IS_NEW: we have just made it. */
static bool
take(int fd, bool is_new, bool is_snapshot)
{
	if (flock(fd, (is_snapshot ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0) {
		session_dir_show_claim(fd);
		return is_snapshot || dir_is_empty(fd);
	}
	/* Where directories cannot be locked (NFS), the session that makes a
	 * directory has it. */
	return errno != EWOULDBLOCK && (is_snapshot || is_new);
}

static bool
has_folder(int base, const char *path, size_t n, const char *name)
{
	char folder[RELPATH_MAX + sizeof("/archives")];
	int fd;

	snprintf(folder, sizeof(folder), "%.*s/%s", (int)n, path, name);
	if (dir_open(&fd, base, folder) != OK)
		return false;
	close(fd);
	return true;
}

bool
session_dir_has_lock(int fd)
{
	struct flock any = { .l_type = F_WRLCK };

	return fcntl(fd, F_OFD_GETLK, &any) == 0 && any.l_type != F_UNLCK;
}

bool
session_dir_is_locked(int base, const char *path)
{
	struct flock any = { .l_type = F_WRLCK };
	bool is_locked;
	int fd;

	if (dir_open(&fd, base, path) != OK)
		return false;
	is_locked = fcntl(fd, F_OFD_GETLK, &any) == 0 && any.l_type != F_UNLCK;
	close(fd);
	return is_locked;
}

bool
session_dir_is_rotated(int base, const char *path, size_t n)
{
	char folder[RELPATH_MAX];

	snprintf(folder, sizeof(folder), "%.*s", (int)n, path);
	return session_dir_is_locked(base, folder) ||
	       has_folder(base, path, n, "archives");
}

bool
session_dir_is_taken(int base, const char *path, size_t n)
{
	return session_dir_is_rotated(base, path, n) ||
	       has_folder(base, path, n, "kernel") ||
	       has_folder(base, path, n, "ust");
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

/* The end of the first component of PATH, below the host, that ends behind FROM
 * and is an ancestor and a session's directory; 0: there is none. */
static size_t
taken_ancestor(int base, const char *path, size_t from)
{
	const char *slash = from > 0 ? path + from - 1 : strchr(path, '/');

	while (slash != NULL && (slash = strchr(slash + 1, '/')) != NULL)
		if (session_dir_is_taken(base, path, (size_t)(slash - path)))
			return (size_t)(slash - path);
	return 0;
}

/* The same for those that are claimed now. */
static bool
is_in_a_claim(int base, const char *path)
{
	char ancestor[RELPATH_MAX];
	char *slash;

	snprintf(ancestor, sizeof(ancestor), "%s", path);
	while ((slash = strrchr(ancestor, '/')) != NULL) {
		*slash = '\0';
		if (session_dir_is_locked(base, ancestor))
			return true;
	}
	return false;
}

/* Give each ancestor that is a session's directory a suffix. */
static enum status
step_aside(struct relpath **path, int base)
{
	struct relpath *p = *path;
	size_t at, from = 0, end = 0; /* of what has a suffix: without, with */
	unsigned i = 0;
	char *text;
	enum status st;
	int n;

	while ((at = taken_ancestor(base, p->s, end)) > 0) {
		/* The suffix that was tried before does not stay. */
		if (at != end) {
			from = at;
			i = 0;
		}
		if (++i > SESSION_DIR_SUFFIX_MAX)
			return E_LIMIT;
		n = asprintf(&text, "%.*s-%u%s", (int)from, p->s, i, p->s + at);
		if (n < 0)
			return E_NOMEM;
		end = (size_t)n - strlen(p->s + at);
		st = relpath_parse(&p, (struct span){ text, (size_t)n });
		free(text);
		if (st != OK)
			return st == E_MALFORMED ? E_LIMIT : st;
		relpath_free(*path);
		*path = p;
	}
	return OK;
}

/* E_EXISTS: another session has PATH, or it holds files. */
static enum status
try_claim(int *out, struct output *o, const struct relpath *path,
    bool is_snapshot, bool *is_new_dir)
{
	const int base = o->fd;
	enum status st;
	bool is_new;
	int fd;

	do {
		/* The parents are mostly there. */
		st = dir_create(base, path->s);
		if (st == E_NOENT) {
			st = make_parents(base, path);
			if (st == OK)
				st = dir_create(base, path->s);
		}
	} while (st == E_NOSPC && room_yield(&o->room));
	is_new = st == OK;
	if (st != OK && st != E_EXISTS)
		return st;
	st = kept_dir_open(&fd, base, path->s);
	if (st != OK)
		/* PATH is a file or a link: no place for a session. */
		return errno == ENOTDIR || errno == ELOOP ? E_EXISTS : st;
	if (!take(fd, is_new, is_snapshot)) {
		kept_dir_close(fd);
		return E_EXISTS;
	}
	/* Another session may have claimed an ancestor meanwhile. It saw that
	 * this is not empty, or its claim is seen here. */
	if (is_in_a_claim(base, path->s)) {
		kept_dir_close(fd);
		if (is_new)
			(void)dir_remove(base, path->s);
		return E_EXISTS;
	}
	*out = fd;
	*is_new_dir = is_new;
	return OK;
}

enum status
session_dir_claim(struct session_dir **out, struct store *store,
    const struct relpath *wanted, bool is_snapshot)
{
	struct relpath *beside = NULL;
	struct session_dir *d;
	char suffix[16] = "";
	enum status st;

	*out = NULL;
	if (new_dir(&d, store) != OK)
		return E_NOMEM;
	d->is_shared = is_snapshot;
	st = relpath_dup(&d->wanted, wanted);
	if (st == OK)
		st = relpath_dup(&beside, wanted);
	if (st == OK)
		st = step_aside(&beside, d->output->fd);
	for (unsigned i = 0; st == OK && i <= SESSION_DIR_SUFFIX_MAX; i++) {
		if (i > 0)
			snprintf(suffix, sizeof(suffix), "-%u", i);
		relpath_free(d->path);
		d->path = NULL;
		st = relpath_suffix(&d->path, beside, suffix);
		if (st == OK)
			st = try_claim(&d->fd, d->output, d->path, is_snapshot,
			    &d->is_new);
		if (st != E_EXISTS)
			break;
		st = i == SESSION_DIR_SUFFIX_MAX ? E_LIMIT : OK;
	}
	relpath_free(beside);
	if (st == OK && d->fd < 0)
		st = E_LIMIT;
	if (st != OK) {
		if (st == E_NOMEM)
			errno = ENOMEM;
		/* No call failed, each name was taken. */
		if (st == E_LIMIT)
			log_peer(LOG_ERROR,
			    "session directory %s: no name is free, up to "
			    "%s-%d",
			    wanted->s, wanted->s, SESSION_DIR_SUFFIX_MAX);
		else
			log_peer_errno(
			    LOG_ERROR, "session directory %s", wanted->s);
		session_dir_put(d);
		return st;
	}
	if (store_syncs_names(store) &&
	    dir_sync(d->output->fd, d->path->s) != OK)
		store_sync_failed(store, d->path->s, ".");
	d->journal_root.path = d->path;
	*out = d;
	return OK;
}

/* What is told of D; NULL: no memory. */
static struct stored_note *
make_note(struct session_dir *d)
{
	struct stored_note n = {
		.kind = STORED_SESSION,
		.is_new = d->is_new,
		.dir = stored_dir_get(d->stored),
		.began_ns = clock_wall_ns(),
		.path = d->path->s,
		.host = d->host,
		.session = d->session,
	};

	if (dir_identify(&n.id, d->fd) == OK)
		return stored_note_create(&n);
	stored_dir_put(n.dir);
	return NULL;
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

	st = session_dir_claim(&next, d->store, d->path, d->is_shared);
	if (st != OK)
		return st;
	/* Others look for the path that was wanted, not for the one with a
	 * suffix. */
	relpath_free(next->wanted);
	st = relpath_dup(&next->wanted, d->wanted);
	if (st != OK) {
		session_dir_put(next);
		return st;
	}
	log_warn(
	    "%s: was removed, made again as %s", d->path->s, next->path->s);
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

	while (last->path != NULL && kept_dir_is_gone(last->fd)) {
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
	st = kept_dir_open(&d->fd, d->output->fd, "");
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
		/* Viewers may still have it open. */
		hide_claim(d->fd);
		(void)flock(d->fd, LOCK_UN);
		folder_base_put(d->base);
	} else if (d->fd >= 0) {
		kept_dir_close(d->fd);
	}
	forget_note(d);
	session_dir_put(d->next);
	output_put(d->output);
	relpath_free(d->wanted);
	relpath_free(d->path);
	free(d);
}
