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
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/ftrace/flush.h"

/* The kernel's default. */
#define PERCENT_MAX 50
#define PATH_SIZE 512

/* Bytes of the file that are locked: who runs has the first one, shared; who
 * reads or changes the table has the second one. */
enum { LOCK_RUNS, LOCK_TABLE };

/* The contents of the file. */
struct flush_table {
	struct flush_buffer {
		char path[320];
		char before[16]; /* as others have set it */
		char ours[16];	 /* "": not written yet */
	} buffers[FLUSH_BUFFERS_MAX];
	unsigned n;
};

/* Waits only for the table, which nobody holds for long. */
static bool
set_lock(const struct flush_percent *p, short type, off_t byte)
{
	const struct flock lock = { .l_type = type,
		.l_whence = SEEK_SET,
		.l_start = byte,
		.l_len = 1 };

	return fcntl(p->fd, byte == LOCK_TABLE ? F_OFD_SETLKW : F_OFD_SETLK,
		   &lock) == 0;
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

/* The last number in a file beside PATH; 0: none. A ring buffer that was never
 * used has "7 (expanded: 1408)". */
static uint64_t
number_in_same_dir(const char *path, const char *name)
{
	const int n = (int)(strrchr(path, '/') - path);
	char file[PATH_SIZE], text[64];
	uint64_t number = 0;

	(void)snprintf(file, sizeof(file), "%.*s/%s", n, path, name);
	if (!flush_read_text(file, text, sizeof(text)))
		return 0;
	for (char *at = text; *at != '\0';)
		if (isdigit((unsigned char)*at))
			number = strtoull(at, &at, 10);
		else
			at++;
	return number;
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
known(struct flush_table *p, const char *path)
{
	for (unsigned i = 0; i < p->n; i++)
		if (strcmp(p->buffers[i].path, path) == 0)
			return &p->buffers[i];
	return NULL;
}

/* Finds or adds the buffer at PATH, whose file contains NOW. */
static struct flush_buffer *
take(struct flush_table *p, const char *path, const char *now)
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
	/* The buffer is new, perhaps under an old name, or somebody has changed
	 * it. */
	if (strcmp(now, b->ours) != 0)
		(void)snprintf(b->before, sizeof(b->before), "%s", now);
	return b;
}

/* The recorder may have changed the size of its buffer. */
static bool
set_one(struct flush_table *p, const char *path)
{
	const uint64_t kib = number_in_same_dir(path, "buffer_size_kb");
	const uint64_t page_kib = number_in_same_dir(
	    path, "buffer_subbuf_size_kb");
	const uint64_t page = page_kib > 0 ? page_kib * 1024
					   : (uint64_t)sysconf(_SC_PAGESIZE);
	struct flush_buffer *b;
	char now[sizeof(b->before)], want[sizeof(b->ours)];

	if (!flush_read_text(path, now, sizeof(now)))
		return false;
	b = take(p, path, now);
	if (b == NULL)
		return false;
	(void)snprintf(
	    want, sizeof(want), "%u\n", flush_percent_of(kib * 1024 / page));
	if (strcmp(want, now) != 0 && !write_text(path, want))
		return false;
	memcpy(b->ours, want, sizeof(want));
	return true;
}

/* Frees the entries of buffers that no longer exist. */
static void
forget_gone(struct flush_table *p)
{
	for (unsigned i = p->n; i > 0; i--)
		if (access(p->buffers[i - 1].path, F_OK) != 0 &&
		    errno == ENOENT)
			p->buffers[i - 1] = p->buffers[--p->n];
}

/* Restores the values that nobody else has changed, if nobody else runs. */
static void
restore(struct flush_percent *p)
{
	struct flush_table *t = p->table;
	char now[sizeof(t->buffers[0].before)];

	if (!set_lock(p, F_WRLCK, LOCK_RUNS))
		return;
	while (t->n > 0) {
		const struct flush_buffer *b = &t->buffers[--t->n];

		if (flush_read_text(b->path, now, sizeof(now)) &&
		    strcmp(now, b->ours) == 0)
			(void)write_text(b->path, b->before);
	}
}

static enum status
map_table(struct flush_percent *p)
{
	struct stat s;

	p->fd = open(p->file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	/* That of another version is not used. */
	if (p->fd < 0 || !set_lock(p, F_WRLCK, LOCK_TABLE) ||
	    fstat(p->fd, &s) != 0 ||
	    (s.st_size != sizeof(*p->table) &&
		(ftruncate(p->fd, 0) != 0 ||
		    ftruncate(p->fd, sizeof(*p->table)) != 0)))
		return E_IO;
	p->table = mmap(NULL, sizeof(*p->table), PROT_READ | PROT_WRITE,
	    MAP_SHARED, p->fd, 0);
	if (p->table == MAP_FAILED)
		p->table = NULL;
	if (p->table == NULL)
		return E_IO;
	if (p->table->n > FLUSH_BUFFERS_MAX)
		p->table->n = 0;
	return OK;
}

enum status
flush_percent_begin(struct flush_percent *p)
{
	if (p->table != NULL)
		return OK;
	if (map_table(p) != OK) {
		const int err = errno;

		if (p->fd >= 0)
			close(p->fd);
		errno = err;
		return E_IO;
	}
	if (p->table->n > 0)
		restore(p); /* what a killed one has left */
	(void)set_lock(p, F_RDLCK, LOCK_RUNS);
	(void)set_lock(p, F_UNLCK, LOCK_TABLE);
	return OK;
}

enum status
flush_percent_set(struct flush_percent *p)
{
	char path[PATH_SIZE];
	glob_t found;
	bool is_ok;
	int err;

	(void)set_lock(p, F_WRLCK, LOCK_TABLE);
	forget_gone(p->table);
	(void)snprintf(path, sizeof(path), "%s/buffer_percent", p->tracefs);
	is_ok = set_one(p->table, path);
	err = errno;
	(void)snprintf(
	    path, sizeof(path), "%s/instances/*/buffer_percent", p->tracefs);
	if (glob(path, GLOB_NOSORT, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			(void)set_one(p->table, found.gl_pathv[i]);
		globfree(&found);
	}
	(void)set_lock(p, F_UNLCK, LOCK_TABLE);
	errno = err;
	return is_ok ? OK : E_IO;
}

void
flush_percent_end(struct flush_percent *p)
{
	if (p->table == NULL)
		return;
	(void)set_lock(p, F_WRLCK, LOCK_TABLE);
	restore(p);
	(void)munmap(p->table, sizeof(*p->table));
	p->table = NULL;
	close(p->fd);
}
