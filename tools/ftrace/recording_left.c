/* SPDX-License-Identifier: MIT */
/* What a listener that was killed has left. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "tools/ftrace/message.h"
#include "tools/ftrace/recording_internal.h"

/* The recorder's name, which stands between prefix and suffix. False: this is
 * no directory of a recording of ours. */
static bool
find_name(char out[RECORDING_NAME_MAX], const char *entry, const char *prefix)
{
	const size_t before = strlen(prefix) + 2;
	const size_t all = strlen(entry), behind = strlen(NAME_SUFFIX);

	if (*entry != '.' || all <= before + behind ||
	    strncmp(entry + 1, prefix, before - 2) != 0 ||
	    entry[before - 1] != '.' ||
	    strcmp(entry + all - behind, NAME_SUFFIX) != 0 ||
	    all - before - behind >= RECORDING_NAME_MAX)
		return false;
	memcpy(out, entry + before, all - before - behind);
	out[all - before - behind] = '\0';
	return true;
}

/* The size of the file NAME in the directory; false: there is none. */
static bool
size_of(int dir, const char *name, uint64_t *size)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !S_ISREG(st.st_mode))
		return false;
	*size = (uint64_t)st.st_size;
	return true;
}

static uint32_t
count_parts(int dir)
{
	char name[PATH_ROOM];
	uint64_t size;
	uint32_t n = 0;

	for (recording_part_name(name, n);
	     n < MESSAGE_CPUS_MAX && size_of(dir, name, &size);
	     recording_part_name(name, ++n))
		;
	return n;
}

/* The recording in the directory ENTRY, which is locked and open as FD. */
static struct recording *
take_left(const struct recordings *in, const char *entry, const char *name,
    int take_fd)
{
	const uint32_t cpus = count_parts(take_fd);
	struct recording *r = recording_alloc(in, name, cpus);
	char part[PATH_ROOM];

	if (r == NULL) {
		close(take_fd);
		return NULL;
	}
	r->is_kept = true;
	r->work_fd = take_fd;
	snprintf(r->work, sizeof(r->work), "%s", entry);
	for (uint32_t i = 0; i < cpus; i++) {
		recording_part_name(part, i);
		if (size_of(take_fd, part, &r->parts[i].size))
			r->parts[i].received = r->parts[i].size;
	}
	if (size_of(take_fd, "metadata", &r->metadata_size) &&
	    r->metadata_size <= METADATA_BYTES_MAX)
		r->metadata_fd = openat(
		    take_fd, "metadata", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return r;
}

static struct recording *
try_entry(const struct recordings *in, const char *entry)
{
	char name[RECORDING_NAME_MAX];
	int fd;

	if (!find_name(name, entry, in->prefix))
		return NULL;
	fd = openat(
	    in->dir_fd, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		close(fd);
		return NULL;
	}
	return take_left(in, entry, name, fd);
}

void
recordings_find_left(const struct recordings *in,
    void (*found)(void *arg, struct recording *take), void *arg)
{
	const int fd = openat(
	    in->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (d == NULL) {
		log_errno(LOG_ERROR, "the directory cannot be read");
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(d)) != NULL) {
		struct recording *r = try_entry(in, e->d_name);

		if (r != NULL)
			found(arg, r);
	}
	closedir(d);
}
