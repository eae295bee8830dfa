/* SPDX-License-Identifier: MIT */
/* Which files of notes there are, and whose. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "store/notes_internal.h"

void
notes_file_name(unsigned number, const char *end, char out[NOTES_NAME_LEN])
{
	if (number <= 1)
		snprintf(out, NOTES_NAME_LEN, NOTES_NAME "%s", end);
	else
		snprintf(out, NOTES_NAME_LEN, NOTES_NAME ".%u%s", number, end);
}

/* NULL: it can be a file of ours. */
static const char *
why_no_notes(const struct stat *sb)
{
	if (!S_ISREG(sb->st_mode))
		return "it is not a regular file";
	if (sb->st_uid != geteuid())
		return "it belongs to another user";
	if (sb->st_nlink > 1)
		return "it has another name, too";
	if ((uint64_t)sb->st_size > NOTES_BYTES_MAX)
		return "it is too large";
	return NULL;
}

bool
notes_file_is_at(int base_fd, const char *name, int fd)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 &&
	       fstatat(base_fd, name, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
	       a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

enum status
notes_file_open(struct notes_file *f, int base_fd, unsigned number)
{
	const char *why = NULL;
	char name[NOTES_NAME_LEN];
	struct stat sb;

	notes_file_name(number, "", name);
	*f = (struct notes_file){ .fd = -1, .number = number };
	/* Opening anything but a regular file may have an effect. */
	if (fstatat(base_fd, name, &sb, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? E_NOENT : E_BUSY;
	why = why_no_notes(&sb);
	if (why == NULL) {
		f->fd = openat(base_fd, name,
		    O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
		why = f->fd < 0 || fstat(f->fd, &sb) != 0
			  ? "it cannot be opened"
			  : why_no_notes(&sb);
	}
	if (why == NULL && flock(f->fd, LOCK_EX | LOCK_NB) == 0 &&
	    notes_file_is_at(base_fd, name, f->fd))
		return OK;
	if (why != NULL)
		log_warn("%s is not used as notes of the relay: %s", name, why);
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	return E_BUSY;
}

void
notes_file_remove_left(int base_fd, unsigned number)
{
	char name[NOTES_NAME_LEN];
	struct stat sb;
	int fd;

	notes_file_name(number, ".new", name);
	if (fstatat(base_fd, name, &sb, AT_SYMLINK_NOFOLLOW) != 0 ||
	    why_no_notes(&sb) != NULL)
		return;
	fd = openat(
	    base_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		(void)unlinkat(base_fd, name, 0);
	close(fd);
}
