/* SPDX-License-Identifier: MIT */
/*
 * Directories are entered in the order in which they are found, by their paths
 * below the root; so each is found after the one that it is in, and they are
 * removed the other way round.
 */
#include "store/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/beacons.h"
#include "ctf/packet.h"
#include "store/chunk.h"
#include "store/dir.h"
#include "store/session_dir.h"

#define BLOCK 512 /* stat(2), st_blocks */
#define METADATA "metadata"

/* What a folder contains. */
struct folder_content {
	bool has_metadata; /* the file, empty or not */
	bool has_metadata_bytes, has_stream, has_index;
};

struct tree {
	int root;
	dev_t device;
	bool removes;
	struct tree_found found;
	bool has_failed; /* a file could not be removed */
	bool (*may_go)(void *arg, int fd);
	void *may_go_arg;
	tree_see *see;
	void *see_arg;
	struct folder_content content; /* of dirs[next] */
	char **dirs; /* paths below the root; the first is "" */
	size_t n_dirs, cap, next;
	DIR *dir; /* dirs[next]; NULL: it is not open yet */
	int fd;	  /* of DIR */
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
	t->removes = removes;
	if (fstat(root, &sb) == 0)
		t->found.bytes = (uint64_t)sb.st_blocks * BLOCK;
	t->device = sb.st_dev;
	if (!add_dir(t, "", "")) {
		tree_destroy(t);
		return E_NOMEM;
	}
	*out = t;
	return OK;
}

void
tree_guard(struct tree *t, bool (*may_go)(void *arg, int fd), void *arg)
{
	t->may_go = may_go;
	t->may_go_arg = arg;
}

void
tree_watch(struct tree *t, tree_see *see, void *arg)
{
	t->see = see;
	t->see_arg = arg;
}

void
tree_destroy(struct tree *t)
{
	if (t == NULL)
		return;
	if (t->dir != NULL)
		closedir(t->dir);
	for (size_t i = 0; i < t->n_dirs; i++)
		free(t->dirs[i]);
	free(t->dirs);
	free(t);
}

/* Open the next directory. False: it is missing, or on another file system. */
static bool
open_next(struct tree *t)
{
	struct stat sb;
	int fd;

	if (dir_open(&fd, t->root, t->dirs[t->next]) != OK)
		return false;
	if (fstat(fd, &sb) == 0 && sb.st_dev == t->device)
		t->dir = fdopendir(fd);
	if (t->dir == NULL) {
		close(fd);
		return false;
	}
	t->fd = fd;
	t->content = (struct folder_content){ 0 };
	if (t->next > 0 && t->may_go != NULL && !t->may_go(t->may_go_arg, fd))
		t->found.used = t->dirs[t->next];
	return true;
}

/* Data files are in one folder with their metadata and the index folder. */
static void
take_content(struct folder_content *c, const char *name, const struct stat *sb)
{
	if (strcmp(name, METADATA) == 0 && S_ISREG(sb->st_mode)) {
		c->has_metadata = true;
		c->has_metadata_bytes = sb->st_size > 0;
	} else if (strcmp(name, "index") == 0 && S_ISDIR(sb->st_mode))
		c->has_index = true;
	else if (name[0] != '.' && S_ISREG(sb->st_mode))
		c->has_stream = true;
}

/* Files of others may be anywhere: only a folder that has metadata or an index
 * counts as part of a trace. */
static bool
lacks_metadata(const struct folder_content *c)
{
	return c->has_stream && !c->has_metadata_bytes &&
	       (c->has_metadata || c->has_index);
}

static bool
begins_with_magic(int dir, const char *name)
{
	uint32_t magic = 0;
	int fd;

	if (dir_open_file(&fd, dir, name, O_RDONLY | O_NONBLOCK) != OK)
		return false;
	(void)!read(fd, &magic, sizeof(magic));
	close(fd);
	return magic == CTF_MAGIC || magic == __builtin_bswap32(CTF_MAGIC);
}

