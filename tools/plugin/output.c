/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "tools/plugin/output.h"

int
output_open(const char *path)
{
	if (path == NULL || strcmp(path, "-") == 0)
		return STDOUT_FILENO;
	return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

bool
output_write(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno == EAGAIN) {
			/* the other end of a terminal may have made it so */
			poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1,
			    -1);
		} else if (n < 0 && errno != EINTR) {
			return false;
		} else if (n > 0) {
			bytes += n;
			len -= (size_t)n;
		}
	}
	return true;
}

bool
output_close(int fd)
{
	return fd == STDOUT_FILENO || close(fd) == 0;
}
