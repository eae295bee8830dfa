/* SPDX-License-Identifier: MIT */
/*
 * A file system in memory, in place of store/dir.c, store/journal.c and the
 * system calls that store/ makes on descriptors. The rest of store/ is the
 * real one. A program links libfakefs.a before libstore.a and with
 * $(FAKE_FS_LDFLAGS); everything else that it opens is real. One thread.
 */
#ifndef TESTS_LIB_FAKE_FS_H
#define TESTS_LIB_FAKE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begin with an empty output directory; returns its descriptor. All that was
 * there before is gone. Ends the program if a descriptor or a lock of the
 * directory before was left. */
int fake_fs_begin(void);
/* Free everything, with the same checks. */
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

/* From now on there is space for so many bytes more, in files and in space that
 * is taken for them; folders and empty files take 1 byte. The default,
 * UINT64_MAX: any number, but there is no reserve. */
void fake_fs_set_space(uint64_t bytes);

/* The N-th opening of a directory from now fails, once; 0: none. */
void fake_fs_fail_open(unsigned n);

/* From now on, until fake_fs_begin(): */
enum fake_fs_fault {
	FAKE_FS_FULL = 1,     /* no file or directory can be made */
	FAKE_FS_NO_LOCKS = 2, /* there is no flock(2) */
	FAKE_FS_KEEPS = 4,    /* no file can be removed */
	FAKE_FS_NO_STAT = 8,  /* a file that is open cannot be looked at */
	FAKE_FS_KEEPS_INDEX =
	    16, /* no file in a folder "index" can be removed */
	FAKE_FS_BROKEN =
	    32, /* no file can be written, whatever space there is */
};
void fake_fs_fail(unsigned faults); /* or-ed; 0: none */

#endif
