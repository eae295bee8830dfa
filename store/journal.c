/* SPDX-License-Identifier: MIT */
#include "store/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/ids.h"
#include "common/log.h"
#include "store/journal_format.h"

#define FIRST_SLOTS 512

struct journal {
	int base_fd, fd;
	struct journal_slot *slots;
	uint32_t n_slots, n_fresh; /* slots from n_fresh on were never used */
	uint32_t free_list;	   /* by slot->next, 0: empty */
	struct list roots, files;  /* those without a slot */
	bool is_failing;	   /* said once */
	uint64_t retry_ns;	   /* not before, while it is */
	char name[64];
};

enum status
journal_create(struct journal **out, int base_fd)
{
	struct journal *j = calloc(1, sizeof(*j));

	*out = j;
	if (j == NULL)
		return E_NOMEM;
	j->base_fd = base_fd;
	j->fd = -1;
	list_init(&j->roots);
	list_init(&j->files);
	return OK;
}

static size_t
bytes(uint32_t slots)
{
	return (size_t)slots * sizeof(struct journal_slot);
}

void
journal_destroy(struct journal *j)
{
	if (j == NULL)
		return;
	if (j->slots != NULL)
		munmap(j->slots, bytes(j->n_slots));
	if (j->fd >= 0) {
		/* Gone with its directory, it may be. */
		if (unlinkat(j->base_fd, j->name, 0) != 0 && errno != ENOENT)
			log_errno(LOG_WARN, "journal %s: unlink", j->name);
		close(j->fd);
	}
	free(j);
}

bool
journal_is_gone(const struct journal *j)
{
	struct stat sb;

	return j->fd >= 0 && fstat(j->fd, &sb) == 0 && sb.st_nlink == 0;
}

/* Make the file hold N slots. Space is allocated now, so that no store to the
 * mapping can fail later. */
static bool
grow(struct journal *j, uint32_t n)
{
	void *p;

	errno = posix_fallocate(j->fd, 0, (off_t)bytes(n));
	if (errno != 0)
		return false;
	if (j->slots == NULL)
		p = mmap(NULL, bytes(n), PROT_READ | PROT_WRITE, MAP_SHARED,
		    j->fd, 0);
	else
		p = mremap(
		    j->slots, bytes(j->n_slots), bytes(n), MREMAP_MAYMOVE);
	if (p == MAP_FAILED)
		return false;
	j->slots = p;
	j->n_slots = n;
	return true;
}

