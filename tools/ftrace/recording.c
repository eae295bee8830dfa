/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/recording.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "tools/ftrace/dat_read.h"
#include "tools/ftrace/message.h"

#define NAME_SUFFIX ".recording"
/* Numbers tried when a name is taken. */
#define NAME_TRIES 1000

static struct recording *
recording_alloc(const struct recordings *in, const char *name, uint32_t cpus)
{
	struct recording *r = calloc(
	    1, sizeof(*r) + (size_t)cpus * sizeof(r->parts[0]));

	if (r == NULL)
		return NULL;
	assert(strlen(name) < sizeof(r->name));
	r->in = *in;
	r->is_kept = in->dir_fd >= 0;
	snprintf(r->name, sizeof(r->name), "%s", name);
	r->work_fd = r->metadata_fd = -1;
	r->n_parts = cpus;
	for (uint32_t i = 0; i < cpus; i++)
		r->parts[i].fd = -1;
	return r;
}

static void
recording_part_name(char out[RECORDING_PATH_SIZE], uint32_t cpu)
{
	snprintf(out, RECORDING_PATH_SIZE, "cpu%u", cpu);
}

static void
work_name(char out[RECORDING_PATH_SIZE], const struct recording *r,
    const char *name, unsigned number)
{
	char suffix[16] = "";

	if (number > 0)
		snprintf(suffix, sizeof(suffix), "-%u", number);
	snprintf(out, RECORDING_PATH_SIZE, ".%s.%s%s" NAME_SUFFIX, r->in.prefix,
	    name, suffix);
}

/* Locks the directory, unless another process removed it before the lock: it
 * may have seemed to be left. */
static bool
lock_work(struct recording *r)
{
	struct stat st;

	assert(r->work_fd < 0);
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
			log_errno(LOG_ERROR, "cannot create %s", r->work);
			return E_IO;
		}
	}
	log_error("%s: all names are taken", r->work);
	return E_LIMIT;
}

static int
open_new(struct recording *r, const char *name)
{
	const int fd = openat(r->work_fd, name,
	    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);

	if (fd < 0)
		log_errno(LOG_ERROR, "cannot create %s/%s", r->work, name);
	return fd;
}

/* The last CPU first: after a kill the rest is numbered without a gap, and
 * without metadata it is not used. */
static void
remove_parts(const struct recording *r)
{
	char name[RECORDING_PATH_SIZE];

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
		log_errno(LOG_WARN, "cannot remove %s", r->work);
}

static void
discard(struct recording *r)
{
	if (!r->is_kept || r->work_fd < 0)
		return;
	remove_parts(r);
	remove_work(r);
}

enum status
recording_create_files(struct recording *r, uint64_t until_ns)
{
	char part[RECORDING_PATH_SIZE];

	while (r->is_kept && r->n_created < r->n_parts) {
		recording_part_name(part, r->n_created);
		r->parts[r->n_created].fd = open_new(r, part);
		if (r->parts[r->n_created].fd < 0)
			return E_IO;
		r->n_created++;
		if (clock_now_ns() >= until_ns)
			return E_MORE;
	}
	/* All parts exist before the metadata does: at the next start their
	 * number is that of the CPUs. */
	if (r->metadata_fd < 0)
		r->metadata_fd = open_new(r, "metadata");
	return r->metadata_fd >= 0 ? OK : E_IO;
}

enum status
recording_create(struct recording **out, const struct recordings *in,
    const char *name, uint32_t cpus)
{
	struct recording *r = recording_alloc(in, name, cpus);
	enum status st = OK;

	*out = NULL;
	if (r == NULL)
		return E_NOMEM;
	if (r->is_kept) {
		st = make_work(r);
	} else {
		r->metadata_fd = memfd_create("metadata", MFD_CLOEXEC);
		if (r->metadata_fd < 0) {
			log_errno(LOG_ERROR,
			    "peer=%s: cannot create memory for metadata", name);
			st = E_IO;
		}
	}
	if (st != OK) {
		recording_destroy(r);
		return st;
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

void
recording_rename(struct recording *r, const char *name)
{
	assert(strlen(name) < sizeof(r->name));
	for (unsigned i = 0; r->is_kept && i < NAME_TRIES; i++) {
		char to[RECORDING_PATH_SIZE];

		work_name(to, r, name, i);
		if (renameat2(r->in.dir_fd, r->work, r->in.dir_fd, to,
			RENAME_NOREPLACE) == 0) {
			memcpy(r->work, to, sizeof(to));
			break;
		}
		if (errno != EEXIST) {
			log_errno(LOG_INFO, "cannot rename %s", r->work);
			return;
		}
	}
	snprintf(r->name, sizeof(r->name), "%s", name);
}

/* Returns how many bytes were written. */
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
		log_errno(LOG_ERROR, "%s: cannot write metadata", r->name);
		return E_IO;
	}
	r->metadata_size += n;
	return OK;
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
		log_errno(LOG_ERROR, "%s: cannot read metadata", r->name);
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

/* Keeps the whole pages of the part. */
static void
cut(struct recording *r, struct recording_part *part, size_t n)
{
	const uint64_t whole = part->size - part->size % r->page_size;

	assert(part->size >= whole);
	if (!r->has_failed)
		log_errno(LOG_ERROR,
		    "%s: cannot write pages; they are lost until writing "
		    "succeeds",
		    r->name);
	r->has_failed = true;
	r->lost += n + (part->size - whole);
	part->is_cut = true;
	part->size = whole;
	if (ftruncate(part->fd, (off_t)whole) != 0)
		log_errno(LOG_ERROR, "%s: cannot truncate pages", r->name);
}

void
recording_pages(struct recording *r, uint32_t cpu, const void *p, size_t n)
{
	struct recording_part *part = &r->parts[cpu];
	const uint64_t before = part->received;
	size_t done;

	assert(cpu < r->n_parts);
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
recording_pages_received(const struct recording *r, uint32_t cpu)
{
	return r->page_size == 0 ? 0 : r->parts[cpu].received / r->page_size;
}

/* Bytes copied by one system call. */
#define COPY_BYTES (8 << 20)

static enum status
complain_of(const struct recording *r, const char *what)
{
	log_errno(
	    LOG_ERROR, "%s: %s; the next start tries again", r->work, what);
	return E_IO;
}

/* Copies the first N bytes of FROM to TO, at its offset. */
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
		/* Not every file system supports it. */
		if (got <= 0 && by_range && errno != ENOSPC && errno != EIO) {
			by_range = false;
			continue;
		}
		if (got == 0)
			errno = EIO; /* the file was cut short */
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
	char name[RECORDING_PATH_SIZE];
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

/* Writes everything to its place. */
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
	/* Without pages the file ends with zeros. */
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

	assert(layout->page_size > 0 && r->metadata_fd >= 0);
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
			st = complain_of(r, "cannot join the files");
			/* On a full disk it would only take space. */
			(void)unlinkat(r->work_fd, "joined", 0);
		}
		if (fd >= 0)
			close(fd);
	}
	dat_plan_free(&plan);
	free(cpus);
	return st;
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
	return complain_of(r, "cannot move the file to its place");
}

