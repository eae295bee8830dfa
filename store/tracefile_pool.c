/* SPDX-License-Identifier: MIT */
/* The descriptors of tracefiles: when they are used up, those of the files that
 * were idle longest are closed. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fds.h"
#include "common/log.h"
#include "common/relpath.h"
#include "store/chunk.h"
#include "store/dir.h"
#include "store/journal.h"
#include "store/output.h"
#include "store/session_dir.h"
#include "store/store.h"
#include "store/tracefile_internal.h"

/* Descriptors that are lent at a time. When they are wanted back, half as many
 * files are closed per cycle, which takes 0.1 ms. */
#define LENT_STEP 32
/* How often to check whether they are wanted back. Sessions that begin
 * meanwhile have a quarter of their share. */
#define LENT_LOOK_NS (250 * NS_PER_MS)

enum status
tracefile_sync_packet(
    const struct tracefile *tf, const struct tracefile_file *f)
{
	if (!store_syncs_packets(tf->store))
		return OK;
	if (fdatasync(f->fd) == 0)
		return OK;
	return errno_is_disk_full(errno) ? E_NOSPC : E_IO;
}

static void
sync_failed(struct tracefile *tf)
{
	store_sync_failed(
	    tf->store, tf->family->path->s, tf->family->channel->s);
}

enum status
tracefile_synced(struct tracefile *tf, struct tracefile_file *f)
{
	struct journal *j = tf->dir->output->journal;

	if (!store_syncs_packets(tf->store))
		return OK;
	journal_set_synced(j, &f->journal, f->length);
	/* The journal is synced with the index, since both are needed. */
	if ((f == &tf->data && tf->index.is_made) || journal_sync(j) == OK)
		return OK;
	sync_failed(tf);
	return E_IO;
}

static void
sync_at_close(struct tracefile *tf, const struct tracefile_file *f)
{
	if (f->fd >= 0 && fdatasync(f->fd) != 0)
		sync_failed(tf);
}

static void
close_fd(struct tracefile *tf, struct tracefile_file *f)
{
	if (f->fd < 0)
		return;
	close(f->fd);
	f->fd = -1;
	tf->store->n_open--;
}

void
tracefile_close_fds(struct tracefile *tf)
{
	/* Sync also if only the descriptors are closed: nothing does it
	 * later. */
	if (tf->store->config.sync == STORE_SYNC_CLOSE && !tf->is_discarded &&
	    !tf->store->is_ending) {
		sync_at_close(tf, &tf->data);
		sync_at_close(tf, &tf->index);
	}
	close_fd(tf, &tf->data);
	close_fd(tf, &tf->index);
	list_del(&tf->open_node);
}

/* May two more descriptors be opened? */
static bool
may_open_two(struct store *s)
{
	if (s->n_open + 2 <= s->config.max_files + s->n_lent)
		return true;
	if (!fds_lend(LENT_STEP))
		return false;
	s->n_lent += LENT_STEP;
	return true;
}

uint64_t
tracefile_pool_tick(struct store *s)
{
	if (s->n_lent == 0)
		return UINT64_MAX;
	if (fds_are_wanted()) {
		for (unsigned i = 0;
		     i < LENT_STEP / 2 && !list_empty(&s->open_files) &&
		     s->n_open + LENT_STEP > s->config.max_files + s->n_lent;
		     i++)
			tracefile_close_fds(list_first(
			    &s->open_files, struct tracefile, open_node));
	}
	if (s->n_open + LENT_STEP <= s->config.max_files + s->n_lent) {
		s->n_lent -= LENT_STEP;
		fds_lent_back(LENT_STEP);
	}
	return fds_are_wanted() ? 0 : LENT_LOOK_NS;
}

/* Close the files that were idle longest until TF may have its descriptors. */
static void
take_descriptors(struct tracefile *tf)
{
	struct store *s = tf->store;

	list_del(&tf->open_node);
	while (!may_open_two(s) && !list_empty(&s->open_files))
		tracefile_close_fds(
		    list_first(&s->open_files, struct tracefile, open_node));
	list_append(&s->open_files, &tf->open_node);
}

