/* SPDX-License-Identifier: MIT */
#include "store/output.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "store/dir.h"
#include "store/journal.h"

/* Sync the name PATH if possible. It is slow, but done once for each output
 * directory. */
static void
sync_parent(const char *path)
{
	char parent[PATH_MAX];
	char *slash;
	int fd;

	(void)snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	if (slash == NULL)
		return;
	slash[slash == parent] = '\0';
	fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fsync(fd) != 0)
		log_errno(LOG_INFO, "%s: cannot sync the directory", parent);
	close(fd);
}

/* Create PATH with its parents. Returns 0, or the errno of the component that
 * failed. */
static int
make_path(const char *path, mode_t mode)
{
	char part[PATH_MAX];
	size_t n, len = strlen(path);

	for (n = 1; n <= len && len < sizeof(part); n++) {
		n += strcspn(path + n, "/");
		memcpy(part, path, n);
		part[n] = '\0';
		if (mkdir(part, mode) == 0)
			sync_parent(part);
		else if (errno != EEXIST)
			return errno;
	}
	return 0;
}

static int
open_made(const char *path, mode_t mode)
{
	const int why = make_path(path, mode);
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* ENOENT is a consequence of WHY, the first failure. */
	if (fd < 0 && errno == ENOENT && why != 0)
		errno = why;
	return fd;
}

int
output_open_state(const char *path)
{
	return open_made(path, 0750);
}

int
output_open(const char *path)
{
	const int fd = open_made(path, 0770);

	if (fd >= 0 && dir_is_writable(fd))
		return fd;
	log_peer_errno(LOG_ERROR,
	    "output directory %s: make it writable for user %u, or give "
	    "another with --output",
	    path, (unsigned)geteuid());
	if (fd >= 0)
		close(fd);
	return -1;
}

enum status
output_create(struct output **out, int fd, bool owns_fd,
    const struct journal_config *config)
{
	struct output *o = calloc(1, sizeof(*o));
	struct journal_config with_reserve = { 0 };

	*out = NULL;
	if (config != NULL)
		with_reserve = *config;
	if (o != NULL) {
		reserve_init(&o->reserve, fd);
		with_reserve.reserve = &o->reserve;
	}
	if (o == NULL || journal_create(&o->journal, fd, &with_reserve) != OK) {
		if (owns_fd)
			close(fd);
		free(o);
		return E_NOMEM;
	}
	(void)reserve_tick(&o->reserve);
	/* If this fails, directories of all outputs count as one. */
	(void)!dir_identify(&o->id, fd);
	o->refs = 1;
	o->fd = fd;
	o->owns_fd = owns_fd;
	*out = o;
	return OK;
}

struct output *
output_get(struct output *o)
{
	assert(o->refs > 0);
	o->refs++;
	return o;
}

void
output_put(struct output *o)
{
	if (o == NULL || --o->refs > 0)
		return;
	journal_destroy(o->journal);
	reserve_free(&o->reserve);
	if (o->owns_fd)
		close(o->fd);
	free(o);
}

bool
output_is_at(const struct output *o, const char *path)
{
	struct stat ours, there;

	if (fstat(o->fd, &ours) != 0)
		return true;
	if (stat(path, &there) != 0)
		return errno != ENOENT && ours.st_nlink > 0;
	return ours.st_dev == there.st_dev && ours.st_ino == there.st_ino &&
	       !journal_is_gone(o->journal);
}
