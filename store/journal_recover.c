/* SPDX-License-Identifier: MIT */
/*
 * Linear in what the journal holds and in what lies below its roots: each
 * folder is searched once for all files that are wanted there, however many
 * roots have its path (each stream of a peer before 2.11 has one).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/relpath.h"
#include "store/dir.h"
#include "store/journal.h"
#include "store/journal_cut.h"

/* Folders below a session's directory nest as deep as stream paths do. */
#define DEPTH_MAX 256

/* The files of one path: the first slot, and for each slot the next. */
struct groups {
	struct idmap by_path; /* key of the path -> slot of the first root */
	uint32_t *root;	      /* of a root's slot: the first root of its path */
	uint32_t *first;      /* of a first root: a file's slot, 0: none */
	uint32_t *next;	      /* of a file's slot */
};

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

/* An index file is looked for when its data file is found. */
static bool
is_index(const struct recovery *rec, const struct journal_slot *slot,
    const char *name)
{
	const char *folder = strrchr(rec->path, '/');
	const char *end = strrchr(name, '.');

	if (!rec->copy->is_old)
		return slot->file.is_index != 0;
	return folder != NULL && strcmp(folder, "/index") == 0 && end != NULL &&
	       strcmp(end, ".idx") == 0;
}

static void
look_at(struct recovery *rec, int dir_fd, const char *name, uint64_t ino)
{
	const struct journal_slot *slot = idmap_find(&rec->by_ino, ino);

	if (slot == NULL || is_index(rec, slot, name))
		return;
	(void)idmap_remove(&rec->by_ino, ino);
	journal_cut(rec, dir_fd, name, slot);
}

/*
 * One entry of the folder D. Most file systems tell the inode and the type with
 * the name; *IS_TRUE: this one does, as its own entry "." has shown.
 */
static void
visit(struct recovery *rec, DIR *d, const struct dirent *e, unsigned depth,
    bool *is_true)
{
	struct stat sb = { .st_ino = e->d_ino };

	if (strcmp(e->d_name, ".") == 0)
		*is_true = fstat(dirfd(d), &sb) == 0 && sb.st_ino == e->d_ino;
	if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
		return;
	if (*is_true && e->d_type != DT_UNKNOWN)
		sb.st_mode = (mode_t)DTTOIF(e->d_type);
	else if (fstatat(dirfd(d), e->d_name, &sb, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	if (S_ISDIR(sb.st_mode) && depth < DEPTH_MAX)
		search_folder(rec, dirfd(d), e->d_name, depth + 1);
	else if (S_ISREG(sb.st_mode))
		look_at(rec, dirfd(d), e->d_name, sb.st_ino);
}

/* Look for the wanted inodes in the folder TAKE_FD and below. */
static void
search(struct recovery *rec, int take_fd, unsigned depth)
{
	bool is_true = false;
	struct dirent *e;
	DIR *d;

	d = fdopendir(take_fd);
	if (d == NULL) {
		close(take_fd);
		return;
	}
	while (rec->by_ino.n > 0 && !recovery_is_stopped(rec) &&
	       (e = readdir(d)) != NULL)
		visit(rec, d, e, depth, &is_true);
	closedir(d);
}

/* The path of the root in slot N; false: the chain is not valid. */
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
		/* Every round must add bytes: otherwise a forged chain could be
		 * endless. */
		if (n != 0 && s->piece_len == 0)
			return false;
	}
	path[len] = '\0';
	return len > 0;
}

/* The slot of the first root that has the path of the root N; 0: it has none,
 * or there is no memory. */
static uint32_t
first_root(struct groups *g, const struct journal_copy *copy, uint32_t n)
{
	char path[RELPATH_MAX];
	const void *first;
	uint64_t key;

	if (!root_path(copy, n, path))
		return 0;
	key = idmap_key(path, strlen(path));
	first = idmap_find(&g->by_path, key);
	if (first != NULL)
		return (uint32_t)(uintptr_t)first;
	return idmap_insert(&g->by_path, key, (void *)(uintptr_t)n) == OK ? n
									  : 0;
}

/* A path may be as long as paths are, and each root may have one: when it is to
 * stop, nobody waits for all of them. */
