/* SPDX-License-Identifier: MIT */
#include "store/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/checksum.h"
#include "common/compiler.h"
#include "store/dir.h"
#include "store/tar.h"
#include "store/tree.h"

struct member {
	char *path;  /* below the root */
	uint64_t at; /* of its header */
	uint64_t size, mtime, ino;
};

struct archive {
	int root;
	char *prefix;
	struct tree *tree; /* NULL: all files are found */
	enum status st;	   /* of what the tree found */
	struct member *members;
	size_t n, cap;
	uint64_t size;
	uint32_t tag;
	size_t open; /* the member that FD has */
	int fd;	     /* -1: none */
};

static enum status
add_member(
    struct archive *a, const char *dir, const char *name, const struct stat *sb)
{
	const size_t cap = a->cap == 0 ? 64 : 2 * a->cap;
	struct member *more, *m;

	if (a->n >= ARCHIVE_FILES_MAX)
		return E_LIMIT;
	if (a->n == a->cap) {
		more = realloc(a->members, cap * sizeof(*more));
		if (more == NULL)
			return E_NOMEM;
		a->members = more;
		a->cap = cap;
	}
	m = &a->members[a->n];
	*m = (struct member){
		.size = (uint64_t)sb->st_size,
		.mtime = (uint64_t)sb->st_mtime,
		.ino = sb->st_ino,
	};
	if (asprintf(&m->path, "%s%s%s", dir, *dir == '\0' ? "" : "/", name) <
	    0)
		return E_NOMEM;
	a->n++;
	return OK;
}

static void
see(void *archive, const char *dir, const char *name, const struct stat *sb)
{
	struct archive *a = archive;

	if (a->st == OK)
		a->st = add_member(a, dir, name, sb);
}

enum status
archive_create(struct archive **out, int take_root, const char *prefix)
{
	struct archive *a = calloc(1, sizeof(*a));

	*out = NULL;
	if (a == NULL) {
		close(take_root);
		return E_NOMEM;
	}
	a->root = take_root;
	a->fd = -1;
	a->prefix = strdup(prefix);
	if (a->prefix == NULL || tree_create(&a->tree, a->root, false) != OK) {
		archive_destroy(a);
		return E_NOMEM;
	}
	tree_watch(a->tree, see, a);
	*out = a;
	return OK;
}

void
archive_destroy(struct archive *a)
{
	if (a == NULL)
		return;
	tree_destroy(a->tree);
	for (size_t i = 0; i < a->n; i++)
		free(a->members[i].path);
	free(a->members);
	free(a->prefix);
	if (a->fd >= 0)
		close(a->fd);
	close(a->root);
	free(a);
}

