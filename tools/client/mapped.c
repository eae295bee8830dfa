/* SPDX-License-Identifier: MIT */
#include "tools/client/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static enum status
map(struct mapped *m, int fd)
{
	struct stat st;
	void *p;

	if (fstat(fd, &st) != 0)
		return E_IO;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return E_IO;
	}
	if (st.st_size == 0)
		return OK;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return E_IO;
	m->p = p;
	m->n = (uint64_t)st.st_size;
	return OK;
}

enum status
mapped_open(struct mapped *m, const char *path, bool is_kept)
{
	/* A FIFO must not block us. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;
	struct rlimit limit;
	enum status st;

	*m = (struct mapped){ 0 };
	if (fd < 0)
		return errno == ENOENT ? E_NOENT : E_IO;
	st = map(m, fd);
	if (st == OK && is_kept && fd < MAPPED_FD_MAX &&
	    getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    (rlim_t)fd < limit.rlim_cur / 2) {
		m->has_fd = true;
		m->fd = fd;
		return OK;
	}
	err = errno;
	close(fd);
	errno = err;
	return st;
}

void
mapped_close(struct mapped *m)
{
	if (m->p != NULL)
		munmap((void *)(uintptr_t)m->p, (size_t)m->n);
	if (m->has_fd)
		close(m->fd);
	*m = (struct mapped){ 0 };
}