static bool
has_pages(const struct recording *r)
{
	for (uint32_t i = 0; i < r->n_parts; i++)
		if (r->parts[i].size > 0)
			return true;
	return false;
}

/* OK: "whole" exists. E_NOENT: it cannot be made. */
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
	done = dat_read_layout(&layout, p, n);
	if (done == OK && (!layout.has_cpus || layout.cpus == r->n_parts))
		return join(r, &layout);
	if (!has_pages(r))
		return E_NOENT;
	log_error("%s: kept unchanged: it has pages without metadata", r->work);
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
		discard(r);
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

/* Recordings that a killed process has left. */

/* Extracts the recorder's name, between prefix and suffix. False: ENTRY is not
 * the directory of a recording. */
static bool
find_name(char out[RECORDING_NAME_MAX], const char *entry, const char *prefix)
{
	const size_t before = strlen(prefix) + 2;
	const size_t all = strlen(entry), after = strlen(NAME_SUFFIX);

	if (*entry != '.' || all <= before + after ||
	    strncmp(entry + 1, prefix, before - 2) != 0 ||
	    entry[before - 1] != '.' ||
	    strcmp(entry + all - after, NAME_SUFFIX) != 0 ||
	    all - before - after >= RECORDING_NAME_MAX)
		return false;
	memcpy(out, entry + before, all - before - after);
	out[all - before - after] = '\0';
	return true;
}

/* The size of a file in DIR. False: there is none. */
static bool
size_of(int dir, const char *name, uint64_t *size)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !S_ISREG(st.st_mode))
		return false;
	*size = (uint64_t)st.st_size;
	return true;
}

static uint32_t
count_parts(int dir)
{
	char name[RECORDING_PATH_SIZE];
	uint64_t size;
	uint32_t n = 0;

	for (recording_part_name(name, n);
	     n < MESSAGE_CPUS_MAX && size_of(dir, name, &size);
	     recording_part_name(name, ++n))
		;
	return n;
}

/* Opens the recording in the directory ENTRY, which is open and locked as
 * TAKE_FD. */
static struct recording *
take_left(const struct recordings *in, const char *entry, const char *name,
    int take_fd)
{
	const uint32_t cpus = count_parts(take_fd);
	struct recording *r = recording_alloc(in, name, cpus);
	char part[RECORDING_PATH_SIZE];

	if (r == NULL) {
		close(take_fd);
		return NULL;
	}
	r->work_fd = take_fd;
	snprintf(r->work, sizeof(r->work), "%s", entry);
	for (uint32_t i = 0; i < cpus; i++) {
		recording_part_name(part, i);
		if (size_of(take_fd, part, &r->parts[i].size))
			r->parts[i].received = r->parts[i].size;
	}
	if (size_of(take_fd, "metadata", &r->metadata_size) &&
	    r->metadata_size <= METADATA_BYTES_MAX)
		r->metadata_fd = openat(
		    take_fd, "metadata", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return r;
}

static struct recording *
try_entry(const struct recordings *in, const char *entry)
{
	char name[RECORDING_NAME_MAX];
	int fd;

	if (!find_name(name, entry, in->prefix))
		return NULL;
	fd = openat(
	    in->dir_fd, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		close(fd);
		return NULL;
	}
	return take_left(in, entry, name, fd);
}

void
recordings_find_left(const struct recordings *in,
    void (*found)(void *arg, struct recording *take), void *arg)
{
	const int fd = openat(
	    in->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (d == NULL) {
		log_errno(LOG_ERROR, "cannot read the directory of the files");
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(d)) != NULL) {
		struct recording *r = try_entry(in, e->d_name);

		if (r != NULL)
			found(arg, r);
	}
	closedir(d);
}
