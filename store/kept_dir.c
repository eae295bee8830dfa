/* SPDX-License-Identifier: MIT */
#include "store/kept_dir.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fds.h"
#include "store/dir.h"

enum status
kept_dir_open(int *out, int base, const char *path)
{
	enum status st;
	int saved;

	*out = -1;
	if (!fds_take(FDS_SESSIONS))
		return E_IO;
	st = dir_open(out, base, path);
	saved = errno;
	if (st != OK)
		fds_give(FDS_SESSIONS);
	errno = saved;
	return st;
}

void
kept_dir_close(int fd)
{
	close(fd);
	fds_give(FDS_SESSIONS);
}

bool
kept_dir_is_gone(int fd)
{
	struct stat sb;

	return fstat(fd, &sb) == 0 && sb.st_nlink == 0;
}
