/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/flush_percent.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TRACEFS "/sys/kernel/tracing"
#define NONE "0\n"

/* What is in the file, of SIZE bytes; false with errno. */
static bool
read_percent(const char *path, char *out, size_t size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
	const int err = errno;

	if (fd >= 0)
		close(fd);
	out[n < 0 ? 0 : n] = '\0';
	errno = err;
	return n > 0;
}

static bool
write_percent(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);
	const bool is_ok = fd >= 0 && write(fd, text, strlen(text)) ==
					  (ssize_t)strlen(text);
	const int err = errno;

	if (fd >= 0)
		close(fd);
	errno = err;
	return is_ok;
}

static bool
is_known(const struct flush_percent *p, const char *path)
{
	for (unsigned i = 0; i < p->n; i++)
		if (strcmp(p->buffers[i].path, path) == 0)
			return true;
	return false;
}

static bool
set_one(struct flush_percent *p, const char *path)
{
	struct flush_buffer *b = &p->buffers[p->n];

	if (is_known(p, path) || p->n == FLUSH_BUFFERS_MAX ||
	    strlen(path) >= sizeof(b->path))
		return true;
	if (!read_percent(path, b->before, sizeof(b->before)) ||
	    !write_percent(path, NONE))
		return false;
	(void)snprintf(b->path, sizeof(b->path), "%s", path);
	p->n++;
	return true;
}

enum status
flush_percent_set(struct flush_percent *p)
{
	const bool is_ok = set_one(p, TRACEFS "/buffer_percent");
	const int err = errno;
	glob_t found;

	if (glob(TRACEFS "/instances/*/buffer_percent", GLOB_NOSORT, NULL,
		&found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			(void)set_one(p, found.gl_pathv[i]);
		globfree(&found);
	}
	errno = err;
	return is_ok ? OK : E_IO;
}

void
flush_percent_restore(struct flush_percent *p)
{
	char now[sizeof(p->buffers[0].before)];

	while (p->n > 0) {
		const struct flush_buffer *b = &p->buffers[--p->n];

		if (read_percent(b->path, now, sizeof(now)) &&
		    strcmp(now, NONE) == 0)
			(void)write_percent(b->path, b->before);
	}
}
