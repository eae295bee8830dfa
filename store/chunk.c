/* SPDX-License-Identifier: MIT */
#include "store/chunk.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fds.h"
#include "common/log.h"
#include "common/relpath.h"
#include "store/dir.h"
#include "store/folder.h"
#include "store/journal.h"
#include "store/output.h"
#include "store/session_dir.h"
#include "store/store.h"
#include "store/stored.h"

enum status
chunk_create(struct chunk **out, struct session_dir *dir, uint64_t id,
    uint64_t creation_time, const struct relpath *override_name,
    void (*released)(struct chunk *take_c, void *arg), void *arg)
{
	struct chunk *c = calloc(1, sizeof(*c));

	*out = NULL;
	if (c == NULL)
		return E_NOMEM;
	c->refs = 1;
	c->id = id;
	c->serial = ++dir->store->chunk_serials;
	c->creation_time = creation_time;
	c->began_ns = clock_wall_ns();
	c->fd = -1;
	c->released = released;
	c->released_arg = arg;
	list_init(&c->node);
	list_init(&c->doomed_node);
	list_init(&c->families);
	c->dir = session_dir_get(dir);
	if (override_name != NULL &&
	    relpath_dup(&c->override_name, override_name) != OK) {
		chunk_finish(c);
		return E_NOMEM;
	}
	*out = c;
	return OK;
}

struct chunk *
chunk_get(struct chunk *c)
{
	/* Zero in the callback of the last chunk_put(), which may keep it. */
	c->refs++;
	return c;
}

void
chunk_put(struct chunk *c)
{
	if (c == NULL)
		return;
	assert(c->refs > 0);
	if (--c->refs == 0)
		c->released(c, c->released_arg);
}

void
chunk_finish(struct chunk *take_c)
{
	/* They may be hundreds of thousands. */
	list_move_all(&take_c->dir->store->old_families, &take_c->families);
	for (unsigned i = 0; i < take_c->n_tops; i++)
		relpath_free(take_c->tops[i]);
	free(take_c->tops);
	take_c->dir->store->names_bytes -= take_c->names_bytes;
	list_del(&take_c->node);
	list_del(&take_c->doomed_node);
	folder_place_put(take_c->folders);
	if (take_c->fd >= 0)
		folder_dir_close(take_c->fd);
	if (take_c->is_extra)
		fds_give(FDS_EXTRA);
	session_dir_put(take_c->dir);
	relpath_free(take_c->override_name);
	free(take_c);
}

void
chunk_free_family(struct chunk_family *take_f)
{
	list_del(&take_f->node);
	folder_put(take_f->folder);
	relpath_free(take_f->path);
	relpath_free(take_f->channel);
	free(take_f);
}

bool
chunk_free_some(struct store *s)
{
	for (unsigned n = 0; n < CHUNK_FREE_SLICE; n++) {
		if (list_empty(&s->old_families))
			return false;
		chunk_free_family(
		    list_first(&s->old_families, struct chunk_family, node));
	}
	return !list_empty(&s->old_families);
}

/* YYYYmmddTHHMMSS+hhmm, local time (streaming 5.5). */
static enum status
format_time(char out[64], uint64_t when)
{
	time_t t = (time_t)when;
	struct tm tm;

	/* The year has four digits: later years get no name. */
	if (when > INT64_MAX / 2 || localtime_r(&t, &tm) == NULL ||
	    tm.tm_year > 9999 - 1900 ||
	    strftime(out, 64, "%Y%m%dT%H%M%S%z", &tm) == 0)
		return E_REFUSED;
	return OK;
}

enum status
chunk_name(const struct chunk *c, char out[256])
{
	char begin[64], end[64];

	if (c->override_name != NULL) {
		assert(c->override_name->len < 256);
		memcpy(out, c->override_name->s, c->override_name->len + 1);
		return OK;
	}
	if (format_time(begin, c->creation_time) != OK ||
	    (c->is_closed && format_time(end, c->close_time) != OK))
		return E_REFUSED;
	if (c->is_closed)
		snprintf(out, 256, "%s-%s-%" PRIu64, begin, end, c->id);
	else
		snprintf(out, 256, "%s-%" PRIu64, begin, c->id);
	return OK;
}

int
chunk_fd(const struct chunk *c)
{
	return c->fd >= 0 ? c->fd : c->dir->fd;
}

void
chunk_count(struct chunk *c, int64_t n)
{
	c->bytes += (uint64_t)n;
	session_dir_count(c->dir, n);
}

