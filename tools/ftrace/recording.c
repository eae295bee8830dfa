/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/recording.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "tools/ftrace/recording_internal.h"

struct recording *
recording_alloc(const struct recordings *in, const char *name, uint32_t cpus)
{
	struct recording *r = calloc(
	    1, sizeof(*r) + (size_t)cpus * sizeof(r->parts[0]));

	if (r == NULL)
		return NULL;
	assert(strlen(name) < sizeof(r->name));
	r->in = *in;
	snprintf(r->name, sizeof(r->name), "%s", name);
	r->work_fd = r->metadata_fd = -1;
	r->n_parts = cpus;
	for (uint32_t i = 0; i < cpus; i++)
		r->parts[i].fd = -1;
	return r;
}

void
recording_part_name(char out[PATH_ROOM], uint32_t cpu)
{
	snprintf(out, PATH_ROOM, "cpu%u", cpu);
}

static void
work_name(char out[PATH_ROOM], const struct recording *r, const char *name,
    unsigned number)
{
	char suffix[16] = "";

	if (number > 0)
		snprintf(suffix, sizeof(suffix), "-%u", number);
	snprintf(
	    out, PATH_ROOM, ".%s.%s%s" NAME_SUFFIX, r->in.prefix, name, suffix);
}

/* The directory is ours: locked, and not removed by who thought that it had
 * been left before the lock was there. */
static bool
lock_work(struct recording *r)
{
	struct stat st;

	r->work_fd = openat(r->in.dir_fd, r->work,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r->work_fd >= 0 && flock(r->work_fd, LOCK_EX | LOCK_NB) == 0 &&
	    fstat(r->work_fd, &st) == 0 && st.st_nlink > 0)
		return true;
	if (r->work_fd >= 0)
		close(r->work_fd);
	r->work_fd = -1;
	return false;
}

static enum status
make_work(struct recording *r)
{
	for (unsigned i = 0; i < NAME_TRIES; i++) {
		work_name(r->work, r, r->name, i);
		if (mkdirat(r->in.dir_fd, r->work, 0750) == 0) {
			if (lock_work(r))
				return OK;
		} else if (errno != EEXIST) {
			log_errno(LOG_ERROR, "%s: cannot be made", r->work);
			return E_IO;
		}
	}
	log_error("%s: no name is free", r->work);
	return E_LIMIT;
}

static int
open_new(struct recording *r, const char *name)
{
	const int fd = openat(r->work_fd, name,
	    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);

	if (fd < 0)
		log_errno(LOG_ERROR, "%s/%s: cannot be made", r->work, name);
	return fd;
}

enum status
recording_create(struct recording **out, const struct recordings *in,
    const char *name, uint32_t cpus)
{
	struct recording *r = recording_alloc(in, name, cpus);
	enum status st;

	*out = NULL;
	if (r == NULL)
		return E_NOMEM;
	r->is_kept = true;
	st = make_work(r);
	/* All parts are there before the metadata: their number is that of the
	 * CPUs, also for the next start. */
	for (uint32_t i = 0; i < cpus && st == OK; i++) {
		char part[PATH_ROOM];

		recording_part_name(part, i);
		r->parts[i].fd = open_new(r, part);
		if (r->parts[i].fd < 0)
			st = E_IO;
	}
	if (st == OK && (r->metadata_fd = open_new(r, "metadata")) < 0)
		st = E_IO;
	if (st != OK) {
		recording_discard(r);
		recording_destroy(r);
		return st;
	}
	*out = r;
	return OK;
}

enum status
recording_create_unkept(struct recording **out, const char *name, uint32_t cpus)
{
	const struct recordings none = { .dir_fd = -1, .prefix = "" };
	struct recording *r = recording_alloc(&none, name, cpus);

	*out = NULL;
	if (r == NULL)
		return E_NOMEM;
	r->metadata_fd = memfd_create("metadata", MFD_CLOEXEC);
	if (r->metadata_fd < 0) {
		log_errno(LOG_ERROR, "peer=%s: memory for metadata", name);
		recording_destroy(r);
		return E_IO;
	}
	*out = r;
	return OK;
}

void
recording_destroy(struct recording *r)
{
	if (r == NULL)
		return;
	recording_unmap(r);
	for (uint32_t i = 0; i < r->n_parts; i++)
		if (r->parts[i].fd >= 0)
			close(r->parts[i].fd);
	if (r->metadata_fd >= 0)
		close(r->metadata_fd);
	if (r->work_fd >= 0)
		close(r->work_fd);
	free(r);
}

