/* SPDX-License-Identifier: MIT */
/*
 * How much of a file is kept:
 *
 * In the boot of the journal, the length that it names, which is exact. In
 * another boot, if the relay synced, the length that was synced. Otherwise
 * nothing is known about the data: it is cut to the journal's length only if
 * the index has records and none of later bytes, so that bytes recorded after
 * the page of the journal was written are kept; and never if the file may have
 * been closed and synced. In each case the index is cut to complete records of
 * bytes that exist.
 *
 * The time is linear in the size of the journal and of the directories below
 * its roots: each is searched once for all files of the journal, however many
 * roots have its path (each stream of a peer before 2.11 has one).
 */
#include "store/recovery.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/idmap.h"
#include "common/log.h"
#include "common/publish.h"
#include "common/relpath.h"
#include "common/thread.h"
#include "ctf/beacons.h"
#include "ctf/index.h"
#include "store/dir.h"
#include "store/index_file.h"
#include "store/journal.h"
#include "store/journal_format.h"

/* Folders below a session's directory are nested as deep as stream paths. */
#define DEPTH_MAX 256

struct journal_copy {
	struct journal_slot *slots; /* NULL: not a journal */
	uint32_t n;
	bool is_of_this_boot; /* the lengths are valid */
	uint32_t sync; /* otherwise, what is valid: enum journal_sync_kind */
};

struct recovery {
	const struct journal_copy *copy;
	struct idmap by_ino; /* files not found yet: inode -> slot */
	unsigned n_cut;
	/* Files created later are not the journal's. */
	uint64_t started;	      /* ns since the epoch */
	const struct published *stop; /* not 0: stop; or NULL */
	char path[8 * 1024];	      /* the current folder, for logs */
};

static bool
is_stopped(const struct recovery *rec)
{
	return rec->stop != NULL && published(rec->stop) != 0;
}

/* Returns NULL if it can be a journal of this user. */
static const char *
why_not_journal(const struct stat *sb)
{
	if (!S_ISREG(sb->st_mode))
		return "not a regular file";
	if (sb->st_uid != geteuid())
		return "it belongs to another user";
	if (sb->st_size > (off_t)JOURNAL_SLOTS_MAX * JOURNAL_SLOT)
		return "too large";
	return NULL;
}

/* Open the file NAME if it can be a journal of this user. Returns -1 if it
 * cannot, with the reason in *WHY; *WHY is NULL if the file is gone. */
static int
open_journal(int base_fd, const char *name, const char **why)
{
	struct stat sb;
	int fd;

	*why = NULL;
	/* Opening a device or a FIFO may have side effects. */
	if (fstatat(base_fd, name, &sb, AT_SYMLINK_NOFOLLOW) != 0)
		return -1;
	*why = why_not_journal(&sb);
	if (*why != NULL)
		return -1;
	fd = openat(
	    base_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		if (errno != ENOENT)
			*why = "it cannot be opened";
		return -1;
	}
	if (fstat(fd, &sb) == 0)
		*why = why_not_journal(&sb);
	if (*why == NULL)
		return fd;
	close(fd);
	return -1;
}

static uint64_t
since_epoch(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * NS_PER_S + (uint64_t)ts->tv_nsec;
}

/* Was the file created in this boot? For journals without the id of a boot. */
static bool
was_created_in_this_boot(int fd)
{
	struct timespec now, up;
	struct dir_id id;
	struct stat sb;

	if (dir_identify(&id, fd) != OK || fstat(fd, &sb) != 0 ||
	    clock_gettime(CLOCK_REALTIME, &now) != 0 ||
	    clock_gettime(CLOCK_BOOTTIME, &up) != 0)
		return false;
	if (id.born == 0)
		id.born = since_epoch(&sb.st_ctim);
	return id.born + since_epoch(&up) >= since_epoch(&now);
}