static bool
begin(struct journal *j)
{
	int saved;

	snprintf(j->name, sizeof(j->name), JOURNAL_PREFIX "%016" PRIx64,
	    ids_random());
	j->fd = openat(j->base_fd, j->name,
	    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (j->fd < 0)
		return false;
	if (flock(j->fd, LOCK_EX | LOCK_NB) != 0 || !grow(j, FIRST_SLOTS)) {
		saved = errno;
		unlinkat(j->base_fd, j->name, 0);
		close(j->fd);
		j->fd = -1;
		errno = saved;
		return false;
	}
	j->slots[0].head.magic = JOURNAL_MAGIC;
	j->slots[0].kind = JOURNAL_HEAD;
	j->n_fresh = 1;
	return true;
}

static bool
has_room(struct journal *j)
{
	if (j->fd < 0)
		return begin(j);
	if (j->free_list != 0 || j->n_fresh < j->n_slots)
		return true;
	if (j->n_slots <= UINT32_MAX / 4)
		return grow(j, j->n_slots * 2);
	errno = EFBIG;
	return false;
}

static void
fail(struct journal *j)
{
	if (!j->is_failing)
		log_errno(LOG_WARN, "journal of open streams: cannot grow, "
				    "until it can no torn tails will be cut "
				    "after a crash");
	j->is_failing = true;
	j->retry_ns = clock_now_ns() + JOURNAL_RETRY_NS;
}

/* A free slot's number, 0 when there is none to be had. */
static uint32_t
take_slot(struct journal *j)
{
	uint32_t n;

	if (!has_room(j)) {
		fail(j);
		return 0;
	}
	if (j->free_list == 0)
		return j->n_fresh++;
	n = j->free_list;
	j->free_list = j->slots[n].next;
	return n;
}

/* The compiler must not move stores across; the kernel keeps the rest. */
static void
set_kind(struct journal_slot *s, enum journal_kind kind)
{
	__atomic_store_n(&s->kind, (uint32_t)kind, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void
free_slot(struct journal *j, uint32_t n)
{
	set_kind(&j->slots[n], JOURNAL_FREE);
	j->slots[n].next = j->free_list;
	j->free_list = n;
}

static void
free_chain(struct journal *j, uint32_t n)
{
	uint32_t next;

	for (; n != 0; n = next) {
		next = j->slots[n].next;
		free_slot(j, n);
	}
}

static bool
enter_root(struct journal *j, struct journal_root *root)
{
	const struct relpath *path = root->path;
	size_t left = path->len, len;
	uint32_t n, next = 0;
	struct journal_slot *s;

	/* From the last piece to the first: each names its successor. */
	do {
		n = take_slot(j);
		if (n == 0) {
			free_chain(j, next);
			return false;
		}
		len = left % JOURNAL_PIECE;
		if (len == 0 && left > 0)
			len = JOURNAL_PIECE;
		left -= len;
		s = &j->slots[n];
		s->next = next;
		s->root = 0;
		s->piece_len = (uint32_t)len;
		memcpy(s->piece, path->s + left, len);
		set_kind(s, left == 0 ? JOURNAL_ROOT : JOURNAL_MORE);
		next = n;
	} while (left > 0);
	root->slot = n;
	list_del(&root->node);
	return true;
}

static bool
enter_file(struct journal *j, struct journal_file *file)
{
	uint32_t n = take_slot(j);
	struct journal_slot *s;

	if (n == 0)
		return false;
	s = &j->slots[n];
	s->root = file->root->slot;
	s->file.ino = file->ino;
	s->file.length = file->length;
	set_kind(s, JOURNAL_FILE);
	file->slot = n;
	list_del(&file->node);
	return true;
}

/* All that is open and has no slot. Files come after all roots, so theirs
 * has one. */
static void
enter_all(struct journal *j)
{
	struct list *n, *tmp;

	if (j->is_failing && clock_now_ns() < j->retry_ns)
		return;
	list_for_each (n, tmp, &j->roots)
		if (!enter_root(j, list_entry(n, struct journal_root, node)))
			return;
	list_for_each (n, tmp, &j->files)
		if (!enter_file(j, list_entry(n, struct journal_file, node)))
			return;
	if (j->is_failing)
		log_warn("journal of open streams: works again, all that is "
			 "open is in it");
	j->is_failing = false;
}

void
journal_add_root(
    struct journal *j, struct journal_root *root, const struct relpath *path)
{
	root->path = path;
	root->slot = 0;
	list_init(&root->node);
	list_add(&j->roots, &root->node);
	enter_all(j);
}

void
journal_remove_root(struct journal *j, struct journal_root *root)
{
	if (root->path == NULL)
		return;
	list_del(&root->node);
	free_chain(j, root->slot);
	*root = (struct journal_root){ 0 };
}

void
journal_add_file(struct journal *j, struct journal_file *file,
    const struct journal_root *root, ino_t ino)
{
	*file = (struct journal_file){ .root = root, .ino = ino };
	list_init(&file->node);
	list_add(&j->files, &file->node);
	enter_all(j);
}

void
journal_set_length(
    struct journal *j, struct journal_file *file, uint64_t length)
{
	file->length = length;
	if (file->slot != 0)
		__atomic_store_n(&j->slots[file->slot].file.length, length,
		    __ATOMIC_RELEASE);
	else if (file->root != NULL)
		enter_all(j);
}

void
journal_remove_file(struct journal *j, struct journal_file *file)
{
	if (file->root == NULL)
		return;
	list_del(&file->node);
	if (file->slot != 0)
		free_slot(j, file->slot);
	*file = (struct journal_file){ 0 };
}
