/* SPDX-License-Identifier: MIT */
/*
 * Directories and files below a directory descriptor, never outside it: every
 * path is resolved with openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS), or
 * component by component with O_NOFOLLOW where the kernel has no openat2. So a
 * name that a peer chose (already a relpath) cannot lead out of BASE, nor
 * through a link that somebody made.
 *
 * Paths are relative; "" is BASE itself. After a failure errno says why: the
 * caller knows what to log. E_NOENT, E_EXISTS, E_NOSPC (no room, or over a
 * quota), E_IO. New directories have mode 0770, files 0660, both less the umask
 * (streaming 5.1). Any thread.
 */
#ifndef STORE_DIR_H
#define STORE_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

/* Which directory or file it is. An inode number may be used again when its
 * file was removed, but the time of its birth is then another one. */
struct dir_id {
	uint64_t device, ino;
	uint64_t born; /* ns since the epoch; 0: the file system does not say */
};

/* A descriptor for reading and flock(2); the caller closes it. */
enum status dir_open(int *out, int base, const char *path) MUST_CHECK;
/* Make one directory, whose parent exists. E_EXISTS when the name is taken. */
enum status dir_create(int base, const char *path) MUST_CHECK;
/* Make every component that is missing; an existing directory is fine. */
enum status dir_create_path(int base, const char *path) MUST_CHECK;
/* FLAGS as for open(2); O_CLOEXEC and O_NOFOLLOW are added. */
enum status dir_open_file(
    int *out, int base, const char *path, int flags) MUST_CHECK;
/* Bytes of the file; 0: it is not there. */
uint64_t dir_file_size(int base, const char *path);
/* The caller may ignore a failure of these two. dir_remove() is rmdir(2). */
enum status dir_unlink(int base, const char *path);
enum status dir_remove(int base, const char *path);
/* Replaces nothing: E_EXISTS when TO exists. */
enum status dir_rename(int base, const char *from, const char *to) MUST_CHECK;
bool dir_is_empty(int fd);
/* Have the names in the directory PATH, and in each one above it up to BASE, on
 * the disk. It may take long. */
enum status dir_sync(int base, const char *path) MUST_CHECK;
/* The same without those above it, which are there already. */
enum status dir_sync_one(int base, const char *path) MUST_CHECK;
enum status dir_identify(struct dir_id *out, int fd) MUST_CHECK;
static inline bool
dir_is_same(const struct dir_id *a, const struct dir_id *b)
{
	return a->device == b->device && a->ino == b->ino && a->born == b->born;
}
/*
 * Can files be made in the directory FD? The function tries it: permissions do
 * not bind root, but a read-only file system or a file server does. Nothing is
 * left behind, even if the process is killed meanwhile; but on file systems
 * without O_TMPFILE an empty directory may then stay until the next try. False:
 * errno says why. Also true when only space or descriptors are missing: that
 * may pass.
 */
bool dir_is_writable(int fd) MUST_CHECK;

/* Bytes that this process can still write on FD's file system, and all bytes
 * that it has. A quota is not seen. */
enum status dir_free_space(uint64_t *left, uint64_t *total, int fd) MUST_CHECK;
/* A file without a name in the directory FD, for writing: it is gone when it is
 * closed, also if the process is killed. The caller closes it. */
enum status dir_create_unnamed(int *out, int fd) MUST_CHECK;
/* Give the file FD, of FROM bytes, room on the disk up to the byte TO. On
 * failure it is as it was. */
enum status dir_reserve(int fd, uint64_t from, uint64_t to) MUST_CHECK;

/* For tests: behave as on a kernel without openat2. */
void dir_without_openat2(bool on);

#endif
