/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/flush_percent.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRACEFS "/sys/kernel/tracing"
/* The kernel's default. */
#define PERCENT_MAX 50
#define PATH_ROOM 512

/* What is in the file, of SIZE bytes; false with errno. */
static bool
read_text(const char *path, char *out, size_t size)
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
write_text(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	const bool is_ok = fd >= 0 && write(fd, text, strlen(text)) ==
					  (ssize_t)strlen(text);
	const int err = errno;

	if (fd >= 0)
		close(fd);
	errno = err;
	return is_ok;
}

/* The last number in a file beside PATH; 0: there is none. A ring buffer that
 * was never used is "7 (expanded: 1408)". */
static uint64_t
number_beside(const char *path, const char *name)
{
	const int n = (int)(strrchr(path, '/') - path);
	char file[PATH_ROOM], text[64];
	uint64_t number = 0;

	(void)snprintf(file, sizeof(file), "%.*s/%s", n, path, name);
	if (!read_text(file, text, sizeof(text)))
		return 0;
	for (char *at = text; *at != '\0';)
		if (isdigit((unsigned char)*at))
			number = strtoull(at, &at, 10);
		else
			at++;
	return number;
}

/* A CPU's ring buffer in pages. */
static uint64_t
count_pages(const char *path)
{
	const uint64_t kib = number_beside(path, "buffer_size_kb");
	const uint64_t page = number_beside(path, "buffer_subbuf_size_kb");

	return kib * 1024 /
	       (page > 0 ? page * 1024 : (uint64_t)sysconf(_SC_PAGESIZE));
}

unsigned
flush_percent_of(uint64_t pages)
{
	const uint64_t percent = pages == 0
				     ? PERCENT_MAX
				     : ((FLUSH_PAGES + 1) * 100 + pages - 1) /
					   pages;

	return percent > PERCENT_MAX ? PERCENT_MAX : (unsigned)percent;
}

static struct flush_buffer *
known(struct flush_percent *p, const char *path)
{
	for (unsigned i = 0; i < p->n; i++)
		if (strcmp(p->buffers[i].path, path) == 0)
			return &p->buffers[i];
	return NULL;
}

/* The buffer at PATH; its file says NOW. */
static struct flush_buffer *
take(struct flush_percent *p, const char *path, const char *now)
{
	struct flush_buffer *b = known(p, path);

	if (b == NULL) {
		if (p->n == FLUSH_BUFFERS_MAX ||
		    strlen(path) >= sizeof(b->path))
			return NULL;
		b = &p->buffers[p->n++];
		(void)snprintf(b->path, sizeof(b->path), "%s", path);
		b->ours[0] = '\0';
	}
	/* It is new, also if there was one of this name before; or somebody has
	 * changed it. */
	if (strcmp(now, b->ours) != 0)
		(void)snprintf(b->before, sizeof(b->before), "%s", now);
	return b;
}

/* The recorder may have changed the size of its buffer meanwhile. */
static bool
set_one(struct flush_percent *p, const char *path)
{
	struct flush_buffer *b;
	char now[sizeof(b->before)], want[sizeof(b->ours)];

	if (!read_text(path, now, sizeof(now)))
		return false;
	b = take(p, path, now);
	if (b == NULL)
		return false;
	(void)snprintf(
	    want, sizeof(want), "%u\n", flush_percent_of(count_pages(path)));
	if (strcmp(want, now) != 0 && !write_text(path, want))
		return false;
	memcpy(b->ours, want, sizeof(want));
	return true;
}

/* Their places are for others. */
static void
forget_gone(struct flush_percent *p)
{
	for (unsigned i = p->n; i > 0; i--)
		if (access(p->buffers[i - 1].path, F_OK) != 0 &&
		    errno == ENOENT)
			p->buffers[i - 1] = p->buffers[--p->n];
}

enum status
flush_percent_set(struct flush_percent *p)
{
	const char *tracefs = p->tracefs != NULL ? p->tracefs : TRACEFS;
	char path[PATH_ROOM];
	glob_t found;
	bool is_ok;
	int err;

	forget_gone(p);
	(void)snprintf(path, sizeof(path), "%s/buffer_percent", tracefs);
	is_ok = set_one(p, path);
	err = errno;
	(void)snprintf(
	    path, sizeof(path), "%s/instances/*/buffer_percent", tracefs);
	if (glob(path, GLOB_NOSORT, NULL, &found) == 0) {
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

		if (read_text(b->path, now, sizeof(now)) &&
		    strcmp(now, b->ours) == 0)
			(void)write_text(b->path, b->before);
	}
}
