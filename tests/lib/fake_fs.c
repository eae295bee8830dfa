/* SPDX-License-Identifier: MIT */
#include "tests/lib/fake_fs.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "common/state.h"
#include "store/dir.h"
#include "store/journal.h"

#define FD_BASE (1 << 20) /* above what the system gives out */
#define FD_MAX 4096

struct node {
	struct node *next, *children; /* siblings are sorted by name */
	char name[256];
	bool is_dir, is_linked;
	unsigned opens;
	int lock_ex, lock_sh; /* descriptors that hold it */
	uint8_t *p;
	size_t n, cap;
	ino_t ino;
};

struct open_file {
	struct node *node;
	int lock; /* LOCK_EX, LOCK_SH or 0 */
};

int __real_close(int fd);
int __real_flock(int fd, int operation);
int __real_fstat(int fd, struct stat *sb);
int __real_ftruncate(int fd, off_t length);
ssize_t __real_pwritev(int fd, const struct iovec *iov, int n, off_t offset);
int __wrap_close(int fd);
int __wrap_flock(int fd, int operation);
int __wrap_fstat(int fd, struct stat *sb);
int __wrap_ftruncate(int fd, off_t length);
ssize_t __wrap_pwritev(int fd, const struct iovec *iov, int n, off_t offset);

static struct open_file files[FD_MAX];
static struct node *root;
static ino_t last_ino;
static unsigned fail_write, fail_open, faults;
static uint64_t room = UINT64_MAX;

static void *
get_memory(void *old, size_t n)
{
	void *p = realloc(old, n);

	if (p == NULL)
		err(EXIT_FAILURE, "fake_fs");
	return p;
}

static struct node *
make_node(const char *name, size_t n, bool is_dir)
{
	struct node *node = get_memory(NULL, sizeof(*node));

	*node = (struct node){ .is_dir = is_dir, .ino = ++last_ino };
	memcpy(node->name, name, n);
	node->is_linked = true;
	return node;
}

/* Change the space that is left by what grows or shrinks from FROM to TO bytes.
 * Returns how far it can grow. */
static size_t
take_space(size_t from, size_t to)
{
	if (room == UINT64_MAX)
		return to;
	if (to > from && to - from > room)
		to = from + (size_t)room;
	room -= to - from; /* unsigned: what shrinks frees space */
	return to;
}

static void
free_if_unused(struct node *n)
{
	if (n->is_linked || n->opens > 0)
		return;
	(void)take_space(n->n + 1, 0);
	free(n->p);
	free(n);
}

static void
free_tree(struct node *n)
{
	struct node *next, *c;

	for (c = n->children; c != NULL; c = next) {
		next = c->next;
		free_tree(c);
	}
	n->is_linked = false;
	free_if_unused(n);
}

static struct open_file *
file_of(int fd)
{
	if (fd < FD_BASE || fd >= FD_BASE + FD_MAX)
		return NULL;
	if (files[fd - FD_BASE].node == NULL)
		errx(EXIT_FAILURE, "fake_fs: descriptor %d is not open", fd);
	return &files[fd - FD_BASE];
}

static int
open_node(struct node *n)
{
	for (int i = 0; i < FD_MAX; i++)
		if (files[i].node == NULL) {
			files[i] = (struct open_file){ .node = n };
			n->opens++;
			return FD_BASE + i;
		}
	errx(EXIT_FAILURE, "fake_fs: %d descriptors are open", FD_MAX);
}

/* Where NAME stands among the children of DIR, or would. */
static struct node **
place(struct node *dir, const char *name, size_t n)
{
	struct node **at = &dir->children;
	int order = 1;

	for (; *at != NULL; at = &(*at)->next) {
		order = strncmp((*at)->name, name, n);
		if (order == 0 && (*at)->name[n] != '\0')
			order = 1;
		if (order >= 0)
			break;
	}
	return at;
}

static bool
is_found(struct node *const *at, const char *name, size_t n)
{
	return *at != NULL && strncmp((*at)->name, name, n) == 0 &&
	       (*at)->name[n] == '\0';
}

/* Where the last component of PATH is linked, or would be; NULL: its folder
 * does not exist. *LEAF is that component. */
static struct node **
find(int base, const char *path, const char **leaf)
{
	struct node *dir = file_of(base)->node;
	struct node **at;
	size_t n;

	for (;; path += n + 1) {
		n = strcspn(path, "/");
		if (n == 0 || n > 255 || strncmp(path, "..", n) == 0)
			errx(EXIT_FAILURE, "fake_fs: path '%s'", path);
		at = place(dir, path, n);
		*leaf = path;
		if (path[n] == '\0')
			return at;
		if (!is_found(at, path, n) || !(*at)->is_dir)
			return NULL;
		dir = *at;
	}
}