static int
by_path(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* Append the header of M to B. Returns its size, without B as well. */
static enum status
header(const struct archive *a, const struct member *m, struct buf *b,
    uint64_t *size)
{
	struct tar_file f = { .size = m->size, .mtime = m->mtime };
	char *name;

	if (asprintf(&name, "%s/%s", a->prefix, m->path) < 0)
		return E_NOMEM;
	f.name = name;
	if (size != NULL)
		*size = tar_header_size(&f);
	else
		tar_add_header(b, &f);
	free(name);
	return OK;
}

/* All files are known: where is each? */
static enum status
place(struct archive *a)
{
	enum status st;
	uint64_t n;

	qsort(a->members, a->n, sizeof(*a->members), by_path);
	for (size_t i = 0; i < a->n; i++) {
		struct member *m = &a->members[i];
		const uint64_t known[] = { m->size, m->mtime, m->ino };

		st = header(a, m, NULL, &n);
		if (st != OK)
			return st;
		m->at = a->size;
		a->size += n + m->size + tar_padding(m->size);
		a->tag = checksum_crc32(a->tag, m->path, strlen(m->path) + 1);
		a->tag = checksum_crc32(a->tag, known, sizeof(known));
	}
	a->size += TAR_END;
	return OK;
}

enum status
archive_list(struct archive *a, unsigned n)
{
	const bool is_done = tree_step(a->tree, n);

	if (a->st == OK && is_done && tree_found(a->tree)->is_left)
		a->st = E_IO;
	if (a->st != OK || !is_done)
		return a->st == OK ? E_LATER : a->st;
	tree_destroy(a->tree);
	a->tree = NULL;
	return place(a);
}

bool
archive_is_listed(const struct archive *a)
{
	return a->tree == NULL;
}

uint64_t
archive_size(const struct archive *a)
{
	return a->size;
}

uint64_t
archive_tag(const struct archive *a)
{
	return a->tag;
}

/* The last member that begins at AT or before. */
static size_t
find(const struct archive *a, uint64_t at)
{
	size_t low = 0, high = a->n;

	while (high - low > 1) {
		const size_t mid = low + (high - low) / 2;

		if (a->members[mid].at <= at)
			low = mid;
		else
			high = mid;
	}
	return low;
}

static enum status
open_member(struct archive *a, size_t i)
{
	const struct member *m = &a->members[i];
	struct stat sb;
	enum status st;

	if (a->fd >= 0 && a->open == i)
		return OK;
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
	st = dir_open_file(&a->fd, a->root, m->path, O_RDONLY | O_NONBLOCK);
	if (st != OK) {
		a->fd = -1;
		return st;
	}
	a->open = i;
	if (fstat(a->fd, &sb) != 0)
		return E_IO;
	return sb.st_ino == m->ino && (uint64_t)sb.st_size == m->size &&
		       (uint64_t)sb.st_mtime == m->mtime
		   ? OK
		   : E_NOENT;
}

static enum status
read_member(struct archive *a, size_t i, uint64_t at, size_t n, struct buf *b)
{
	enum status st = open_member(a, i);
	uint8_t *to;
	ssize_t got;

	while (st == OK && n > 0) {
		to = buf_reserve(b, n);
		if (to == NULL)
			return E_NOMEM;
		got = pread(a->fd, to, n, (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? E_IO : E_NOENT;
		buf_added(b, (size_t)got);
		at += (size_t)got;
		n -= (size_t)got;
	}
	return st;
}

/* At most N bytes of the header of member I, from AT on. */
static enum status
read_header(struct archive *a, size_t i, uint64_t at, size_t n, struct buf *b)
{
	struct buf h = { 0 };
	enum status st = header(a, &a->members[i], &h, NULL);

	buf_consume(&h, st == OK && !h.bad ? (size_t)at : 0);
	buf_bytes(b, buf_data(&h), buf_len(&h) < n ? buf_len(&h) : n);
	if (st == OK && h.bad)
		st = E_NOMEM;
	buf_free(&h);
	return st;
}

/* At most N bytes of member I and of the zeros after it, from AT after its
 * begin on; N ends before the next one. */
static enum status
read_some(struct archive *a, size_t i, uint64_t at, size_t n, struct buf *b)
{
	const struct member *m = &a->members[i];
	uint64_t head;
	enum status st = header(a, m, NULL, &head);

	if (st != OK)
		return st;
	if (at < head)
		return read_header(a, i, at, n, b);
	at -= head;
	if (at < m->size)
		return read_member(
		    a, i, at, m->size - at < n ? (size_t)(m->size - at) : n, b);
	buf_zero(b, n);
	return OK;
}

enum status
archive_read(struct archive *a, uint64_t at, size_t n, struct buf *b)
{
	const size_t begin = buf_len(b);
	enum status st = OK;

	while (st == OK && !b->bad && buf_len(b) - begin < n) {
		const size_t done = buf_len(b) - begin;
		const uint64_t from = at + done;
		const size_t i = find(a, from);
		uint64_t left = n - done;

		if (a->n == 0) {
			buf_zero(b, left);
			break;
		}
		if (i + 1 < a->n && a->members[i + 1].at - from < left)
			left = a->members[i + 1].at - from;
		st = read_some(a, i, from - a->members[i].at, left, b);
	}
	return st == OK && b->bad ? E_NOMEM : st;
}
