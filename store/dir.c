/* SPDX-License-Identifier: MIT */
#include "store/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/relpath.h"

#define DIR_MODE 0770
#define FILE_MODE 0660
/* This file is created and removed on file systems without O_TMPFILE. */
#define UNNAMED ".tracepulse-reserve"

static bool is_without_openat2;

void
dir_without_openat2(bool on)
{
	is_without_openat2 = on;
}

static enum status
from_errno(void)
{
	switch (errno) {
	case ENOENT:
		return E_NOENT;
	case EEXIST:
	case ENOTEMPTY:
		return E_EXISTS;
	case ENOSPC:
	case EDQUOT:
		return E_NOSPC;
	default:
		return E_IO;
	}
}

/* Copy the first component of *PATH to NAME. Returns false if it is not
 * allowed. */
static bool
next_component(const char **path, char name[256])
{
	size_t n = strcspn(*path, "/");

	if (n == 0 || n > 255 || (n == 2 && memcmp(*path, "..", 2) == 0)) {
		errno = EXDEV;
		return false;
	}
	memcpy(name, *path, n);
	name[n] = '\0';
	*path += n + ((*path)[n] == '/');
	return true;
}

/* Does what openat2() does, for kernels without it. */
static int
open_by_components(int base, const char *path, int flags, mode_t mode)
{
	char name[256];
	int fd, at = base;

	do {
		if (!next_component(&path, name)) {
			fd = -1;
			break;
		}
		if (*path == '\0')
			fd = openat(at, name, flags | O_NOFOLLOW, mode);
		else
			fd = openat(at, name,
			    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (at != base)
			close(at);
		at = fd;
	} while (fd >= 0 && *path != '\0');
	return fd;
}

static int
open_beneath(int base, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
		.mode = (flags & O_CREAT) != 0 ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS,
	};
	long fd = -1;

	if (*path == '\0')
		path = ".";
	errno = ENOSYS;
	if (!is_without_openat2)
		do {
			fd = syscall(
			    SYS_openat2, base, path, &how, sizeof(how));
		} while (fd < 0 && errno == EAGAIN);
	/* EPERM: from a seccomp filter that does not know openat2(). */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return open_by_components(base, path, flags | O_CLOEXEC, mode);
	return (int)fd;
}

enum status
dir_open(int *out, int base, const char *path)
{
	*out = open_beneath(base, path, O_RDONLY | O_DIRECTORY, 0);
	return *out < 0 ? from_errno() : OK;
}

enum status
dir_open_file(int *out, int base, const char *path, int flags)
{
	*out = open_beneath(base, path, flags | O_NOFOLLOW, FILE_MODE);
	return *out < 0 ? from_errno() : OK;
}

uint64_t
dir_file_size(int base, const char *path)
{
	const int fd = open_beneath(base, path, O_PATH | O_NOFOLLOW, 0);
	struct stat sb;
	uint64_t n = 0;

	if (fd < 0)
		return 0;
	if (fstat(fd, &sb) == 0)
		n = (uint64_t)sb.st_size;
	close(fd);
	return n;
}

/*
 * Open the directory that holds the last component of PATH; *LEAF points at
 * that component. *OUT is a new descriptor, or BASE itself: see close_after().
 */
static enum status
open_parent(int *out, int base, const char *path, const char **leaf)
{
	const char *slash = strrchr(path, '/');
	char parent[RELPATH_MAX];
	size_t n;

	*leaf = slash == NULL ? path : slash + 1;
	*out = base;
	if (slash == NULL)
		return OK;
	n = (size_t)(slash - path);
	if (n >= sizeof(parent)) {
		errno = ENAMETOOLONG;
		return E_IO;
	}
	memcpy(parent, path, n);
	parent[n] = '\0';
	*out = open_beneath(base, parent, O_PATH | O_DIRECTORY, 0);
	return *out < 0 ? from_errno() : OK;
}

/* Close the descriptor from open_parent(). Returns the status of the call
 * before it, and keeps its errno. */
static enum status
close_after(int base, int fd, int result)
{
	enum status st = result != 0 ? from_errno() : OK;

	if (fd != base)
		dir_close(fd);
	return st;
}

enum status
dir_create(int base, const char *path)
{
	const char *leaf;
	enum status st;
	int fd;

	st = open_parent(&fd, base, path, &leaf);
	return st != OK ? st
			: close_after(base, fd, mkdirat(fd, leaf, DIR_MODE));
}

/* Is PATH a directory? */
static enum status
check_dir(int base, const char *path)
{
	int fd = open_beneath(base, path, O_PATH | O_DIRECTORY, 0);

	if (fd < 0)
		return from_errno();
	close(fd);
	return OK;
}

/* Create each missing component, from the first on. */
static enum status
create_missing(int base, const char *path)
{
	char above[RELPATH_MAX];
	const char *slash = path;
	enum status st;

	while ((slash = strchr(slash, '/')) != NULL) {
		snprintf(
		    above, sizeof(above), "%.*s", (int)(slash++ - path), path);
		st = dir_create(base, above);
		if (st != OK && st != E_EXISTS)
			return st;
	}
	return dir_create(base, path);
}

enum status
dir_create_path(int base, const char *path)
{
	enum status st = check_dir(base, path);

	/* Usually PATH exists, or only its last component is missing. */
	if (st == E_NOENT)
		st = dir_create(base, path);
	if (st == E_NOENT)
		st = create_missing(base, path);
	/* Another worker created or removed it first. */
	return st == E_EXISTS ? check_dir(base, path) : st;
}