/* Is the file part of a trace, so that the relay created it? */
static bool
is_of_trace(const struct tree *t, const char *name, const struct stat *sb)
{
	const char *path = t->dirs[t->next], *slash = strrchr(path, '/');
	const char *dot = strrchr(name, '.');
	char index[sizeof("index/.idx") + NAME_MAX];

	if (!S_ISREG(sb->st_mode))
		return false;
	if (strcmp(name, METADATA) == 0 || strcmp(name, CHUNK_LOSSES) == 0 ||
	    strcmp(name, BEACONS_FILE) == 0)
		return true;
	if (strcmp(slash == NULL ? path : slash + 1, "index") == 0 &&
	    dot != NULL && strcmp(dot, ".idx") == 0)
		return true;
	snprintf(index, sizeof(index), "index/%s.idx", name);
	if (faccessat(t->fd, index, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	if (sb->st_size == 0)
		return faccessat(t->fd, METADATA, F_OK, AT_SYMLINK_NOFOLLOW) ==
		       0;
	return begins_with_magic(t->fd, name);
}

static void
visit_file(struct tree *t, const char *name, const struct stat *sb)
{
	const bool is_key = strcmp(name, SESSION_DIR_KEY) == 0;

	/* It goes with the trace, but nobody may read it. */
	if (is_key && t->see != NULL)
		return;
	if ((t->removes || t->see != NULL) && !is_key &&
	    !is_of_trace(t, name, sb)) {
		t->found.n_foreign++;
		return;
	}
	if (t->see != NULL)
		t->see(t->see_arg, t->dirs[t->next], name, sb);
	/* After a failure the rest stays: the next try recognizes the files of
	 * the trace by it. */
	t->has_failed = t->has_failed ||
			(t->removes && unlinkat(t->fd, name, 0) != 0);
	if (t->has_failed)
		t->found.is_left = true;
	else
		/* A file with several names is counted with each of them. */
		t->found.bytes += (uint64_t)sb->st_blocks * BLOCK;
}

static void
take_name(struct tree *t, const char *name)
{
	struct stat sb;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    fstatat(t->fd, name, &sb, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	take_content(&t->content, name, &sb);
	t->found.has_losses |= strcmp(name, CHUNK_LOSSES) == 0;
	if (!S_ISDIR(sb.st_mode)) {
		visit_file(t, name, &sb);
		return;
	}
	t->found.bytes += (uint64_t)sb.st_blocks * BLOCK;
	t->found.is_left |= !add_dir(t, t->dirs[t->next], name);
}

/* One name, or one directory. */
static void
go_on(struct tree *t)
{
	const struct dirent *e;

	if (t->dir == NULL && !open_next(t)) {
		t->found.is_left = true;
		t->next++;
		return;
	}
	if (t->found.used != NULL)
		return;
	e = readdir(t->dir);
	if (e != NULL) {
		/* Metadata is removed last: it shows that empty files belong
		 * to the trace. */
		if (!t->removes || strcmp(e->d_name, METADATA) != 0)
			take_name(t, e->d_name);
		return;
	}
	if (t->removes)
		take_name(t, METADATA);
	t->found.is_unreadable |= lacks_metadata(&t->content);
	closedir(t->dir);
	t->dir = NULL;
	t->next++;
}

/* All files are removed: remove the directory that was found last. */
static void
remove_last(struct tree *t)
{
	char *path = t->dirs[--t->n_dirs];

	if (t->n_dirs > 0 && dir_remove(t->root, path) != OK)
		t->found.is_left = true;
	free(path);
	t->next = t->n_dirs;
}

bool
tree_step(struct tree *t, unsigned n)
{
	for (; n > 0 && t->found.used == NULL; n--) {
		if (t->next < t->n_dirs)
			go_on(t);
		else if (t->removes && t->n_dirs > 0)
			remove_last(t);
		else
			return true;
	}
	return t->found.used != NULL;
}

const struct tree_found *
tree_found(const struct tree *t)
{
	return &t->found;
}