static enum status
fail(int code, enum status st)
{
	errno = code;
	return st;
}

enum status
dir_open(int *out, int base, const char *path)
{
	const char *leaf;
	struct node **at;

	*out = -1;
	if (fail_open > 0 && --fail_open == 0)
		return fail(EMFILE, E_IO);
	if (*path == '\0') {
		*out = open_node(file_of(base)->node);
		return OK;
	}
	at = find(base, path, &leaf);
	if (at == NULL || !is_found(at, leaf, strlen(leaf)))
		return fail(ENOENT, E_NOENT);
	if (!(*at)->is_dir)
		return fail(ENOTDIR, E_IO);
	*out = open_node(*at);
	return OK;
}

static enum status
make(int base, const char *path, bool is_dir, struct node **out)
{
	const char *leaf;
	struct node *n, **at = find(base, path, &leaf);

	if (at == NULL)
		return fail(ENOENT, E_NOENT);
	if (is_found(at, leaf, strlen(leaf)))
		return fail(EEXIST, E_EXISTS);
	if ((faults & FAKE_FS_FULL) != 0 || take_space(0, 1) == 0)
		return fail(ENOSPC, E_NOSPC);
	n = make_node(leaf, strlen(leaf), is_dir);
	n->next = *at;
	*at = n;
	*out = n;
	return OK;
}

enum status
dir_create(int base, const char *path)
{
	struct node *n;

	return make(base, path, true, &n);
}

enum status
dir_create_path(int base, const char *path)
{
	char part[4096];
	size_t n = 0;
	enum status st;
	int fd;

	do {
		n += strcspn(path + n, "/");
		memcpy(part, path, n);
		part[n] = '\0';
		st = dir_create(base, part);
		if (st != OK && st != E_EXISTS)
			return st;
	} while (path[n++] != '\0');
	st = dir_open(&fd, base, path);
	if (st == OK)
		(void)__wrap_close(fd);
	return st;
}

enum status
dir_open_file(int *out, int base, const char *path, int flags)
{
	const char *leaf;
	struct node *n, **at;
	enum status st;

	*out = -1;
	if ((flags & O_CREAT) != 0) {
		st = make(base, path, false, &n);
		if (st == OK)
			*out = open_node(n);
		if (st != E_EXISTS || (flags & O_EXCL) != 0)
			return st;
	}
	at = find(base, path, &leaf);
	if (at == NULL || !is_found(at, leaf, strlen(leaf)) || (*at)->is_dir)
		return fail(ENOENT, E_NOENT);
	*out = open_node(*at);
	return OK;
}

static enum status
unlink_node(int base, const char *path, bool is_dir)
{
	const char *leaf;
	struct node *n, **at = find(base, path, &leaf);

	if (at == NULL || !is_found(at, leaf, strlen(leaf)))
		return fail(ENOENT, E_NOENT);
	if ((faults & FAKE_FS_KEEPS) != 0 ||
	    ((faults & FAKE_FS_KEEPS_INDEX) != 0 &&
		strstr(path, "/index/") != NULL))
		return fail(EPERM, E_IO);
	n = *at;
	if (n->is_dir != is_dir)
		return fail(EISDIR, E_IO);
	if (n->children != NULL)
		return fail(ENOTEMPTY, E_EXISTS);
	*at = n->next;
	n->is_linked = false;
	free_if_unused(n);
	return OK;
}

uint64_t
dir_file_size(int base, const char *path)
{
	const char *leaf;
	struct node **at = find(base, path, &leaf);

	return at != NULL && is_found(at, leaf, strlen(leaf)) ? (*at)->n : 0;
}

enum status
dir_unlink(int base, const char *path)
{
	return unlink_node(base, path, false);
}

enum status
dir_remove(int base, const char *path)
{
	return unlink_node(base, path, true);
}

enum status
dir_rename(int base, const char *from, const char *to)
{
	const char *leaf_from, *leaf_to;
	struct node *n, **old = find(base, from, &leaf_from);
	struct node **at = find(base, to, &leaf_to);

	if (old == NULL || at == NULL ||
	    !is_found(old, leaf_from, strlen(leaf_from)))
		return fail(ENOENT, E_NOENT);
	if (is_found(at, leaf_to, strlen(leaf_to)))
		return fail(EEXIST, E_EXISTS);
	n = *old;
	*old = n->next;
	at = find(base, to, &leaf_to); /* it may have been n's own link */
	memset(n->name, 0, sizeof(n->name));
	memcpy(n->name, leaf_to, strlen(leaf_to));
	n->next = *at;
	*at = n;
	return OK;
}

