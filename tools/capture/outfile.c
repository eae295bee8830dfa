/* SPDX-License-Identifier: MIT */
#include "tools/capture/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/publish.h"
#include "common/thread.h"
#include "tools/capture/privileges.h"

#define PIPE_SIZE \
	(1 << 20) /* fewer switches between both threads; larger is refused */
#define COPY_SIZE (1 << 16)

struct outfile {
	int fd;
	int reading, writing; /* the ends of the pipe */
	pthread_t thread;
	bool has_thread;
	struct published error; /* errno */
	char path[32];
	uint8_t copy[COPY_SIZE];
};

static bool
write_out(int fd, const uint8_t *p, size_t n)
{
	while (n > 0) {
		const ssize_t k = write(fd, p, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

/* After a failure the pipe is still emptied, so that the library does not
 * block. */
static void *
copy_all(void *arg)
{
	struct outfile *f = arg;
	ssize_t n;

	if (privileges_drop() != OK)
		publish(&f->error, (uint64_t)errno);
	while ((n = read(f->reading, f->copy, COPY_SIZE)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			publish(&f->error, (uint64_t)errno);
			break;
		}
		if (outfile_error(f) == 0 &&
		    !write_out(f->fd, f->copy, (size_t)n))
			publish(&f->error, (uint64_t)errno);
	}
	return NULL;
}

/* Signals are for the thread that calls us. */
static bool
start_copying(struct outfile *f)
{
	errno = thread_start(&f->thread, copy_all, f);
	f->has_thread = errno == 0;
	return f->has_thread;
}

enum status
outfile_create(struct outfile **out, const char *path)
{
	struct outfile *f = calloc(1, sizeof(*f));
	int ends[2];

	*out = NULL;
	if (f == NULL)
		return E_NOMEM;
	f->reading = f->writing = -1;
	f->fd = strcmp(path, "-") == 0
		    ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
		    : open(
			  path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (f->fd < 0 || pipe2(ends, O_CLOEXEC) != 0)
		goto fail;
	f->reading = ends[0];
	f->writing = ends[1];
	(void)fcntl(f->writing, F_SETPIPE_SZ, PIPE_SIZE);
	snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", f->writing);
	if (!start_copying(f))
		goto fail;
	*out = f;
	return OK;
fail:
	outfile_destroy(f);
	return E_IO;
}

const char *
outfile_path(const struct outfile *f)
{
	return f->path;
}

int
outfile_error(const struct outfile *f)
{
	return (int)published(&f->error);
}

/* Some file systems report only now that the disk was full. */
int
outfile_finish(struct outfile *f)
{
	if (f->writing >= 0)
		close(f->writing);
	f->writing = -1;
	if (f->has_thread)
		pthread_join(f->thread, NULL);
	f->has_thread = false;
	if (f->fd >= 0 && close(f->fd) != 0 && outfile_error(f) == 0)
		publish(&f->error, (uint64_t)errno);
	f->fd = -1;
	return outfile_error(f);
}

void
outfile_destroy(struct outfile *f)
{
	const int saved = errno;

	if (f == NULL)
		return;
	(void)!outfile_finish(f);
	if (f->reading >= 0)
		close(f->reading);
	free(f);
	errno = saved;
}
