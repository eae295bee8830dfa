/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/plugin/output.h"

int
output_open(const char *path)
{
	if (path == NULL || strcmp(path, "-") == 0)
		return STDOUT_FILENO;
	return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

static bool
write_all(int fd, const char *bytes, size_t len)
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
output_write(int fd, const char *bytes, size_t len)
{
	sigset_t pipe_only, before, pending;
	bool ok;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
	ok = write_all(fd, bytes, len);
	if (!ok && errno == EPIPE) {
		if (!sigismember(&pending, SIGPIPE))
			sigtimedwait(&pipe_only, NULL, &(struct timespec){ 0 });
		errno = EPIPE;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ok;
}

bool
output_close(int fd)
{
	return fd == STDOUT_FILENO || close(fd) == 0;
}
