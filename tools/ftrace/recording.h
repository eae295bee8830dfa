/* SPDX-License-Identifier: MIT */
/*
 * The files of one recorder, from its first byte to PREFIX.HOST:PORT.dat.
 *
 * While it records there is a directory .PREFIX.HOST:PORT.recording with the
 * file "metadata" and one file "cpuN" for each CPU, as the bytes come; it is
 * locked by flock(2). At the end they are put together in a file "joined"
 * there, which is renamed to "whole" once it is whole and on disk; then the
 * others are removed, and it is moved to its place. So a file that has its
 * final name is finished, and the next start can finish what a kill at any
 * instant has left, without doing it twice. Nothing that exists is overwritten:
 * a name that is taken gets a number.
 *
 * One thread at a time; recording_finish() waits for the disk, and may be
 * called in a thread of its own when nobody else uses the recording any more.
 */
#ifndef TOOLS_FTRACE_RECORDING_H
#define TOOLS_FTRACE_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ftrace/dat_layout.h"

/* The metadata of a recorder. /proc/kallsyms has 5 to 15 MB, all events 2 MB.
 */
#define METADATA_BYTES_MAX (64 << 20)
/* The name of a recorder: HOST:PORT. */
#define RECORDING_NAME_MAX 160

struct recording;

/* Where recordings are. DIR_FD is borrowed for as long as any of them lives.
 * PREFIX is one component of a path. */
struct recordings {
	int dir_fd;
	const char *prefix;
};

/* NAME is one component of a path, of RECORDING_NAME_MAX bytes at most.
 * Failures are logged. E_LIMIT: no name is free. */
enum status recording_create(struct recording **out,
    const struct recordings *in, const char *name, uint32_t cpus) MUST_CHECK;
/* Without files: only the metadata, in memory. */
enum status recording_create_unkept(
    struct recording **out, const char *name, uint32_t cpus) MUST_CHECK;
/* Close it. Its files stay for the next start, but for recording_finish(). NULL
 * is fine. */
void recording_destroy(struct recording *r);

const char *recording_name(const struct recording *r);
uint32_t recording_cpus(const struct recording *r);
/* Descriptors that it may have open at a time. */
static inline unsigned
recording_fds(uint32_t cpus)
{
	return cpus + 2;
}

/* Its host was found: from here on it is called so. A failure is logged, and
 * the name stays. */
void recording_rename(struct recording *r, const char *name);

/* Bytes at the end of the metadata. E_LIMIT, E_IO (logged). */
enum status recording_metadata(
    struct recording *r, const void *p, size_t n) MUST_CHECK;
uint64_t recording_metadata_size(const struct recording *r);
/* The metadata so far, mapped; recording_unmap() follows. */
enum status recording_map(
    struct recording *r, const uint8_t **p, size_t *n) MUST_CHECK;
void recording_unmap(struct recording *r);
/* The metadata is whole: pages have this size. */
void recording_set_page_size(struct recording *r, uint32_t page_size);

/* Bytes of CPU's pages, at the end. What does not fit on the disk is counted,
 * and the first failure is logged; from the next whole page on it goes on. */
void recording_pages(
    struct recording *r, uint32_t cpu, const void *p, size_t n);
/* Bytes that came, and bytes that were lost because they could not be
 * written. */
uint64_t recording_received(const struct recording *r, uint32_t cpu);
/* Whole pages of that CPU that came, also before a kill. 0: none, or their size
 * is not known, as without metadata, or where a kill came when the file was
 * whole. */
uint64_t recording_pages_received(const struct recording *r, uint32_t cpu);
bool recording_knows_pages(const struct recording *r);
uint64_t recording_lost(const struct recording *r);

/* Put the file together and move it to its place, whose name is then in
 * recording_file(). If there is no whole metadata, nothing could be read: all
 * is removed, and recording_file() is "". Failures are logged; then the next
 * start tries again. */
enum status recording_finish(struct recording *r) MUST_CHECK;
const char *recording_file(const struct recording *r);
/* Remove all of it. */
void recording_discard(struct recording *r);

/* Call FOUND with each recording that somebody has left and nobody works at. It
 * takes it, and may finish it. */
void recordings_find_left(const struct recordings *in,
    void (*found)(void *arg, struct recording *take), void *arg);

#endif
