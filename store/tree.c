/* SPDX-License-Identifier: MIT */
/*
 * Directories are entered in the order in which they are found, by their paths
 * below the root; so each is found after the one that it is in, and they are
 * removed the other way round.
 */
#include "store/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/dir.h"

#define BLOCK 512 /* stat(2), st_blocks */
/* Room for the names that are read at once, some hundred. */
#define NAMES (32 * 1024)

struct tree {
	int root;
	dev_t device;
	bool removes, is_left;
	uint64_t bytes;
	char **dirs; /* paths below the root; the first is "" */
	size_t n_dirs, cap, next;
	int fd; /* of dirs[next]; -1: it was not opened yet */
	/* Names of it, from getdents64(2): readdir(3) would make three more
	 * calls for each directory. */
	size_t n_names, at; /* bytes; those before AT were looked at */
	_Alignas(struct dirent64) char names[NAMES];
};

static bool
add_dir(struct tree *t, const char *in, const char *name)
{
	const size_t cap = t->cap == 0 ? 16 : 2 * t->cap;
	char **more, *path;

	if (t->n_dirs == t->cap) {
		more = t->n_dirs >= TREE_DIRS_MAX
			   ? NULL
			   : realloc(t->dirs, cap * sizeof(*more));
		if (more == NULL)
			return false;
		t->dirs = more;
		t->cap = cap;
	}
	if (asprintf(&path, "%s%s%s", in, *in == '\0' ? "" : "/", name) < 0)
		return false;
	t->dirs[t->n_dirs++] = path;
	return true;
}

enum status
tree_create(struct tree **out, int root, bool removes)
{
	struct tree *t = calloc(1, sizeof(*t));
	struct stat sb = { 0 };

	*out = NULL;
	if (t == NULL)
		return E_NOMEM;
	t->root = root;
	t->fd = -1;
	t->removes = removes;
	if (fstat(root, &sb) == 0)
		t->bytes = (uint64_t)sb.st_blocks * BLOCK;
	t->device = sb.st_dev;
	if (!add_dir(t, "", "")) {
		tree_destroy(t);
		return E_NOMEM;
	}
	*out = t;
	return OK;
}

void
tree_destroy(struct tree *t)
{
	if (t == NULL)
		return;
	if (t->fd >= 0)
		close(t->fd);
	for (size_t i = 0; i < t->n_dirs; i++)
		free(t->dirs[i]);
	free(t->dirs);
	free(t);
}

/* Open the next directory. False: it is not there, or not in this tree. */
static bool
open_next(struct tree *t)
{
	struct stat sb;
	int fd;

	if (dir_open(&fd, t->root, t->dirs[t->next]) != OK)
		return false;
	if (fstat(fd, &sb) != 0 || sb.st_dev != t->device) {
		close(fd);
		return false;
	}
	t->fd = fd;
	t->n_names = t->at = 0;
	return true;
}

/* The next name in the directory that is open; NULL: there is none. */
static const char *
next_name(struct tree *t)
{
	const struct dirent64 *e;
	ssize_t n;

	if (t->at == t->n_names) {
		n = getdents64(t->fd, t->names, sizeof(t->names));
		if (n <= 0)
			return NULL;
		t->n_names = (size_t)n;
		t->at = 0;
	}
	e = (const struct dirent64 *)(const void *)(t->names + t->at);
	t->at += e->d_reclen;
	return e->d_name;
}

static void
take_name(struct tree *t, const char *name)
{
	struct stat sb;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return;
	if (fstatat(t->fd, name, &sb, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	/* A file with several names is counted with each of them. */
	t->bytes += (uint64_t)sb.st_blocks * BLOCK;
	if (S_ISDIR(sb.st_mode))
		t->is_left |= !add_dir(t, t->dirs[t->next], name);
	else if (t->removes && unlinkat(t->fd, name, 0) != 0)
		t->is_left = true;
}

/* One name, or one directory. */
static void
go_on(struct tree *t)
{
	const char *name;

	if (t->fd < 0 && !open_next(t)) {
		t->is_left = true;
		t->next++;
		return;
	}
	name = next_name(t);
	if (name != NULL) {
		take_name(t, name);
		return;
	}
	close(t->fd);
	t->fd = -1;
	t->next++;
}

/* All files are gone: remove the directory that was found last. */
static void
remove_last(struct tree *t)
{
	char *path = t->dirs[--t->n_dirs];

	if (t->n_dirs > 0 && dir_remove(t->root, path) != OK)
		t->is_left = true;
	free(path);
	t->next = t->n_dirs;
}

bool
tree_step(struct tree *t, unsigned n)
{
	for (; n > 0; n--) {
		if (t->next < t->n_dirs)
			go_on(t);
		else if (t->removes && t->n_dirs > 0)
			remove_last(t);
		else
			return true;
	}
	return false;
}

uint64_t
tree_bytes(const struct tree *t)
{
	return t->bytes;
}

bool
tree_is_left(const struct tree *t)
{
	return t->is_left;
}
