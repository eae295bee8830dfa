/* SPDX-License-Identifier: MIT */
/*
 * The files of one recorder, from its first byte to PREFIX.HOST:PORT.dat.
 *
 * During the recording there is a directory .PREFIX.HOST:PORT.recording, locked
 * by flock(2), with the file "metadata" and a file "cpuN" for each CPU. At the
 * end they are joined in a file "joined", which is renamed to "whole" once it
 * is on disk; then the others are removed, and it is moved to its place. So a
 * file with its final name is complete, and the next start can continue after a
 * kill at any point, without joining twice. No existing file is overwritten: if
 * a name is taken, a number is appended.
 *
 * One thread at a time. recording_finish() waits for the disk, and may run in a
 * thread of its own once nobody else uses the recording.
 */
#ifndef TOOLS_FTRACE_RECORDING_H
#define TOOLS_FTRACE_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ftrace/dat_layout.h"

/* The most metadata of a recorder: /proc/kallsyms has 5 to 15 MB, all events 2
 * MB. */
#define METADATA_BYTES_MAX (64 << 20)
/* The most bytes of a recorder's name, HOST:PORT. */
#define RECORDING_NAME_MAX 160

/* The place of recordings. DIR_FD is borrowed, and must outlive them; -1: no
 * files are written, and only the metadata is kept, in memory. PREFIX is one
 * component of a path. */
struct recordings {
	int dir_fd;
	const char *prefix;
};

#define RECORDING_PATH_SIZE 512

struct recording_part {
	int fd;		   /* -1: closed */
	uint64_t received; /* bytes that arrived */
	uint64_t size;	   /* bytes in the file */
	bool is_cut;	   /* a page was not written: wait for the next one */
};

/* To be read by others, and changed only by recording.c. */
struct recording {
	struct recordings in;
	bool is_kept;			/* it has files */
	char name[RECORDING_NAME_MAX];	/* of the recorder */
	char work[RECORDING_PATH_SIZE]; /* name of the directory */
	char file[RECORDING_PATH_SIZE]; /* the final name; "": none */
	int work_fd, metadata_fd;
	uint64_t metadata_size;
	const uint8_t *map;
	size_t map_size;
	uint32_t page_size; /* 0: not known */
	bool has_failed;    /* a failure was logged */
	uint64_t lost;	    /* bytes that could not be written */
	uint32_t n_created; /* files of CPUs */
	uint32_t n_parts;   /* CPUs */
	struct recording_part parts[];
};

/* NAME is one component of a path, shorter than RECORDING_NAME_MAX. Failures
 * are logged. E_LIMIT: no name is free. */
enum status recording_create(struct recording **out,
    const struct recordings *in, const char *name, uint32_t cpus) MUST_CHECK;
/* Creates its files until UNTIL_NS, at least one; bytes may come when all
 * exist. E_MORE: call it again; E_IO (logged). */
enum status recording_create_files(
    struct recording *r, uint64_t until_ns) MUST_CHECK;
/* Closes it. Unless recording_finish() was called, its files stay for the next
 * start. NULL is fine. */
void recording_destroy(struct recording *r);

/* The most descriptors that it has open. */
static inline unsigned
recording_fds(uint32_t cpus)
{
	return cpus + 2;
}

/* Changes the name. If that fails, it is logged, and the name stays. */
void recording_rename(struct recording *r, const char *name);

/* Appends to the metadata. E_LIMIT, E_IO (logged). */
enum status recording_metadata(
    struct recording *r, const void *p, size_t n) MUST_CHECK;
/* Maps the metadata; call recording_unmap() after use. */
enum status recording_map(
    struct recording *r, const uint8_t **p, size_t *n) MUST_CHECK;
void recording_unmap(struct recording *r);

/* Appends to the pages of a CPU; set R->page_size first. Bytes that cannot be
 * written are counted, and the first failure is logged; storing continues with
 * the next whole page. */
void recording_pages(
    struct recording *r, uint32_t cpu, const void *p, size_t n);
/* Whole pages of CPU that arrived, also before a kill. 0: none, or their size
 * is not known. */
uint64_t recording_pages_received(const struct recording *r, uint32_t cpu);

/* Joins the files and moves the result to its place; R->file is its
 * name. Without whole metadata nothing could be read: all is removed, and the
 * name is "". Failures are logged; the next start tries again. */
enum status recording_finish(struct recording *r) MUST_CHECK;

/* Calls FOUND with each recording that was left by a process that has ended.
 * FOUND takes it. */
void recordings_find_left(const struct recordings *in,
    void (*found)(void *arg, struct recording *take), void *arg);

#endif
