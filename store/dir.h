/* SPDX-License-Identifier: MIT */
/*
 * Directories and files below a directory descriptor, never outside it: every
 * path is resolved with openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS), or
 * component by component with O_NOFOLLOW on kernels without openat2. So a name
 * that a peer chose (already a relpath) cannot lead out of BASE or through a
 * symbolic link.
 *
 * Paths are relative; "" is BASE itself. After a failure errno is set, and the
 * caller logs it. E_NOENT, E_EXISTS, E_NOSPC (disk full or quota exceeded),
 * E_IO. New directories have mode 0770, files 0660, both minus the umask
 * (streaming 5.1). Any thread.
 */
#ifndef STORE_DIR_H
#define STORE_DIR_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "common/compiler.h"
#include "common/status.h"

/* Identifies a directory or file. An inode number may be reused after its file
 * was removed, but with another time of birth. */
struct dir_id {
	uint64_t device, ino;
	uint64_t born; /* ns since the epoch; 0: not supported */
};

/* A descriptor for reading and flock(2); the caller closes it. */
enum status dir_open(int *out, int base, const char *path) MUST_CHECK;
/* Create one directory in an existing one. E_EXISTS: the name is taken. */
enum status dir_create(int base, const char *path) MUST_CHECK;
/* Create every missing component. */
enum status dir_create_path(int base, const char *path) MUST_CHECK;
/* FLAGS as for open(2); O_CLOEXEC and O_NOFOLLOW are added. */
enum status dir_open_file(
    int *out, int base, const char *path, int flags) MUST_CHECK;
/* The size of the file; 0 if it does not exist. */
uint64_t dir_file_size(int base, const char *path);
/* The caller may ignore failures of these two. dir_remove() is rmdir(2). */
enum status dir_unlink(int base, const char *path);
enum status dir_remove(int base, const char *path);
/* E_EXISTS: TO exists; nothing is replaced. */
enum status dir_rename(int base, const char *from, const char *to) MUST_CHECK;
bool dir_is_empty(int fd);
/* Sync the names in the directory PATH and in each one above it up to BASE. It
 * may take long. */
enum status dir_sync(int base, const char *path) MUST_CHECK;
/* Sync the names in the directory PATH only. */
enum status dir_sync_one(int base, const char *path) MUST_CHECK;
enum status dir_identify(struct dir_id *out, int fd) MUST_CHECK;
static inline bool
dir_is_same(const struct dir_id *a, const struct dir_id *b)
{
	return a->device == b->device && a->ino == b->ino && a->born == b->born;
}
/*
 * Can files be created in the directory FD? Tries it with dir_create_unnamed(),
 * because permissions do not restrict root, but a read-only file system or a
 * file server does. Returns false with errno set; returns true if only space or
 * descriptors are missing, which may be temporary.
 */
bool dir_is_writable(int fd) MUST_CHECK;

/* The free bytes that this process may use on FD's file system, and its size.
 * Quotas are ignored. */
enum status dir_free_space(uint64_t *left, uint64_t *total, int fd) MUST_CHECK;
/* Create a file without a name in the directory FD, for writing: it disappears
 * when it is closed, even if the process is killed. On file systems without
 * O_TMPFILE (NFS, FUSE) it has a name for an instant; after a kill then, an
 * empty file stays until the next call. */
enum status dir_create_unnamed(int *out, int fd) MUST_CHECK;
/* Allocate disk space from FROM, the size of the file FD, up to TO. On failure
 * the file is as it was. */
enum status dir_reserve(int fd, uint64_t from, uint64_t to) MUST_CHECK;

/* close(2), keeping errno. */
static inline void
dir_close(int fd)
{
	const int saved = errno;

	(void)close(fd);
	errno = saved;
}

/* For tests: behave like a kernel without openat2. */
void dir_without_openat2(bool on);

#endif
