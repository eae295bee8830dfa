/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/client/trace_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
is_empty(int fd)
{
	DIR *dir = fdopendir(dup(fd));
	unsigned n = 0;

	if (dir == NULL)
		return false;
	while (n <= 2 && readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n <= 2; /* . and .. */
}

enum status
trace_dir_open(int *out, const char *path, char *why, size_t size)
{
	*out = -1;
	if (mkdir(path, 0777) == 0 || errno == EEXIST)
		*out = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*out < 0) {
		(void)snprintf(why, size, "%s: %s", path, strerror(errno));
		return E_IO;
	}
	if (is_empty(*out))
		return OK;
	(void)snprintf(why, size, "%s: the directory is not empty", path);
	close(*out);
	*out = -1;
	return E_EXISTS;
}

bool
trace_dir_write(int fd, const uint8_t *p, size_t n, uint64_t at)
{
	while (n > 0) {
		const ssize_t k = pwrite(fd, p, n, (off_t)at);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0) {
			errno = k == 0 ? ENOSPC : errno;
			return false;
		}
		p += k;
		n -= (size_t)k;
		at += (uint64_t)k;
	}
	return true;
}

int
trace_dir_below(int dir, const char *path)
{
	char name[NAME_MAX + 1];
	int at = dir, next;
	size_t n;

	for (; *path != '\0'; path += n + (path[n] == '/')) {
		n = strcspn(path, "/");
		if (n > NAME_MAX) {
			errno = ENAMETOOLONG;
			next = -1;
		} else {
			memcpy(name, path, n);
			name[n] = '\0';
			next = mkdirat(at, name, 0777) == 0 || errno == EEXIST
				   ? openat(at, name,
					 O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
					     O_CLOEXEC)
				   : -1;
		}
		if (at != dir) {
			const int error = errno;

			close(at);
			errno = error;
		}
		if (next < 0)
			return -1;
		at = next;
	}
	return at == dir ? dup(dir) : at;
}
