/* SPDX-License-Identifier: MIT */
/* The file BEACONS_FILE of a session's directory (streaming 5.7). */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ctf/beacons.h"
#include "store/dir.h"
#include "store/session_dir.h"

bool
session_dir_has_reader(const struct session_dir *d)
{
	struct flock any = {
		.l_type = F_WRLCK, .l_start = BEACONS_LOCK, .l_len = 1
	};

	return fcntl(d->fd, F_OFD_GETLK, &any) != 0 || any.l_type != F_UNLCK;
}

static enum status
open_beacons(struct session_dir *d, int *fd)
{
	enum status st = E_NOENT;

	if (d->has_beacons)
		st = dir_open_file(
		    fd, d->fd, BEACONS_FILE, O_WRONLY | O_NONBLOCK);
	if (st == E_NOENT)
		st = dir_open_file(
		    fd, d->fd, BEACONS_FILE, O_WRONLY | O_CREAT | O_EXCL);
	d->has_beacons |= st == OK;
	return st;
}

/* Cutting a file costs as much as writing it. */
static enum status
write_over(int fd, const void *p, size_t n)
{
	const struct iovec iov = { (void *)(uintptr_t)p, n };
	struct stat sb;

	if (pwritev(fd, &iov, 1, 0) == (ssize_t)n && fstat(fd, &sb) == 0 &&
	    (sb.st_size <= (off_t)n || ftruncate(fd, (off_t)n) == 0))
		return OK;
	(void)ftruncate(fd, 0);
	return E_IO;
}

enum status
session_dir_write_beacons(struct session_dir *d, const void *p, size_t n)
{
	enum status st;
	int fd;

	st = open_beacons(d, &fd);
	if (st != OK)
		return st;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		st = E_LATER;
	else
		st = write_over(fd, p, n);
	close(fd);
	return st;
}