static enum status
reopen(struct tracefile *tf, struct tracefile_file *f, const char *path)
{
	const uint64_t size = f->length + (f == &tf->data ? tf->ahead : 0);
	struct stat sb;
	enum status st;
	bool is_same;

	if (tracefile_lost_place(tf))
		return E_NOENT;
	st = dir_open_file(&f->fd, chunk_fd(tf->chunk), path, O_RDWR);
	if (st == E_NOENT)
		return st;
	if (st != OK) {
		log_peer_errno(LOG_ERROR, "%s/%s: cannot open it again",
		    session_dir_text(tf->chunk->dir), path);
		return E_IO;
	}
	tf->store->n_open++;
	/* An inode number may be used again, so compare the length too. Leave
	 * the file of another program alone. */
	is_same = fstat(f->fd, &sb) == 0 && sb.st_ino == f->journal.ino;
	if (is_same && f->has_tail && (uint64_t)sb.st_size > size)
		is_same = ftruncate(f->fd, (off_t)size) == 0;
	else if (is_same)
		is_same = (uint64_t)sb.st_size == size;
	f->has_tail = false;
	if (!is_same) {
		log_peer(LOG_ERROR,
		    "%s/%s: another file has replaced it; left as it is",
		    session_dir_text(tf->chunk->dir), path);
		close_fd(tf, f);
		return E_IO;
	}
	return OK;
}

enum status
tracefile_ensure_open(struct tracefile *tf)
{
	char path[CHUNK_FILE_PATH_MAX];
	enum status st = OK;

	if (tf->store->open_files.prev != &tf->open_node)
		take_descriptors(tf);
	/* The index first: when tails are cut off, it is never ahead of the
	 * data. */
	if (tf->index.fd < 0 && tf->index.is_made) {
		chunk_file_path(tf->family, tf->number, true, path);
		st = reopen(tf, &tf->index, path);
	}
	if (st == OK && tf->data.fd < 0 && tf->data.is_made) {
		chunk_file_path(tf->family, tf->number, false, path);
		st = reopen(tf, &tf->data, path);
	}
	return st;
}

/* Create the file, and its folder if it is missing: *IS_NEW. */
static enum status
create_file(int *fd, int base, const char *path, bool *is_new)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL;
	enum status st = dir_open_file(fd, base, path, flags);
	char folder[CHUNK_FILE_PATH_MAX];
	char *slash;

	*is_new = st == E_NOENT;
	if (st != E_NOENT)
		return st;
	(void)snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (slash == NULL)
		return st;
	*slash = '\0';
	st = dir_create(base, folder);
	if (st != OK)
		st = dir_create_path(base, folder);
	return st != OK ? st : dir_open_file(fd, base, path, flags);
}

/* Have the name PATH on the disk. *HAS_FOLDER: that of its folder is. */
static enum status
sync_folder(struct tracefile *tf, const char *path, bool *has_folder)
{
	char folder[CHUNK_FILE_PATH_MAX];
	char *slash;
	enum status st;

	(void)snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	*(slash == NULL ? folder : slash) = '\0';
	if (*has_folder)
		return dir_sync_one(chunk_fd(tf->chunk), folder);
	st = dir_sync(chunk_fd(tf->chunk), folder);
	*has_folder = st == OK;
	return st;
}

/* Sync the names of a new file, and the journal entry that says that its bytes
 * are not synced. For a data file the journal is synced with its index file,
 * which is created before the first byte. IS_NEW: its folder was created, too.
 * */
static enum status
sync_name(struct tracefile *tf, const struct tracefile_file *f,
    const char *path, bool is_new)
{
	const bool is_data = f == &tf->data;
	bool *has_folder = is_data ? &tf->family->has_data_folder
				   : &tf->family->has_index_folder;

	if (!store_syncs_names(tf->store))
		return OK;
	*has_folder &= !is_new;
	if (store_is_late_to_sync(tf->store))
		return OK;
	/* When the daemon stops, the last sync includes the names. */
	if ((tf->store->is_ending || sync_folder(tf, path, has_folder) == OK) &&
	    ((is_data && tf->index_format != TRACEFILE_NO_INDEX) ||
		journal_sync(tf->dir->output->journal) == OK))
		return OK;
	sync_failed(tf);
	return E_IO;
}

/* The caller creates the directory again, or does not need the file. On a full
 * disk it tries again with each packet. */