static bool
is_of_this_boot(const struct journal_slot *head, int fd)
{
	char boot[JOURNAL_BOOT];

	journal_boot(boot);
	if (boot[0] == '\0' || head->head.boot[0] == '\0')
		return was_created_in_this_boot(fd);
	return memcmp(head->head.boot, boot, JOURNAL_BOOT) == 0;
}

/* Returns false if it cannot be read now; logged. A file that is not a journal
 * gives an empty copy. The caller frees SLOTS. */
static bool
load_journal(struct journal_copy *copy, int fd, const char *name)
{
	const struct journal_slot *head;
	struct stat sb;
	size_t n;

	*copy = (struct journal_copy){ 0 };
	if (fstat(fd, &sb) != 0 || sb.st_size < JOURNAL_SLOT)
		return true;
	copy->n = (uint32_t)((size_t)sb.st_size / JOURNAL_SLOT);
	n = (size_t)copy->n * JOURNAL_SLOT;
	copy->slots = malloc(n);
	errno = ENOMEM;
	if (copy->slots == NULL || pread(fd, copy->slots, n, 0) != (ssize_t)n) {
		log_errno(LOG_ERROR, "recovery: cannot read %s", name);
		free(copy->slots);
		return false;
	}
	head = &copy->slots[0];
	if (head->kind != JOURNAL_HEAD || head->head.magic != JOURNAL_MAGIC) {
		free(copy->slots);
		copy->slots = NULL;
		return true;
	}
	copy->is_of_this_boot = is_of_this_boot(head, fd);
	copy->sync = head->head.sync;
	return true;
}

struct found_file {
	int fd; /* -1: none */
	uint64_t size;
	const struct journal_slot *slot; /* NULL: not in the journal */
	char name[NAME_MAX + sizeof("index/.idx")]; /* for logs */
};

/* Is FD the file of SLOT? *SIZE is set. SLOT may be NULL: any regular file is.
 * */
static bool
is_in_journal(const struct recovery *rec, int fd,
    const struct journal_slot *slot, uint64_t *size)
{
	struct dir_id id;
	struct stat sb;

	if (fstat(fd, &sb) != 0 || !S_ISREG(sb.st_mode) ||
	    dir_identify(&id, fd) != OK)
		return false;
	*size = (uint64_t)sb.st_size;
	if (slot == NULL)
		return true;
	if (id.ino != slot->file.ino)
		return false;
	return slot->file.born == 0 || id.born == 0
		   ? id.born <= rec->started
		   : id.born == slot->file.born;
}