static enum status
remove_name(int base, const char *path, int flags)
{
	const char *leaf;
	enum status st;
	int fd;

	st = open_parent(&fd, base, path, &leaf);
	return st != OK ? st : close_after(base, fd, unlinkat(fd, leaf, flags));
}

enum status
dir_unlink(int base, const char *path)
{
	return remove_name(base, path, 0);
}

enum status
dir_remove(int base, const char *path)
{
	return remove_name(base, path, AT_REMOVEDIR);
}

enum status
dir_rename(int base, const char *from, const char *to)
{
	const char *leaf_from, *leaf_to;
	int fd_from, fd_to, ret;
	enum status st;

	st = open_parent(&fd_from, base, from, &leaf_from);
	if (st != OK)
		return st;
	st = open_parent(&fd_to, base, to, &leaf_to);
	if (st != OK)
		return close_after(base, fd_from, -1);
	ret = renameat2(fd_from, leaf_from, fd_to, leaf_to, RENAME_NOREPLACE);
	/* Not all file systems support this; rename(2) replaces only empty
	 * directories. */
	if (ret != 0 && errno == EINVAL)
		ret = renameat(fd_from, leaf_from, fd_to, leaf_to);
	(void)close_after(base, fd_from, ret);
	return close_after(base, fd_to, ret);
}

bool
dir_is_writable(int fd)
{
	struct stat st;
	int file;

	/* Files without a name can be created even in a removed directory. */
	if (fstat(fd, &st) == 0 && st.st_nlink == 0) {
		errno = ENOENT;
		return false;
	}
	if (dir_create_unnamed(&file, fd) == OK) {
		close(file);
		return true;
	}
	/* EEXIST: another worker was first. */
	return errno == EEXIST || errno == ENOSPC || errno == EDQUOT ||
	       errno == EMFILE || errno == ENFILE || errno == ENOMEM;
}

bool
dir_is_empty(int fd)
{
	/* Keep the read position of FD. */
	const int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *e;
	bool is_empty;
	DIR *d;

	if (copy < 0)
		return false;
	d = fdopendir(copy);
	if (d == NULL) {
		close(copy);
		return false;
	}
	do {
		errno = 0;
		e = readdir(d);
	} while (e != NULL &&
		 (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0));
	is_empty = e == NULL && errno == 0;
	closedir(d);
	return is_empty;
}

enum status
dir_identify(struct dir_id *out, int fd)
{
	struct statx sx;

	*out = (struct dir_id){ 0 };
	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &sx) != 0)
		return from_errno();
	out->device = (uint64_t)sx.stx_dev_major << 32 | sx.stx_dev_minor;
	out->ino = sx.stx_ino;
	if ((sx.stx_mask & STATX_BTIME) != 0 && sx.stx_btime.tv_sec >= 0)
		out->born = (uint64_t)sx.stx_btime.tv_sec * 1000000000 +
			    sx.stx_btime.tv_nsec;
	return OK;
}

enum status
dir_sync_one(int base, const char *path)
{
	enum status st = OK;
	int fd;

	fd = open_beneath(base, path, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return from_errno();
	/* EINVAL: the file system cannot sync directories. */
	if (fsync(fd) != 0 && errno != EINVAL)
		st = from_errno();
	dir_close(fd);
	return st;
}

enum status
dir_sync(int base, const char *path)
{
	char part[2 * RELPATH_MAX];
	enum status st;
	char *slash;

	if (strlen(path) >= sizeof(part)) {
		errno = ENAMETOOLONG;
		return E_IO;
	}
	memcpy(part, path, strlen(path) + 1);
	for (;;) {
		st = dir_sync_one(base, part);
		if (st != OK || part[0] == '\0')
			return st;
		slash = strrchr(part, '/');
		*(slash == NULL ? part : slash) = '\0';
	}
}

enum status
dir_free_space(uint64_t *left, uint64_t *total, int fd)
{
	struct statvfs st;

	if (fstatvfs(fd, &st) != 0)
		return E_IO;
	/* Root may use the reserved blocks. */
	*left = (uint64_t)(geteuid() == 0 ? st.f_bfree : st.f_bavail) *
		st.f_frsize;
	*total = (uint64_t)st.f_blocks * st.f_frsize;
	return OK;
}

enum status
dir_create_unnamed(int *out, int fd)
{
	const int flags = O_WRONLY | O_CLOEXEC;

	*out = openat(fd, ".", O_TMPFILE | flags, FILE_MODE);
	if (*out >= 0)
		return OK;
	if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
		return from_errno();
	/* Several workers may do this at the same time, each for an instant. A
	 * file that exists already may be left from a killed process. */
	(void)unlinkat(fd, UNNAMED, 0);
	*out = openat(
	    fd, UNNAMED, flags | O_CREAT | O_EXCL | O_NOFOLLOW, FILE_MODE);
	if (*out < 0)
		return from_errno();
	(void)unlinkat(fd, UNNAMED, 0);
	return OK;
}

enum status
dir_reserve(int fd, uint64_t from, uint64_t to)
{
	const int code = posix_fallocate(fd, (off_t)from, (off_t)(to - from));

	if (code == 0)
		return OK;
	(void)ftruncate(fd, (off_t)from);
	errno = code;
	return from_errno();
}