bool
chunk_is_gone(const struct chunk *c)
{
	return folder_dir_is_removed(chunk_fd(c));
}

/* Did the chunk make the top-level folder of PATH? */
static bool
has_top(const struct chunk *c, const struct relpath *path)
{
	const size_t n = strcspn(path->s, "/");

	for (unsigned i = 0; i < c->n_tops; i++)
		if (c->tops[i]->len == n &&
		    memcmp(c->tops[i]->s, path->s, n) == 0)
			return true;
	return false;
}

/* Remember that the chunk made the top-level folder of PATH. */
static enum status
add_top(struct chunk *c, const struct relpath *path)
{
	struct relpath **tops;
	enum status st;

	tops = reallocarray(c->tops, c->n_tops + 1, sizeof(struct relpath *));
	if (tops == NULL)
		return E_NOMEM;
	c->tops = tops;
	st = relpath_top(&tops[c->n_tops], path);
	c->n_tops += st == OK;
	return st;
}

enum status
chunk_add_stream(struct chunk *c, const struct relpath *path,
    const struct relpath *channel, bool is_numbered, struct chunk_family **out)
{
	/* What never moves needs no tops. */
	const bool is_known = c->is_base || has_top(c, path);
	struct chunk_family *f;
	enum status st;

	if (!is_known && c->n_tops >= CHUNK_TOPS_MAX) {
		log_peer(LOG_WARN,
		    CHUNK_FMT ": folder %s refused: the chunk has %u top-level "
			      "folders already",
		    CHUNK_ARGS(c), path->s, c->n_tops);
		return E_LIMIT;
	}
	if (strcmp(channel->s, CHUNK_LOSSES) == 0) {
		errno = EEXIST;
		log_peer_errno(
		    LOG_WARN, CHUNK_FMT ": %s", CHUNK_ARGS(c), channel->s);
		return E_EXISTS;
	}
	do
		st = dir_create_path(chunk_fd(c), path->s);
	while (st == E_NOSPC && reserve_release(&c->dir->output->reserve));
	if (st != OK) {
		/* The caller can make a removed directory again, and tries
		 * again on a full disk. */
		if (st != E_NOSPC ||
		    log_ratelimit(&c->dir->store->last_full_log, LOG_AGAIN_NS))
			log_peer_errno(st == E_NOENT ? LOG_INFO : LOG_ERROR,
			    "%s/%s: cannot create the folder",
			    session_dir_text(c->dir), path->s);
		return st;
	}
	/* Remember the name only now: if something else had it, the chunk must
	 * not move that. */
	if (!is_known) {
		st = add_top(c, path);
		if (st != OK)
			return st;
	}
	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return E_NOMEM;
	f->is_numbered = is_numbered;
	f->path = relpath_share(path);
	f->channel = relpath_share(channel);
	/* The journal searches below this root, not below the whole output
	 * directory. */
	f->journal_root.path = f->path;
	list_append(&c->families, &f->node);
	*out = f;
	return OK;
}

enum status
chunk_new_folder(struct chunk *c, const struct relpath *path)
{
	enum status st;

	do {
		st = dir_create(chunk_fd(c), path->s);
		/* If its parents were removed, PATH does not exist, either. */
		if (st == E_NOENT)
			st = dir_create_path(chunk_fd(c), path->s);
	} while (st == E_NOSPC && reserve_release(&c->dir->output->reserve));
	if (st != OK && st != E_EXISTS)
		log_peer_errno(LOG_ERROR, "%s/%s: cannot create the folder",
		    session_dir_text(c->dir), path->s);
	return st;
}

/* The newest families that are searched: streams of one trace come one after
 * another. */
#define RECENT_FAMILIES 8

/* F's folder, if one of the newest families has it, else NULL. */
static struct folder *
recent_folder(const struct chunk *c, const struct chunk_family *f)
{
	const struct list *n = c->families.prev;

	for (int i = 0; i < RECENT_FAMILIES && n != &c->families;
	     n = n->prev, i++) {
		const struct chunk_family *o = list_entry(
		    n, struct chunk_family, node);

		if (o->folder != NULL && relpath_equal(o->path, f->path))
			return o->folder;
	}
	return NULL;
}

static enum status
new_folder(struct chunk *c, struct chunk_family *f)
{
	char name[RELPATH_MAX];
	struct folder_base *base;
	enum status st = OK;

	if (c->folders == NULL) {
		st = session_dir_share(c->dir, &base);
		if (st == OK)
			st = chunk_place_name(c, c->place, name);
		if (st == OK)
			st = folder_place_create(&c->folders, base, name);
	}
	return st != OK ? st
			: folder_create(&f->folder, c->folders, f->path->s);
}

