/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/idmap.h"
#include "common/log.h"
#include "store/dir.h"
#include "store/journal.h"
#include "store/journal_format.h"

/* Folders below a session's directory nest as deep as stream paths do. */
#define DEPTH_MAX 256

struct recovery {
	const struct journal_slot *slots;
	uint32_t n_slots;
	struct idmap by_ino; /* of the current root; inode -> slot */
	unsigned n_cut;
	char path[2 * RELPATH_MAX]; /* of the current folder, for logs */
};

static void
cut(struct recovery *rec, int dir_fd, const char *name,
    const struct journal_slot *s, uint64_t size)
{
	int fd;

	fd = openat(dir_fd, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)s->file.length) != 0) {
		log_errno(LOG_ERROR, "recovery: file=%s/%s cannot be cut",
		    rec->path, name);
	} else {
		log_warn("recovery: file=%s/%s cut from %" PRIu64 " to %" PRIu64
			 " bytes, the end of its last whole part",
		    rec->path, name, size, s->file.length);
		rec->n_cut++;
	}
	if (fd >= 0)
		close(fd);
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

/* Look for the wanted inodes in the folder TAKE_FD and below. */
static void
search(struct recovery *rec, int take_fd, unsigned depth)
{
	const struct journal_slot *s;
	struct dirent *e;
	struct stat sb;
	DIR *d;

	d = fdopendir(take_fd);
	if (d == NULL) {
		close(take_fd);
		return;
	}
	while (rec->by_ino.n > 0 && (e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 ||
		    strcmp(e->d_name, "..") == 0 ||
		    fstatat(dirfd(d), e->d_name, &sb, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (S_ISDIR(sb.st_mode) && depth < DEPTH_MAX) {
			search_folder(rec, dirfd(d), e->d_name, depth + 1);
		} else if (S_ISREG(sb.st_mode)) {
			s = idmap_remove(&rec->by_ino, sb.st_ino);
			if (s != NULL && (uint64_t)sb.st_size > s->file.length)
				cut(rec, dirfd(d), e->d_name, s,
				    (uint64_t)sb.st_size);
		}
	}
	closedir(d);
}

/* The path of the root in slot N; false: the chain is not valid. */
static bool
root_path(const struct recovery *rec, uint32_t n, char path[RELPATH_MAX])
{
	size_t len = 0;

	while (n != 0) {
		const struct journal_slot *s;

		if (n >= rec->n_slots)
			return false;
		s = &rec->slots[n];
		if (s->piece_len > JOURNAL_PIECE ||
		    len + s->piece_len >= RELPATH_MAX)
			return false;
		memcpy(path + len, s->piece, s->piece_len);
		len += s->piece_len;
		n = s->next;
		/* Every round must add bytes: otherwise a forged chain could be
		 * endless. */
		if (n != 0 && s->piece_len == 0)
			return false;
	}
	path[len] = '\0';
	return len > 0;
}

static void
recover_root(struct recovery *rec, int base_fd, uint32_t root)
{
	int fd;

	idmap_init(&rec->by_ino);
	for (uint32_t i = 1; i < rec->n_slots; i++) {
		const struct journal_slot *s = &rec->slots[i];

		if (s->kind == JOURNAL_FILE && s->root == root &&
		    idmap_insert(&rec->by_ino, s->file.ino,
			(void *)(uintptr_t)s) == E_NOMEM)
			log_error("recovery: out of memory");
	}
	if (rec->by_ino.n > 0 && root_path(rec, root, rec->path) &&
	    dir_open(&fd, base_fd, rec->path) == OK)
		search(rec, fd, 0);
	idmap_free(&rec->by_ino);
}

static unsigned
recover_one(int base_fd, int fd, const char *name)
{
	struct recovery rec = { 0 };
	struct stat sb;
	void *p;

	if (fstat(fd, &sb) != 0 || !S_ISREG(sb.st_mode) ||
	    sb.st_size < JOURNAL_SLOT)
		return 0;
	p = mmap(NULL, (size_t)sb.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED) {
		log_errno(LOG_ERROR, "recovery: %s: mmap", name);
		return 0;
	}
	rec.slots = p;
	rec.n_slots = (uint32_t)((size_t)sb.st_size / JOURNAL_SLOT);
	if (rec.slots[0].kind == JOURNAL_HEAD &&
	    rec.slots[0].head.magic == JOURNAL_MAGIC)
		for (uint32_t i = 1; i < rec.n_slots; i++)
			if (rec.slots[i].kind == JOURNAL_ROOT)
				recover_root(&rec, base_fd, i);
	munmap(p, (size_t)sb.st_size);
	return rec.n_cut;
}

unsigned
journal_recover(int base_fd)
{
	unsigned n_cut = 0;
	struct dirent *e;
	int fd, copy;
	DIR *d;

	copy = openat(base_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = copy < 0 ? NULL : fdopendir(copy);
	if (d == NULL) {
		log_errno(LOG_ERROR, "recovery: output directory");
		if (copy >= 0)
			close(copy);
		return 0;
	}
	while ((e = readdir(d)) != NULL) {
		if (strncmp(e->d_name, JOURNAL_PREFIX,
			sizeof(JOURNAL_PREFIX) - 1) != 0)
			continue;
		fd = openat(base_fd, e->d_name,
		    O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			continue;
		/* The relay that owns the journal is running while the file is
		 * locked. */
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			n_cut += recover_one(base_fd, fd, e->d_name);
			unlinkat(base_fd, e->d_name, 0);
		}
		close(fd);
	}
	closedir(d);
	return n_cut;
}