bool
dir_is_writable(int fd)
{
	return true;
}

bool
dir_is_empty(int fd)
{
	return file_of(fd)->node->children == NULL;
}

enum status
dir_identify(struct dir_id *out, int fd)
{
	if ((faults & FAKE_FS_NO_STAT) != 0) {
		errno = EIO;
		return E_IO;
	}
	*out = (struct dir_id){ .ino = file_of(fd)->node->ino };
	return OK;
}

enum status
dir_sync(int base, const char *path)
{
	return OK;
}

enum status
dir_sync_one(int base, const char *path)
{
	return dir_sync(base, path);
}

void
dir_without_openat2(bool on)
{
}

static void
unlock(struct open_file *f)
{
	if (f->lock == LOCK_EX)
		f->node->lock_ex--;
	else if (f->lock == LOCK_SH)
		f->node->lock_sh--;
	f->lock = 0;
}

int
__wrap_close(int fd)
{
	struct open_file *f = file_of(fd);
	struct node *n;

	if (f == NULL)
		return __real_close(fd);
	unlock(f);
	n = f->node;
	f->node = NULL;
	n->opens--;
	free_if_unused(n);
	return 0;
}

int
__wrap_flock(int fd, int operation)
{
	struct open_file *f = file_of(fd);

	if (f == NULL)
		return __real_flock(fd, operation);
	if ((faults & FAKE_FS_NO_LOCKS) != 0) {
		errno = EOPNOTSUPP;
		return -1;
	}
	unlock(f);
	operation &= ~LOCK_NB;
	if (operation == LOCK_UN)
		return 0;
	if (f->node->lock_ex > 0 ||
	    (operation == LOCK_EX && f->node->lock_sh > 0)) {
		errno = EWOULDBLOCK;
		return -1;
	}
	if (operation == LOCK_EX)
		f->node->lock_ex++;
	else
		f->node->lock_sh++;
	f->lock = operation;
	return 0;
}

int
__wrap_fstat(int fd, struct stat *sb)
{
	const struct open_file *f = file_of(fd);

	if (f == NULL)
		return __real_fstat(fd, sb);
	if ((faults & FAKE_FS_NO_STAT) != 0) {
		errno = EIO;
		return -1;
	}
	*sb = (struct stat){ .st_ino = f->node->ino,
		.st_nlink = f->node->is_linked };
	sb->st_size = (off_t)f->node->n;
	return 0;
}

static void
resize(struct node *n, size_t size)
{
	if (size > n->cap) {
		n->cap = size * 2;
		n->p = get_memory(n->p, n->cap);
	}
	if (size > n->n)
		memset(n->p + n->n, 0, size - n->n);
	n->n = size;
}

int
__wrap_ftruncate(int fd, off_t length)
{
	const struct open_file *f = file_of(fd);

	if (f == NULL)
		return __real_ftruncate(fd, length);
	/* What is extended is a hole, but here it takes space. */
	if (take_space(f->node->n, (size_t)length) != (size_t)length)
		errx(EXIT_FAILURE, "fake_fs: a hole without room");
	resize(f->node, (size_t)length);
	return 0;
}

ssize_t
__wrap_pwritev(int fd, const struct iovec *iov, int n, off_t offset)
{
	const struct open_file *f = file_of(fd);
	const size_t start = (size_t)offset;
	size_t at = start;

	if (f == NULL)
		return __real_pwritev(fd, iov, n, offset);
	if (fail_write > 0 && --fail_write == 0) {
		errno = ENOSPC;
		return -1;
	}
	if ((faults & FAKE_FS_BROKEN) != 0) {
		errno = EIO;
		return -1;
	}
	for (int i = 0; i < n; i++) {
		size_t len = iov[i].iov_len;

		if (at + len > f->node->n) {
			len = take_space(f->node->n, at + len) - at;
			resize(f->node, at + len);
		}
		if (len > 0)
			memcpy(f->node->p + at, iov[i].iov_base, len);
		at += len;
		if (len < iov[i].iov_len)
			break;
	}
	if (at == start && n > 0 && iov[0].iov_len > 0) {
		errno = ENOSPC;
		return -1;
	}
	if (fail_write == 1 && at > start + 1) /* the next one fails: half */
		at = start + (at - start) / 2;
	return (ssize_t)(at - start);
}

void
fake_fs_fail_write(unsigned n)
{
	fail_write = n == 0 ? 0 : n + 1;
}

void
fake_fs_fail_open(unsigned n)
{
	fail_open = n;
}

void
fake_fs_fail(unsigned what)
{
	faults = what;
}

