/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/idmap.h"
#include "common/relpath.h"
#include "store/chunk.h"
#include "store/dir.h"
#include "store/output.h"
#include "store/session_dir.h"

static uint64_t
key_of(const struct chunk_family *f)
{
	return idmap_key(f->path->s, f->path->len);
}

/* Did a stream of this trace make the file? A channel may have the same
 * name. */
static bool
is_ours(const struct chunk *c, const struct chunk_family *f)
{
	const struct chunk_family *o;

	if (f->has_losses)
		return true;
	o = idmap_find(&c->losses, key_of(f));
	return o != NULL && relpath_equal(o->path, f->path);
}

/* All or nothing. The file is opened with O_APPEND: the offset is for file
 * systems of tests. */
static enum status
append_line(int fd, off_t at, const char *line, size_t n)
{
	const struct iovec iov = { (void *)(uintptr_t)line, n };
	ssize_t written = pwritev(fd, &iov, 1, at);
	const bool is_full = written >= 0 || room_is_lack(errno);

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
	const int flags = O_WRONLY | O_APPEND |
			  (is_ours(c, f) ? 0 : O_CREAT | O_EXCL);
	char path[2 * RELPATH_MAX];
	struct stat before;
	enum status st;
	int fd, saved;

	snprintf(path, sizeof(path), "%s/" CHUNK_LOSSES, f->path->s);
	do
		st = dir_open_file(&fd, chunk_fd(c), path, flags);
	while (st == E_NOSPC && room_yield(&c->dir->output->room));
	if (st != OK)
		return st;
	/* If there is no memory for it, the others of this folder cannot write
	 * into the file. */
	if (!f->has_losses)
		(void)!idmap_insert(&c->losses, key_of(f), f);
	f->has_losses = true;
	if (fstat(fd, &before) != 0)
		st = E_IO;
	else
		st = append_line(fd, before.st_size, line, n);
	while (st == E_NOSPC && room_yield(&c->dir->output->room))
		st = append_line(fd, before.st_size, line, n);
	saved = errno;
	close(fd);
	errno = saved;
	return st;
}
