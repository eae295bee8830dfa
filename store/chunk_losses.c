/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/relpath.h"
#include "store/chunk.h"
#include "store/dir.h"

/* Did a stream of this trace make the file? A channel may have the same
 * name. */
static bool
is_ours(const struct chunk *c, const struct chunk_family *f)
{
	const struct chunk_family *o;

	if (f->has_losses)
		return true;
	list_each (o, &c->families, struct chunk_family, node)
		if (o->has_losses && relpath_equal(o->path, f->path))
			return true;
	return false;
}

enum status
chunk_note_loss(
    struct chunk *c, struct chunk_family *f, const char *line, size_t n)
{
	const int flags = O_WRONLY | O_APPEND |
			  (is_ours(c, f) ? 0 : O_CREAT | O_EXCL);
	const struct iovec iov = { (void *)(uintptr_t)line, n };
	char path[2 * RELPATH_MAX];
	enum status st;
	ssize_t written;
	int fd;

	snprintf(path, sizeof(path), "%s/" CHUNK_LOSSES, f->path->s);
	st = dir_open_file(&fd, chunk_fd(c), path, flags);
	if (st != OK)
		return st;
	f->has_losses = true;
	/* The file is opened with O_APPEND, so the offset has no effect. */
	written = pwritev(fd, &iov, 1, 0);
	st = written == (ssize_t)n ? OK : E_IO;
	close(fd);
	return st;
}