static void
log_creation(struct tracefile *tf, enum status st, const char *path)
{
	if (st == E_NOSPC &&
	    !log_ratelimit(&tf->store->last_full_log, LOG_AGAIN_NS))
		return;
	log_peer_errno(st == E_NOENT ? LOG_INFO : LOG_ERROR,
	    "%s/%s: cannot create it", session_dir_text(tf->chunk->dir), path);
}

/* F is open at PATH: count it, and enter it in the journal, which searches the
 * session's folder, or, if that is the whole output directory, the folder of
 * the stream. */
static enum status
enter_file(struct tracefile *tf, struct tracefile_file *f, const char *path)
{
	struct dir_id id;

	tf->store->n_open++;
	if (dir_identify(&id, f->fd) != OK) {
		log_peer_errno(LOG_ERROR, "%s/%s: cannot stat it",
		    session_dir_text(tf->chunk->dir), path);
		close_fd(tf, f);
		return E_IO;
	}
	f->is_made = true;
	journal_add_file(tf->dir->output->journal, &f->journal,
	    tf->chunk->is_base ? &tf->family->journal_root
			       : &tf->dir->journal_root,
	    &id, f == &tf->index);
	return OK;
}

enum status
tracefile_make(struct tracefile *tf, struct tracefile_file *f, const char *path)
{
	enum status st;
	bool is_new = false, made;

	take_descriptors(tf);
	do {
		st = create_file(&f->fd, chunk_fd(tf->chunk), path, &made);
		is_new |= made;
	} while (st == E_NOSPC && reserve_release(tracefile_reserve(tf)));
	if (st != OK) {
		log_creation(tf, st, path);
		return st;
	}
	st = enter_file(tf, f, path);
	if (st != OK) {
		/* It would make the next attempt fail. */
		(void)dir_unlink(chunk_fd(tf->chunk), path);
		return st;
	}
	return sync_name(tf, f, path, is_new);
}

enum status
tracefile_find(struct tracefile *tf, struct tracefile_file *f, const char *path)
{
	enum status st;

	take_descriptors(tf);
	st = dir_open_file(
	    &f->fd, chunk_fd(tf->chunk), path, O_RDWR | O_NONBLOCK);
	return st == OK ? enter_file(tf, f, path) : st;
}

void
tracefile_unmake(
    struct tracefile *tf, struct tracefile_file *f, const char *path)
{
	close_fd(tf, f);
	journal_remove_file(tf->dir->output->journal, &f->journal);
	if (!tracefile_lost_place(tf))
		(void)dir_unlink(chunk_fd(tf->chunk), path);
	*f = (struct tracefile_file){ .fd = -1 };
}

enum status
tracefile_write_all(
    int fd, struct iovec *iov, int n_iov, uint64_t offset, uint64_t *written)
{
	ssize_t n;

	*written = 0;
	while (n_iov > 0) {
		n = pwritev(fd, iov, n_iov, (off_t)(offset + *written));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno_is_disk_full(errno))
			return E_NOSPC;
		if (n <= 0)
			return E_IO;
		*written += (uint64_t)n;
		for (; n_iov > 0 && (size_t)n >= iov->iov_len; iov++, n_iov--)
			n -= (ssize_t)iov->iov_len;
		if (n_iov > 0) {
			iov->iov_base = (char *)iov->iov_base + n;
			iov->iov_len -= (size_t)n;
		}
	}
	return OK;
}

void
tracefile_cut(const struct tracefile *tf, const struct tracefile_file *f,
    const char *what)
{
	const bool is_full = errno_is_disk_full(errno);
	struct store *s = tf->store;

	s->write_errors++;
	if (is_full ? log_ratelimit(&s->last_full_log, LOG_AGAIN_NS)
		    : log_ratelimit(&s->last_error_log, NS_PER_S))
		log_peer_errno(LOG_ERROR,
		    TRACEFILE_FMT ": cannot write %s at %" PRIu64,
		    TRACEFILE_ARGS(tf), what, f->length);
	if (is_full)
		reserve_disk_full(tracefile_reserve(tf));
	if (ftruncate(f->fd, (off_t)f->length) != 0)
		log_peer_errno(LOG_ERROR,
		    TRACEFILE_FMT ": cannot truncate the file",
		    TRACEFILE_ARGS(tf));
}