enum status
chunk_folder(struct chunk *c, struct chunk_family *f, struct folder **out)
{
	enum status st = OK;

	if (f->folder == NULL) {
		f->folder = recent_folder(c, f);
		if (f->folder != NULL)
			folder_get(f->folder);
		else
			st = new_folder(c, f);
	}
	if (st == E_NOMEM)
		errno = ENOMEM;
	if (st != OK)
		log_peer_errno(LOG_ERROR, "%s/%s: cannot open the folder",
		    session_dir_text(c->dir), f->path->s);
	*out = st == OK ? folder_get(f->folder) : NULL;
	return st;
}

void
chunk_folder_done(struct chunk_family *f)
{
	folder_put(f->folder);
	f->folder = NULL;
}

void
chunk_stream_left(struct chunk *c, struct chunk_family *f)
{
	const uint64_t n = sizeof(*f) + relpath_memory(f->path) +
			   relpath_memory(f->channel);

	chunk_folder_done(f);
	c->names_bytes += n;
	c->dir->store->names_bytes += n;
}

/* Archived chunks and snapshots do not change any more: they are reported. */
static bool
is_reported(const struct chunk *c)
{
	return c->dir->stored != NULL && c->fd >= 0 &&
	       (c->place == CHUNK_AT_ARCHIVE ||
		   (c->place == CHUNK_AT_NAME && c->dir->sharers != 0 &&
		       c->override_name != NULL));
}

void
chunk_note(struct chunk *c)
{
	char name[RELPATH_MAX], path[2 * RELPATH_MAX];
	struct stored_notifier *notifier = c->dir->store->config.stored;
	struct stored_note *n, from = {
		.row = { .kind = c->place == CHUNK_AT_ARCHIVE ? STORED_CHUNK
							      : STORED_SNAPSHOT,
		    .began_ns = c->began_ns,
		    .ended_ns = clock_wall_ns(),
		    .bytes = c->bytes,
		    .path = path,
		    .host = c->dir->host,
		    .session = c->dir->session },
		.is_new = !c->is_added_to,
	};
	struct dir_id id;

	if (!is_reported(c) || chunk_place_name(c, c->place, name) != OK ||
	    dir_identify(&id, c->fd) != OK)
		return;
	from.row.ino = id.ino;
	from.row.born = id.born;
	snprintf(path, sizeof(path), "%s/%s", session_dir_text(c->dir), name);
	if (c->folders != NULL)
		from.dir = folder_place_readers(c->folders);
	n = stored_note_create(&from);
	if (n == NULL) {
		log_error("%s: will never be deleted: out of memory", path);
		return;
	}
	/* Its bytes are its own now, not its session's. */
	session_dir_count(c->dir, -(int64_t)c->bytes);
	c->bytes = 0;
	notifier->notify(notifier, n);
}

/* All or nothing. The file is opened with O_APPEND: the offset is for file
 * systems of tests. */
static enum status
append_line(int fd, off_t at, const char *line, size_t n)
{
	const struct iovec iov = { (void *)(uintptr_t)line, n };
	ssize_t written = pwritev(fd, &iov, 1, at);
	const bool is_full = written >= 0 || errno_is_disk_full(errno);

	if (written == (ssize_t)n)
		return OK;
	(void)ftruncate(fd, at);
	if (is_full)
		errno = ENOSPC;
	return is_full ? E_NOSPC : E_IO;
}

enum status
chunk_note_loss(
    struct chunk *c, struct chunk_family *f, const char *line, size_t n)
{
	const int flags = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK;
	char path[2 * RELPATH_MAX];
	struct stat before;
	enum status st;
	int fd;

	snprintf(path, sizeof(path), "%s/" CHUNK_LOSSES, f->path->s);
	do
		st = dir_open_file(&fd, chunk_fd(c), path, flags);
	while (st == E_NOSPC && reserve_release(&c->dir->output->reserve));
	if (st != OK)
		return st;
	f->has_losses = true;
	if (fstat(fd, &before) != 0)
		st = E_IO;
	else
		st = append_line(fd, before.st_size, line, n);
	while (st == E_NOSPC && reserve_release(&c->dir->output->reserve))
		st = append_line(fd, before.st_size, line, n);
	dir_close(fd);
	return st;
}

/* Add the size of the file to BYTES, unless it is NULL. Deletion removes the
 * files of the chunk by name, then empty folders; files of others stay. */
