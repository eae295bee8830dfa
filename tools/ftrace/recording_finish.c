/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "tools/ftrace/dat_layout.h"
#include "tools/ftrace/recording_internal.h"

/* Bytes that one system call copies. */
#define COPY_BYTES (8 << 20)

static enum status
complain_of(const struct recording *r, const char *what)
{
	log_errno(
	    LOG_ERROR, "%s: %s; the next start tries again", r->work, what);
	return E_IO;
}

/* N bytes of FROM, from its beginning, to the place of TO. */
static bool
copy(int to, int from, uint64_t n)
{
	bool by_range = true;
	off_t at = 0;

	while (n > 0) {
		const size_t some = n < COPY_BYTES ? (size_t)n : COPY_BYTES;
		const ssize_t got = by_range ? copy_file_range(
						   from, &at, to, NULL, some, 0)
					     : sendfile(to, from, &at, some);

		if (got < 0 && errno == EINTR)
			continue;
		/* Not every file system has it. */
		if (got <= 0 && by_range && errno != ENOSPC && errno != EIO) {
			by_range = false;
			continue;
		}
		if (got == 0)
			errno = EIO; /* somebody has cut it short */
		if (got <= 0)
			return false;
		n -= (uint64_t)got;
	}
	return true;
}

static bool
put(int fd, const struct buf *b)
{
	const ssize_t n = (ssize_t)buf_len(b);

	return n == 0 || write(fd, buf_data(b), (size_t)n) == n;
}

static bool
put_pages(const struct recording *r, int fd, uint32_t cpu,
    const struct dat_part *where)
{
	char name[PATH_ROOM];
	bool is_ok;
	int from;

	if (where->size == 0)
		return true;
	recording_part_name(name, cpu);
	from = openat(r->work_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (from < 0)
		return false;
	is_ok = lseek(fd, (off_t)where->offset, SEEK_SET) >= 0 &&
		copy(fd, from, where->size);
	close(from);
	return is_ok;
}

/* Everything, at its place. */
static bool
put_all(const struct recording *r, int fd, const struct dat_plan *plan,
    const struct dat_part *cpus)
{
	if (!copy(fd, r->metadata_fd, r->metadata_size) ||
	    !put(fd, &plan->head))
		return false;
	for (uint32_t i = 0; i < r->n_parts; i++)
		if (!put_pages(r, fd, i, &cpus[i]))
			return false;
	if (buf_len(&plan->tail) > 0 &&
	    (lseek(fd, (off_t)plan->tail_offset, SEEK_SET) < 0 ||
		!put(fd, &plan->tail)))
		return false;
	/* Zeros behind the last page, if there are no pages. */
	if (ftruncate(fd, (off_t)plan->size) != 0)
		return false;
	return !plan->has_patch ||
	       pwrite(fd, plan->patch, sizeof(plan->patch),
		   (off_t)plan->patch_offset) == sizeof(plan->patch);
}

static enum status
join(struct recording *r, const struct dat_layout *layout)
{
	struct dat_part *cpus = calloc(r->n_parts, sizeof(*cpus));
	struct dat_plan plan = { 0 };
	enum status st = cpus == NULL ? E_NOMEM : OK;
	int fd;

	r->page_size = layout->page_size;
	for (uint32_t i = 0; i < r->n_parts && st == OK; i++)
		cpus[i].size = r->parts[i].size -
			       r->parts[i].size % layout->page_size;
	if (st == OK)
		st = dat_plan_make(
		    &plan, layout, r->metadata_size, cpus, r->n_parts);
	if (st == OK) {
		fd = openat(r->work_fd, "joined",
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0640);
		if (fd < 0 || !put_all(r, fd, &plan, cpus) ||
		    fdatasync(fd) != 0 ||
		    renameat(r->work_fd, "joined", r->work_fd, "whole") != 0) {
			st = complain_of(r, "cannot be put together");
			/* On a full disk it would be in everybody's way. */
			(void)unlinkat(r->work_fd, "joined", 0);
		}
		if (fd >= 0)
			close(fd);
	}
	dat_plan_free(&plan);
	free(cpus);
	return st;
}

/* The last CPU first: what a kill leaves is numbered without a gap, and without
 * metadata nothing is made of it. */
static void
remove_parts(const struct recording *r)
{
	char name[PATH_ROOM];

	(void)unlinkat(r->work_fd, "metadata", 0);
	(void)unlinkat(r->work_fd, "joined", 0);
	for (uint32_t i = r->n_parts; i > 0; i--) {
		recording_part_name(name, i - 1);
		(void)unlinkat(r->work_fd, name, 0);
	}
}

static void
remove_work(const struct recording *r)
{
	if (unlinkat(r->in.dir_fd, r->work, AT_REMOVEDIR) != 0)
		log_errno(LOG_WARN, "%s: cannot be removed", r->work);
}

/* Not every file system can rename without replacing. */
static int
move_to(const struct recording *r, const char *name)
{
	if (renameat2(
		r->work_fd, "whole", r->in.dir_fd, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL)
		return -1;
	if (linkat(r->work_fd, "whole", r->in.dir_fd, name, 0) != 0)
		return -1;
	return unlinkat(r->work_fd, "whole", 0);
}

static enum status
move(struct recording *r)
{
	for (unsigned i = 0; i < NAME_TRIES; i++) {
		char suffix[16] = "";

		if (i > 0)
			snprintf(suffix, sizeof(suffix), "-%u", i);
		snprintf(r->file, sizeof(r->file), "%s.%s%s.dat", r->in.prefix,
		    r->name, suffix);
		if (move_to(r, r->file) == 0)
			return OK;
		if (errno != EEXIST)
			break;
	}
	r->file[0] = '\0';
	return complain_of(r, "cannot be moved to its place");
}

static bool
has_pages(const struct recording *r)
{
	for (uint32_t i = 0; i < r->n_parts; i++)
		if (r->parts[i].size > 0)
			return true;
	return false;
}

/* OK: "whole" is there. E_NOENT: nothing can be made of it. */
static enum status
make_whole(struct recording *r)
{
	struct dat_layout layout;
	const uint8_t *p;
	struct stat st;
	size_t n;
	enum status done;

	if (fstatat(r->work_fd, "whole", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return OK;
	if (r->metadata_fd < 0 || r->n_parts == 0)
		return E_NOENT;
	done = recording_map(r, &p, &n);
	if (done != OK)
		return done;
	done = dat_layout_find(&layout, p, n);
	if (done == OK && (!layout.has_cpus || layout.cpus == r->n_parts))
		return join(r, &layout);
	if (!has_pages(r))
		return E_NOENT;
	log_error("%s: has pages, but no metadata for them; it stays as it is",
	    r->work);
	return E_MALFORMED;
}

enum status
recording_finish(struct recording *r)
{
	enum status st;

	if (!r->is_kept)
		return OK;
	st = make_whole(r);
	if (st == E_NOENT) {
		recording_discard(r);
		return OK;
	}
	if (st != OK)
		return st;
	remove_parts(r);
	st = move(r);
	if (st == OK)
		remove_work(r);
	return st;
}

void
recording_discard(struct recording *r)
{
	if (!r->is_kept || r->work_fd < 0)
		return;
	remove_parts(r);
	remove_work(r);
}