static void
group(struct groups *g, const struct recovery *rec)
{
	const struct journal_copy *copy = rec->copy;

	for (uint32_t i = 1; i < copy->n && !recovery_is_stopped(rec); i++)
		if (copy->slots[i].kind == JOURNAL_ROOT)
			g->root[i] = first_root(g, copy, i);
	for (uint32_t i = 1; i < copy->n; i++) {
		const struct journal_slot *s = &copy->slots[i];
		uint32_t root;

		if (s->kind != JOURNAL_FILE || s->root >= copy->n)
			continue;
		root = g->root[s->root];
		if (root == 0)
			continue;
		g->next[i] = g->first[root];
		g->first[root] = i;
	}
}

static void
recover_root(
    struct recovery *rec, const struct groups *g, int base_fd, uint32_t root)
{
	int fd;

	idmap_init(&rec->by_ino);
	for (uint32_t i = g->first[root]; i != 0; i = g->next[i]) {
		const struct journal_slot *s = &rec->copy->slots[i];

		if (idmap_insert(&rec->by_ino, s->file.ino,
			(void *)(uintptr_t)s) == E_NOMEM)
			log_error("recovery: out of memory");
	}
	if (rec->by_ino.n > 0 && root_path(rec->copy, root, rec->path) &&
	    dir_open(&fd, base_fd, rec->path) == OK)
		search(rec, fd, 0);
	idmap_free(&rec->by_ino);
}

static void
recover_copy(struct recovery *rec, int base_fd)
{
	const uint32_t n = rec->copy->n;
	uint32_t *numbers = calloc(n, 3 * sizeof(*numbers));
	struct groups g = { 0 };

	if (numbers == NULL) {
		log_error("recovery: out of memory");
		return;
	}
	g.root = numbers;
	g.first = numbers + n;
	g.next = numbers + 2 * (size_t)n;
	idmap_init(&g.by_path);
	group(&g, rec);
	for (uint32_t i = 1; i < n && !recovery_is_stopped(rec); i++)
		if (g.first[i] != 0)
			recover_root(rec, &g, base_fd, i);
	idmap_free(&g.by_path);
	free(numbers);
}

static uint64_t
now_since_epoch(void)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* True: all is done, and the journal may go. */
static bool
recover_one(struct recovery *rec, int base_fd, int fd, const char *name)
{
	struct journal_copy copy;

	if (!journal_load(&copy, fd, name))
		return false;
	rec->copy = &copy;
	if (copy.slots != NULL)
		recover_copy(rec, base_fd);
	free(copy.slots);
	return !recovery_is_stopped(rec);
}

static void
recover_name(
    struct recovery *rec, int base_fd, const char *name, unsigned *n_strange)
{
	const char *why;
	int fd;

	fd = journal_open_left(base_fd, name, &why);
	if (fd < 0) {
		/* One line is enough, however many there are. */
		if (why != NULL && (*n_strange)++ == 0)
			log_warn("recovery: %s is not used as a journal: %s",
			    name, why);
		return;
	}
	/* The relay that owns the journal is running while the file is
	 * locked. */
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    recover_one(rec, base_fd, fd, name))
		unlinkat(base_fd, name, 0);
	close(fd);
}

unsigned
journal_recover_until(int base_fd, const struct published *stop)
{
	struct recovery rec = { .started = now_since_epoch(), .stop = stop };
	unsigned n_strange = 0;
	struct dirent *e;
	int copy;
	DIR *d;

	copy = openat(base_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = copy < 0 ? NULL : fdopendir(copy);
	if (d == NULL) {
		log_errno(LOG_ERROR, "recovery: output directory");
		if (copy >= 0)
			close(copy);
		return 0;
	}
	while (!recovery_is_stopped(&rec) && (e = readdir(d)) != NULL)
		if (strncmp(e->d_name, JOURNAL_PREFIX,
			sizeof(JOURNAL_PREFIX) - 1) == 0)
			recover_name(&rec, base_fd, e->d_name, &n_strange);
	closedir(d);
	return rec.n_cut;
}

unsigned
journal_recover(int base_fd)
{
	return journal_recover_until(base_fd, NULL);
}