static void
delete_file(const struct chunk *c, const char *path, uint64_t *bytes)
{
	const uint64_t n = bytes == NULL ? 0 : dir_file_size(chunk_fd(c), path);
	enum status st = dir_unlink(chunk_fd(c), path);

	if (st == OK && bytes != NULL)
		*bytes += n;
	if (st != OK && st != E_NOENT)
		log_peer_errno(LOG_WARN, CHUNK_FMT ": cannot remove %s",
		    CHUNK_ARGS(c), path);
}

void
chunk_file_path(const struct chunk_family *f, uint64_t number, bool is_index,
    char out[CHUNK_FILE_PATH_MAX])
{
	char end[32] = "";

	if (f->is_numbered)
		snprintf(end, sizeof(end), "_%" PRIu64, number);
	snprintf(out, CHUNK_FILE_PATH_MAX, "%s/%s%s%s%s", f->path->s,
	    is_index ? "index/" : "", f->channel->s, end,
	    is_index ? ".idx" : "");
}

static void
delete_pair(const struct chunk *c, const struct chunk_family *f, uint64_t n,
    uint64_t *bytes)
{
	char path[CHUNK_FILE_PATH_MAX];

	chunk_file_path(f, n, false, path);
	delete_file(c, path, bytes);
	chunk_file_path(f, n, true, path);
	delete_file(c, path, bytes);
}

void
chunk_replace_file(struct chunk *c, struct chunk_family *f, uint64_t number)
{
	uint64_t bytes = 0;

	delete_pair(c, f, number, &bytes);
	chunk_count(c, -(int64_t)bytes);
}

void
chunk_delete_file(struct chunk *c, struct chunk_family *f, uint64_t number)
{
	/* Never delete a file that this family did not create. */
	if (number >= f->n_files)
		return;
	chunk_replace_file(c, f, number);
	if (f->n_gone == number)
		f->n_gone++;
}

/* Remove the folders of PATH, from the deepest up, until one is not empty. */
static void
remove_folders(const struct chunk *c, const struct relpath *path)
{
	char folder[RELPATH_MAX + sizeof("/index")];
	char *slash;

	snprintf(folder, sizeof(folder), "%s/index", path->s);
	(void)dir_remove(chunk_fd(c), folder);
	snprintf(folder, sizeof(folder), "%s", path->s);
	do {
		if (dir_remove(chunk_fd(c), folder) != OK)
			return; /* not empty: it has other files */
		slash = strrchr(folder, '/');
		if (slash != NULL)
			*slash = '\0';
	} while (slash != NULL);
}

static void
delete_losses(const struct chunk *c, const struct chunk_family *f)
{
	char path[2 * RELPATH_MAX];

	if (!f->has_losses)
		return;
	snprintf(path, sizeof(path), "%s/" CHUNK_LOSSES, f->path->s);
	delete_file(c, path, NULL);
}

static void
drop_family(struct chunk *c, struct chunk_family *f)
{
	delete_losses(c, f);
	remove_folders(c, f->path);
	chunk_free_family(f);
	c->delete_next = 0;
}

static void
remove_own_folder(struct chunk *c)
{
	char name[256];
	enum status st;

	if (c->fd < 0)
		return;
	if (c->place == CHUNK_AT_NAME) {
		/* On disk it has the name of an open chunk. */
		c->is_closed = false;
		st = chunk_name(c, name);
		c->is_closed = true;
	} else {
		snprintf(name, sizeof(name), "%s", c->tmp_name);
		st = OK;
	}
	if (st == OK && dir_remove(c->dir->fd, name) != OK)
		log_peer_errno(LOG_INFO, CHUNK_FMT ": cannot remove %s",
		    CHUNK_ARGS(c), name);
}

static bool
take_one(unsigned *budget)
{
	if (*budget == 0)
		return false;
	--*budget;
	return true;
}

bool
chunk_delete_step(struct chunk *c, unsigned *budget)
{
	struct chunk_family *f;

	if (c->folders != NULL)
		folder_place_delete(c->folders);
	while (!list_empty(&c->families)) {
		f = list_first(&c->families, struct chunk_family, node);
		if (c->delete_next < f->n_gone)
			c->delete_next = f->n_gone;
		for (; c->delete_next < f->n_files; c->delete_next++) {
			if (!take_one(budget))
				return false;
			delete_pair(c, f, c->delete_next, NULL);
		}
		if (!take_one(budget))
			return false;
		drop_family(c, f);
	}
	if (!take_one(budget))
		return false;
	remove_own_folder(c);
	chunk_count(c, -(int64_t)c->bytes);
	return true;
}
