/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "relayd/process/runfile.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"

/* Creates TMP with VALUE; *ST gets its inode and device. */
static enum status
write_new(const char *tmp, uint64_t value, struct stat *st)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%" PRIu64 "\n", value);
	int fd;
	bool is_written;

	/* Remove what a crash has left, or a file that others put there so that
	 * we write into it. */
	(void)unlink(tmp);
	fd = open(
	    tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return E_IO;
	is_written = write(fd, text, (size_t)n) == n && fstat(fd, st) == 0;
	return close(fd) == 0 && is_written ? OK : E_IO;
}

enum status
runfile_write(struct runfile *f, const char *path, uint64_t value)
{
	char tmp[PATH_MAX];
	struct stat st;

	*f = (struct runfile){ 0 };
	if (snprintf(tmp, sizeof(tmp), "%s.tmp", path) >= (int)sizeof(tmp)) {
		log_error("%s: the path is too long", path);
		return E_LIMIT;
	}
	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		log_error("%s: exists and is not a regular file", path);
		return E_EXISTS;
	}
	if (write_new(tmp, value, &st) != OK || rename(tmp, path) != 0) {
		log_errno(LOG_ERROR, "Failed to write %s", path);
		(void)unlink(tmp);
		return E_IO;
	}
	snprintf(f->path, sizeof(f->path), "%s", path);
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	return OK;
}

void
runfile_remove(struct runfile *f)
{
	struct stat st;

	if (f->path[0] != '\0' && lstat(f->path, &st) == 0 &&
	    st.st_dev == f->dev && st.st_ino == f->ino)
		(void)unlink(f->path);
	f->path[0] = '\0';
}