const char *
recording_name(const struct recording *r)
{
	return r->name;
}

uint32_t
recording_cpus(const struct recording *r)
{
	return r->n_parts;
}

const char *
recording_file(const struct recording *r)
{
	return r->file;
}

void
recording_rename(struct recording *r, const char *name)
{
	assert(strlen(name) < sizeof(r->name));
	for (unsigned i = 0; r->is_kept && i < NAME_TRIES; i++) {
		char to[PATH_ROOM];

		work_name(to, r, name, i);
		if (renameat2(r->in.dir_fd, r->work, r->in.dir_fd, to,
			RENAME_NOREPLACE) == 0) {
			memcpy(r->work, to, sizeof(to));
			break;
		}
		if (errno != EEXIST) {
			log_errno(LOG_INFO, "%s: cannot be renamed", r->work);
			return;
		}
	}
	snprintf(r->name, sizeof(r->name), "%s", name);
}

/* How many bytes there was room for. */
static size_t
write_some(int fd, const uint8_t *p, size_t n, uint64_t at)
{
	size_t done = 0;

	while (done < n) {
		const ssize_t got = pwrite(
		    fd, p + done, n - done, (off_t)(at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

enum status
recording_metadata(struct recording *r, const void *p, size_t n)
{
	if (n > METADATA_BYTES_MAX - r->metadata_size)
		return E_LIMIT;
	if (write_some(r->metadata_fd, p, n, r->metadata_size) < n) {
		log_errno(LOG_ERROR, "%s: metadata cannot be written", r->name);
		return E_IO;
	}
	r->metadata_size += n;
	return OK;
}

uint64_t
recording_metadata_size(const struct recording *r)
{
	return r->metadata_size;
}

enum status
recording_map(struct recording *r, const uint8_t **p, size_t *n)
{
	void *map;

	recording_unmap(r);
	*p = NULL;
	*n = (size_t)r->metadata_size;
	if (*n == 0)
		return OK;
	map = mmap(NULL, *n, PROT_READ, MAP_PRIVATE, r->metadata_fd, 0);
	if (map == MAP_FAILED) {
		log_errno(LOG_ERROR, "%s: metadata cannot be read", r->name);
		return E_IO;
	}
	*p = r->map = map;
	r->map_size = *n;
	return OK;
}

void
recording_unmap(struct recording *r)
{
	if (r->map != NULL)
		munmap((void *)(uintptr_t)r->map, r->map_size);
	r->map = NULL;
}

void
recording_set_page_size(struct recording *r, uint32_t page_size)
{
	r->page_size = page_size;
}

/* Whole pages stay; what has begun is lost. */
static void
cut(struct recording *r, struct part *part, size_t n)
{
	const uint64_t whole = part->size - part->size % r->page_size;

	if (!r->has_failed)
		log_errno(LOG_ERROR,
		    "%s: pages cannot be written; they are lost until they "
		    "can",
		    r->name);
	r->has_failed = true;
	r->lost += n + (part->size - whole);
	part->is_cut = true;
	part->size = whole;
	if (ftruncate(part->fd, (off_t)whole) != 0)
		log_errno(LOG_ERROR, "%s: pages cannot be cut", r->name);
}

void
recording_pages(struct recording *r, uint32_t cpu, const void *p, size_t n)
{
	struct part *part = &r->parts[cpu];
	const uint64_t before = part->received;
	size_t done;

	assert(r->page_size > 0);
	part->received += n;
	if (!r->is_kept)
		return;
	if (part->is_cut) {
		const uint64_t skip = (r->page_size - before % r->page_size) %
				      r->page_size;

		if (n <= skip) {
			r->lost += n;
			return;
		}
		r->lost += skip;
		p = (const uint8_t *)p + skip;
		n -= (size_t)skip;
		part->is_cut = false;
	}
	done = write_some(part->fd, p, n, part->size);
	part->size += done;
	if (done < n)
		cut(r, part, n - done);
}

uint64_t
recording_received(const struct recording *r, uint32_t cpu)
{
	return r->parts[cpu].received;
}

bool
recording_knows_pages(const struct recording *r)
{
	return r->page_size > 0;
}

uint64_t
recording_pages_received(const struct recording *r, uint32_t cpu)
{
	return r->page_size == 0 ? 0 : r->parts[cpu].received / r->page_size;
}

uint64_t
recording_lost(const struct recording *r)
{
	return r->lost;
}
