/* SPDX-License-Identifier: MIT */
/*
 * A file system in memory, in place of store/dir.c, store/journal.c and the
 * system calls that store/ makes on descriptors. The rest of store/ is the
 * real one. A program links libfakefs.a before libstore.a and with
 * $(FAKE_FS_LDFLAGS); everything else that it opens is real. One thread.
 */
#ifndef LIB_FAKE_FS_H
#define LIB_FAKE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An empty output directory and its descriptor; what was there is gone. Ends
 * the program if a descriptor or a lock of the one before was left. */
int fake_fs_begin(void);
/* Free everything; the same checks. */
void fake_fs_end(void);

/* Each file and directory below the output directory, in the order of their
 * paths, which are relative. P is NULL for a directory. */
void fake_fs_walk(
    void (*visit)(const char *path, const uint8_t *p, size_t n, void *arg),
    void *arg);

/* A digest of all paths and contents. */
uint64_t fake_fs_digest(void);

/* The N-th write from now fails, 1 being the next, after half of its bytes;
 * 0: none. */
void fake_fs_fail_write(unsigned n);

#endif