void
fake_fs_end(void)
{
	for (int i = 0; i < FD_MAX; i++)
		if (files[i].node != NULL && files[i].node != root)
			errx(EXIT_FAILURE, "fake_fs: '%s' was left open",
			    files[i].node->name);
	if (root == NULL)
		return;
	root->opens = 0;
	memset(files, 0, sizeof(files));
	free_tree(root);
	root = NULL;
	fail_write = fail_open = faults = 0;
	room = UINT64_MAX;
}

void
fake_fs_set_space(uint64_t bytes)
{
	room = bytes;
}

enum status
dir_free_space(uint64_t *left, uint64_t *total, int fd)
{
	*left = room;
	*total = UINT64_MAX;
	return OK;
}

enum status
dir_create_unnamed(int *out, int fd)
{
	struct node *n;

	if (room == UINT64_MAX)
		return fail(EOPNOTSUPP, E_IO);
	if (take_space(0, 1) == 0)
		return fail(ENOSPC, E_NOSPC);
	n = make_node("", 0, false);
	n->is_linked = false;
	*out = open_node(n);
	return OK;
}

enum status
dir_reserve(int fd, uint64_t from, uint64_t to)
{
	struct node *n = file_of(fd)->node;

	if (to - from > room)
		return fail(ENOSPC, E_NOSPC);
	(void)take_space(from, to);
	resize(n, (size_t)to);
	return OK;
}

int
fake_fs_begin(void)
{
	fake_fs_end();
	root = make_node("", 0, true);
	return open_node(root);
}

static void
walk(const struct node *dir, const char *prefix,
    void (*visit)(const char *path, const uint8_t *p, size_t n, void *arg),
    void *arg)
{
	const struct node *c;
	char path[8192];

	for (c = dir->children; c != NULL; c = c->next) {
		(void)snprintf(path, sizeof(path), "%s%s%s", prefix, c->name,
		    c->is_dir ? "/" : "");
		if (c->is_dir) {
			visit(path, NULL, 0, arg);
			walk(c, path, visit, arg);
		} else {
			visit(path, c->p == NULL ? (const uint8_t *)"" : c->p,
			    c->n, arg);
		}
	}
}

void
fake_fs_walk(
    void (*visit)(const char *path, const uint8_t *p, size_t n, void *arg),
    void *arg)
{
	walk(root, "", visit, arg);
}

static void
hash(uint64_t *h, const void *p, size_t n)
{
	const uint8_t *s = p;
	uint64_t word;

	for (; n >= sizeof(word); s += sizeof(word), n -= sizeof(word)) {
		memcpy(&word, s, sizeof(word));
		*h = (*h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		*h ^= *h >> 29;
	}
	for (; n > 0; s++, n--)
		*h = (*h ^ *s) * UINT64_C(1099511628211);
}

static void
digest_one(const char *path, const uint8_t *p, size_t n, void *arg)
{
	hash(arg, path, strlen(path) + 1);
	hash(arg, &n, sizeof(n));
	hash(arg, p, n);
}

uint64_t
fake_fs_digest(void)
{
	uint64_t h = 14695981039346656037u;

	fake_fs_walk(digest_one, &h);
	return h;
}

/* The journal is of no use here. */
enum status
journal_create(
    struct journal **out, int base_fd, const struct journal_config *config)
{
	*out = NULL;
	return OK;
}

void
journal_destroy(struct journal *j)
{
}

void
journal_end(struct journal *j)
{
}

bool
journal_is_gone(const struct journal *j)
{
	return false;
}

void
journal_add_file(struct journal *j, struct journal_file *file,
    struct journal_root *r, const struct dir_id *id, bool is_index)
{
	*file = (struct journal_file){ .ino = id->ino };
}

void
journal_put_file(struct state_out *o, const struct journal *j,
    const struct journal_file *file)
{
	state_put_u64(o, file->ino);
}

enum status
journal_get_file(struct journal_file *file, struct state_in *in,
    struct journal *j, struct journal_root *r, bool is_index, uint64_t length)
{
	*file = (struct journal_file){ .ino = state_get_u64(in) };
	return state_in_status(in);
}

void
journal_leave(struct journal *j)
{
}

void
journal_set_length(
    struct journal *j, struct journal_file *file, uint64_t length)
{
}

void
journal_set_synced(
    struct journal *j, struct journal_file *file, uint64_t length)
{
}

uint64_t
journal_tick(struct journal *j)
{
	return UINT64_MAX;
}

enum status
journal_sync(struct journal *j)
{
	return OK;
}

void
journal_remove_file(struct journal *j, struct journal_file *file)
{
}
