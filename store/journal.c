/* SPDX-License-Identifier: MIT */
#include "store/journal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
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
	bool has_failed;	   /* said once */
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
		if (unlinkat(j->base_fd, j->name, 0) != 0)
			log_errno(LOG_WARN, "journal %s: unlink", j->name);
		close(j->fd);
	}
	free(j);
}

/* Make the file hold N slots. Space is allocated now, so that no store to the
 * mapping can fail later. */
static bool
grow(struct journal *j, uint32_t n)
{
	void *p;

	if (posix_fallocate(j->fd, 0, (off_t)bytes(n)) != 0)
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
	snprintf(j->name, sizeof(j->name), JOURNAL_PREFIX "%016" PRIx64,
	    ids_random());
	j->fd = openat(j->base_fd, j->name,
	    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (j->fd < 0)
		return false;
	if (flock(j->fd, LOCK_EX | LOCK_NB) != 0 || !grow(j, FIRST_SLOTS)) {
		unlinkat(j->base_fd, j->name, 0);
		close(j->fd);
		j->fd = -1;
		return false;
	}
	j->slots[0].head.magic = JOURNAL_MAGIC;
	j->slots[0].kind = JOURNAL_HEAD;
	j->n_fresh = 1;
	return true;
}

/* A free slot's number, 0 when there is none to be had. */
static uint32_t
take_slot(struct journal *j)
{
	uint32_t n;

	if (j->has_failed)
		return 0;
	if (j->fd < 0 && !begin(j))
		goto fail;
	if (j->free_list != 0) {
		n = j->free_list;
		j->free_list = j->slots[n].next;
		return n;
	}
	if (j->n_fresh == j->n_slots &&
	    (j->n_slots > UINT32_MAX / 4 || !grow(j, j->n_slots * 2)))
		goto fail;
	return j->n_fresh++;

fail:
	log_errno(LOG_WARN, "journal of open streams: cannot grow; torn tails "
			    "will not be cut after a crash");
	j->has_failed = true;
	return 0;
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

uint32_t
journal_add_root(struct journal *j, const struct relpath *path)
{
	size_t left = path->len, len;
	uint32_t n, next = 0;
	struct journal_slot *s;

	/* From the last piece to the first: each names its successor. */
	do {
		n = take_slot(j);
		if (n == 0) {
			free_chain(j, next);
			return 0;
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
	return n;
}

void
journal_remove_root(struct journal *j, uint32_t root)
{
	if (root != 0)
		free_chain(j, root);
}

uint32_t
journal_add_file(struct journal *j, uint32_t root, ino_t ino, uint64_t length)
{
	uint32_t n = root == 0 ? 0 : take_slot(j);
	struct journal_slot *s;

	if (n == 0)
		return 0;
	s = &j->slots[n];
	s->root = root;
	s->file.ino = ino;
	s->file.length = length;
	set_kind(s, JOURNAL_FILE);
	return n;
}

void
journal_set_length(struct journal *j, uint32_t file, uint64_t length)
{
	if (file != 0)
		__atomic_store_n(
		    &j->slots[file].file.length, length, __ATOMIC_RELEASE);
}

void
journal_remove_file(struct journal *j, uint32_t file)
{
	if (file != 0)
		free_slot(j, file);
}