static void
close_found(struct found_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

static void
cut(struct recovery *rec, struct found_file *f, uint64_t to)
{
	if (f->fd < 0 || f->size <= to)
		return;
	if (ftruncate(f->fd, (off_t)to) != 0) {
		log_errno(LOG_ERROR, "recovery: file=%s/%s cannot be truncated",
		    rec->path, f->name);
		return;
	}
	log_warn("recovery: file=%s/%s cut from %" PRIu64 " to %" PRIu64
		 " bytes, the end of its last complete part",
	    rec->path, f->name, f->size, to);
	f->size = to;
	rec->n_cut++;
}

/* The length that the journal guarantees; UINT64_MAX: unknown. */
static uint64_t
known_length(const struct recovery *rec, const struct journal_slot *slot)
{
	if (slot != NULL && rec->copy->is_of_this_boot)
		return slot->file.length;
	if (slot != NULL && rec->copy->sync == JOURNAL_SYNCED)
		return slot->file.synced;
	return UINT64_MAX;
}

/* Write the header of the index file if it is missing or damaged: readers
 * refuse the file without it. Records after a damaged header cannot be read. */
static bool
ensure_header(struct recovery *rec, struct found_file *index, unsigned *minor)
{
	uint8_t header[INDEX_HEADER_LEN];

	if (index->size >= sizeof(header) &&
	    pread(index->fd, header, sizeof(header), 0) ==
		(ssize_t)sizeof(header) &&
	    index_header_decode(header, minor) == OK)
		return true;
	cut(rec, index, 0);
	*minor = 1;
	index_header_encode(header, *minor);
	if (index->size > 0 || pwrite(index->fd, header, sizeof(header), 0) !=
				   (ssize_t)sizeof(header)) {
		log_errno(LOG_ERROR,
		    "recovery: file=%s/%s: cannot write a header", rec->path,
		    index->name);
		return false;
	}
	index->size = sizeof(header);
	return true;
}

/* Cut the index file to complete records of a data file of SIZE bytes. *END is
 * set to the end of the bytes that have records. */
static void
cut_index(struct recovery *rec, struct found_file *index, uint64_t size,
    uint64_t *end)
{
	struct index_record last;
	unsigned minor;
	uint64_t n;

	*end = 0;
	if (!ensure_header(rec, index, &minor))
		return;
	n = (index->size - INDEX_HEADER_LEN) / index_record_len(minor);
	while (n > 0 &&
	       !index_file_is_whole(index->fd, n, minor, size, &last) &&
	       !rec->copy->is_of_this_boot) {
		if (is_stopped(rec))
			return;
		n--;
	}
	cut(rec, index, INDEX_HEADER_LEN + n * index_record_len(minor));
	if (n > 0)
		*end = index_end(&last);
}

static bool
open_found(struct recovery *rec, struct found_file *f, int dir_fd)
{
	if (dir_open_file(&f->fd, dir_fd, f->name, O_RDWR | O_NONBLOCK) != OK)
		return false;
	if (is_in_journal(rec, f->fd, f->slot, &f->size))
		return true;
	close_found(f);
	return false;
}

/* Open the index file of the data file NAME. */
static void
open_index(
    struct recovery *rec, struct found_file *f, int dir_fd, const char *name)
{
	struct stat sb;

	(void)snprintf(f->name, sizeof(f->name), "index/%s.idx", name);
	if (open_found(rec, f, dir_fd) && fstat(f->fd, &sb) == 0)
		f->slot = idmap_remove(&rec->by_ino, sb.st_ino);
	if (f->fd >= 0 && !is_in_journal(rec, f->fd, f->slot, &f->size))
		f->slot = NULL;
}

/* Cut the regular file NAME in the folder DIR_FD, which has the inode of SLOT,
 * and its index file. When stopped, it may leave them as they are: the journal
 * stays, too. */
static void
recover_file(struct recovery *rec, int dir_fd, const char *name,
    const struct journal_slot *slot)
{
	struct found_file data = { .fd = -1, .slot = slot };
	struct found_file index = { .fd = -1 };
	uint64_t end;

	(void)snprintf(data.name, sizeof(data.name), "%s", name);
	if (!open_found(rec, &data, dir_fd))
		return;
	cut(rec, &data, known_length(rec, slot));
	open_index(rec, &index, dir_fd, name);
	if (index.fd >= 0) {
		cut(rec, &index, known_length(rec, index.slot));
		cut_index(rec, &index, data.size, &end);
		if (rec->copy->sync == JOURNAL_UNSYNCED && end > 0 &&
		    end <= slot->file.length)
			cut(rec, &data, slot->file.length);
	}
	close_found(&data);
	close_found(&index);
}

static void search(struct recovery *rec, int take_fd, unsigned depth);

static void
search_folder(
    struct recovery *rec, int dir_fd, const char *name, unsigned depth)
{
	size_t len = strlen(rec->path);
	int fd;

	fd = openat(
	    dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	snprintf(rec->path + len, sizeof(rec->path) - len, "/%s", name);
	search(rec, fd, depth);
	rec->path[len] = '\0';
}

static void
recover_if_wanted(
    struct recovery *rec, int dir_fd, const char *name, uint64_t ino)
{
	const struct journal_slot *slot = idmap_find(&rec->by_ino, ino);

	/* An index file is opened when its data file is found. */
	if (slot == NULL || slot->file.is_index != 0)
		return;
	(void)idmap_remove(&rec->by_ino, ino);
	recover_file(rec, dir_fd, name, slot);
}

static void
visit(struct recovery *rec, int dir_fd, const char *name, unsigned depth)
{
	struct stat sb;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    fstatat(dir_fd, name, &sb, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	if (S_ISDIR(sb.st_mode) && depth < DEPTH_MAX)
		search_folder(rec, dir_fd, name, depth + 1);
	else if (S_ISREG(sb.st_mode))
		recover_if_wanted(rec, dir_fd, name, sb.st_ino);
}

/* Search the folder TAKE_FD and those below for the wanted inodes. */
static void
search(struct recovery *rec, int take_fd, unsigned depth)
{
	struct dirent *e;
	DIR *d;

	d = fdopendir(take_fd);
	if (d == NULL) {
		close(take_fd);
		return;
	}
	while (
	    rec->by_ino.n > 0 && !is_stopped(rec) && (e = readdir(d)) != NULL)
		visit(rec, dirfd(d), e->d_name, depth);
	closedir(d);
}

/* The path of the root in slot N. Returns false if the chain is not valid. */
static bool
root_path(const struct journal_copy *copy, uint32_t n, char path[RELPATH_MAX])
{
	size_t len = 0;

	while (n != 0) {
		const struct journal_slot *s;

		if (n >= copy->n)
			return false;
		s = &copy->slots[n];
		if (s->piece_len > JOURNAL_PIECE ||
		    len + s->piece_len >= RELPATH_MAX)
			return false;
		memcpy(path + len, s->piece, s->piece_len);
		len += s->piece_len;
		n = s->next;
		/* Each piece must add bytes: otherwise a forged chain could be
		 * endless. */
		if (n != 0 && s->piece_len == 0)
			return false;
	}
	path[len] = '\0';
	return len > 0;
}

/* Files that were deleted stay in the journal until they are synced. A later
 * file may have got the inode of one. */
static enum status
want_file(struct recovery *rec, struct journal_slot *slot)
{
	const uint64_t ino = slot->file.ino;
	const struct journal_slot *other = idmap_find(&rec->by_ino, ino);

	if (other != NULL && other->file.born < slot->file.born)
		(void)idmap_remove(&rec->by_ino, ino);
	return idmap_insert(&rec->by_ino, ino, slot);
}

/* Recover the files of the journal. Every root may have a path of the greatest
 * length, so this can be stopped. */
static void
recover_copy(struct recovery *rec, int base_fd)
{
	const struct journal_copy *copy = rec->copy;
	struct idmap searched = { 0 }; /* keys of paths */
	enum status st = OK;
	int fd;

	for (uint32_t i = 1; i < copy->n && st != E_NOMEM; i++)
		if (copy->slots[i].kind == JOURNAL_FILE)
			st = want_file(rec, &copy->slots[i]);
	for (uint32_t i = 1; i < copy->n && st != E_NOMEM &&
			     rec->by_ino.n > 0 && !is_stopped(rec);
	     i++) {
		if (copy->slots[i].kind != JOURNAL_ROOT ||
		    !root_path(copy, i, rec->path))
			continue;
		st = idmap_insert(
		    &searched, idmap_key(rec->path, strlen(rec->path)), rec);
		if (st != OK || dir_open(&fd, base_fd, rec->path) != OK)
			continue;
		(void)dir_unlink(fd, BEACONS_FILE);
		search(rec, fd, 0);
	}
	if (st == E_NOMEM)
		log_error("recovery: out of memory");
	idmap_free(&searched);
	idmap_free(&rec->by_ino);
}

/* Returns true if the journal was handled and may be removed. */
static bool
recover_opened(struct recovery *rec, int base_fd, int fd, const char *name)
{
	struct journal_copy copy;

	if (!load_journal(&copy, fd, name))
		return false;
	rec->copy = &copy;
	if (copy.slots != NULL)
		recover_copy(rec, base_fd);
	free(copy.slots);
	return !is_stopped(rec);
}

static void
recover_journal(
    struct recovery *rec, int base_fd, const char *name, unsigned *n_ignored)
{
	const char *why;
	int fd;

	fd = open_journal(base_fd, name, &why);
	if (fd < 0) {
		/* Log one line, however many there are. */
		if (why != NULL && (*n_ignored)++ == 0)
			log_warn("recovery: %s is not used as a journal: %s",
			    name, why);
		return;
	}
	/* The file is locked while the relay that owns it is running. */
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    recover_opened(rec, base_fd, fd, name))
		unlinkat(base_fd, name, 0);
	close(fd);
}

unsigned
recovery_run(int base_fd, const struct published *stop)
{
	struct recovery rec = { .started = clock_wall_ns(), .stop = stop };
	unsigned n_ignored = 0;
	struct dirent *e;
	int copy;
	DIR *d;

	copy = openat(base_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = copy < 0 ? NULL : fdopendir(copy);
	if (d == NULL) {
		log_errno(
		    LOG_ERROR, "recovery: cannot read the output directory");
		if (copy >= 0)
			close(copy);
		return 0;
	}
	while (!is_stopped(&rec) && (e = readdir(d)) != NULL)
		if (strncmp(e->d_name, JOURNAL_PREFIX,
			sizeof(JOURNAL_PREFIX) - 1) == 0)
			recover_journal(&rec, base_fd, e->d_name, &n_ignored);
	closedir(d);
	return rec.n_cut;
}

struct recovery_thread {
	pthread_t thread;
	struct published stop;
	int base_fd;
	int ended_fd; /* an eventfd */
	void (*begin)(void *arg);
	void *arg;
	struct published *is_running;
};

static void *
run_recovery(void *arg)
{
	struct recovery_thread *r = arg;

	r->begin(r->arg);
	(void)recovery_run(r->base_fd, &r->stop);
	if (r->is_running != NULL)
		publish(r->is_running, 0);
	(void)eventfd_write(r->ended_fd, 1);
	return NULL;
}

static struct recovery_thread *
recovery_create(int base_fd, void (*begin)(void *arg), void *arg,
    struct published *is_running)
{
	struct recovery_thread *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->base_fd = base_fd;
	r->begin = begin;
	r->arg = arg;
	r->is_running = is_running;
	if (is_running != NULL)
		publish(is_running, 1);
	r->ended_fd = eventfd(0, EFD_CLOEXEC);
	if (r->ended_fd >= 0 && thread_start(&r->thread, run_recovery, r) == 0)
		return r;
	if (r->ended_fd >= 0)
		close(r->ended_fd);
	free(r);
	return NULL;
}

void
recovery_start(struct recovery_thread **out, int base_fd, uint64_t wait_ns,
    void (*begin)(void *arg), void *arg, struct published *is_running)
{
	struct recovery_thread *r = recovery_create(
	    base_fd, begin, arg, is_running);
	struct pollfd ended = { .events = POLLIN };

	*out = NULL;
	if (r == NULL) {
		(void)recovery_run(base_fd, NULL);
		if (is_running != NULL)
			publish(is_running, 0);
		return;
	}
	ended.fd = r->ended_fd;
	if (poll(&ended, 1, (int)(wait_ns / NS_PER_MS)) == 1) {
		recovery_stop(r);
		return;
	}
	log_info("recovery continues while the relay listens");
	*out = r;
}

void
recovery_stop(struct recovery_thread *r)
{
	if (r == NULL)
		return;
	publish(&r->stop, 1);
	pthread_join(r->thread, NULL);
	close(r->ended_fd);
	free(r);
}
