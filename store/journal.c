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
#include "store/journal_internal.h"
#include "store/journal_load.h"
#include "store/room.h"

/* The slots of one page: most sessions have fewer files, and even one session
 * alone makes a journal. */
#define FIRST_SLOTS 32
/* Tries to make a file: another relay that starts may take it for a file of a
 * relay that is dead. */
#define BEGIN_TRIES 10

enum status
journal_create(
    struct journal **out, int base_fd, const struct journal_config *config)
{
	struct journal *j = calloc(1, sizeof(*j));

	*out = j;
	if (j == NULL)
		return E_NOMEM;
	j->base_fd = base_fd;
	j->fd = -1;
	j->number = ids_random();
	list_init(&j->files);
	list_init(&j->marked);
	if (config != NULL)
		j->config = *config;
	journal_boot(j->boot);
	return OK;
}

static size_t
bytes(uint32_t slots)
{
	return (size_t)slots * sizeof(struct journal_slot);
}

/* Remove the file: the journal is now without one. Keeps errno. */
void
journal_leave(struct journal *j)
{
	const int saved = errno;

	if (j->slots != NULL)
		munmap(j->slots, bytes(j->n_slots));
	j->slots = NULL;
	j->n_slots = j->n_fresh = j->free_list = 0;
	j->leaving = j->last_leaving = j->n_leaving = j->n_doubtful = 0;
	if (j->fd < 0)
		return;
	/* The file may be gone, with its directory. */
	if (unlinkat(j->base_fd, j->name, 0) != 0 && errno != ENOENT)
		log_errno(LOG_WARN, "journal %s: unlink", j->name);
	close(j->fd);
	j->fd = -1;
	errno = saved;
}

void
journal_destroy(struct journal *j)
{
	if (j == NULL)
		return;
	/* No round will come for them. If this fails, the file stays. */
	if (j->leaving != 0 && syncfs(j->base_fd) != 0) {
		log_errno(LOG_ERROR, "--sync: what was closed last may be lost "
				     "in a power cut");
		j->n_doubtful++;
	}
	if (j->n_doubtful == 0) {
		journal_leave(j);
	} else {
		munmap(j->slots, bytes(j->n_slots));
		close(j->fd);
	}
	free(j);
}

static bool
is_unlinked(int fd)
{
	struct stat sb;

	return fstat(fd, &sb) == 0 && sb.st_nlink == 0;
}

bool
journal_is_gone(const struct journal *j)
{
	return j->fd >= 0 && is_unlinked(j->fd);
}

/* Write zeros to the bytes FROM to TO of the file, so that no store to the
 * mapping can fail later. On a disk this is cheaper than fallocate(2), as the
 * file is mostly removed before it gets there. */
static bool
fill(const struct journal *j, size_t from, size_t to)
{
	static const char zeros[FIRST_SLOTS * JOURNAL_SLOT];

	while (from < to) {
		errno = ENOSPC; /* for a write of fewer bytes */
		if (pwrite(j->fd, zeros, sizeof(zeros), (off_t)from) ==
		    (ssize_t)sizeof(zeros))
			from += sizeof(zeros);
		else if (!room_is_lack(errno) || !room_yield(j->config.room))
			return false;
	}
	return true;
}

/* Make the file hold N slots: FIRST_SLOTS, doubled any number of times. */
static bool
grow(struct journal *j, uint32_t n)
{
	void *p;

	if (!fill(j, bytes(j->n_slots), bytes(n)))
		return false;
	p = j->slots == NULL
		? mmap(NULL, bytes(n), PROT_READ | PROT_WRITE, MAP_SHARED,
		      j->fd, 0)
		: mremap(j->slots, bytes(j->n_slots), bytes(n), MREMAP_MAYMOVE);
	if (p == MAP_FAILED)
		return false;
	j->slots = p;
	j->n_slots = n;
	return true;
}

/* Make a new file and lock it, before another relay takes it for a file of a
 * relay that is dead. */
static bool
open_new(struct journal *j)
{
	for (int i = 0; i < BEGIN_TRIES; i++) {
		snprintf(j->name, sizeof(j->name), JOURNAL_PREFIX "%016" PRIx64,
		    ++j->number);
		j->fd = openat(j->base_fd, j->name,
		    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (j->fd < 0)
			return false;
		if (flock(j->fd, LOCK_EX | LOCK_NB) == 0 && !is_unlinked(j->fd))
			return true;
		journal_leave(j);
	}
	return false;
}

static bool
begin(struct journal *j)
{
	if (!open_new(j))
		return false;
	if (!grow(j, FIRST_SLOTS)) {
		journal_leave(j);
		return false;
	}
	j->slots[0].head.magic = JOURNAL_MAGIC;
	j->slots[0].head.sync = (uint32_t)j->config.sync;
	memcpy(j->slots[0].head.boot, j->boot, sizeof(j->boot));
	j->slots[0].kind = JOURNAL_HEAD;
	j->n_fresh = 1;
	j->has_new_name = true;
	return true;
}

static bool
has_room(struct journal *j)
{
	if (j->fd < 0)
		return begin(j);
	if (j->free_list != 0 || j->n_fresh < j->n_slots)
		return true;
	if (j->n_slots <= JOURNAL_SLOTS_MAX / 2)
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

/* The number of a free slot; 0 when there is none. */
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

/* The compiler must not move stores across this one. The kernel keeps what was
 * stored when the process dies. */
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

/* The slot of a root goes with the last one that names it. */
static void
leave_root(struct journal *j, uint32_t root)
{
	if (j->slots[root].root == 0)
		free_chain(j, root);
}

void
journal_leave_file(struct journal *j, uint32_t n)
{
	const uint32_t root = j->slots[n].root;

	free_slot(j, n);
	j->slots[root].root--;
	leave_root(j, root);
}

static bool
enter_root(struct journal *j, struct journal_root *root)
{
	const struct relpath *path = root->path;
	size_t left = path->len, len;
	uint32_t n, next = 0;
	struct journal_slot *s;

	/* From the last piece to the first, because each names the next one. */
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
	return true;
}

/* Give FILE a slot, after its root. */
static bool
enter_file(struct journal *j, struct journal_file *file)
{
	struct journal_slot *s;
	uint32_t n;

	if (file->root->slot == 0 && !enter_root(j, file->root))
		return false;
	n = take_slot(j);
	if (n == 0) {
		leave_root(j, file->root->slot);
		if (file->root->n_files == 0)
			file->root->slot = 0;
		return false;
	}
	s = &j->slots[n];
	s->root = file->root->slot;
	s->file.ino = file->id.ino;
	s->file.born = file->id.born;
	s->file.is_index = file->id.is_index;
	s->file.length = file->length;
	s->file.synced = 0;
	j->slots[s->root].root++;
	set_kind(s, JOURNAL_FILE);
	file->root->n_files++;
	file->slot = n;
	list_del(&file->node);
	return true;
}

/* Give a slot to all open files that have none. */
static void
enter_all(struct journal *j)
{
	struct list *n, *tmp;
	bool is_entered = true;

	if (j->is_failing && clock_now_ns() < j->retry_ns)
		return;
	list_for_each (n, tmp, &j->files)
		if (is_entered)
			is_entered = enter_file(
			    j, list_entry(n, struct journal_file, node));
	if (!is_entered)
		return;
	if (j->is_failing)
		log_warn("journal of open streams: works again, all that is "
			 "open is in it");
	j->is_failing = false;
}

void
journal_add_file(struct journal *j, struct journal_file *file,
    struct journal_root *root, const struct journal_id *id)
{
	*file = (struct journal_file){ .root = root, .id = *id };
	list_init(&file->node);
	list_init(&file->mark_node);
	list_append(&j->files, &file->node);
	j->n_files++;
	enter_all(j);
}

void
journal_set_length(
    struct journal *j, struct journal_file *file, uint64_t length)
{
	file->length = length;
	journal_mark(j, file);
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
	list_del(&file->mark_node);
	if (file->slot != 0) {
		/* The owner forgets the slot of its root with its last file.
		 * Those that stay keep it. */
		if (--file->root->n_files == 0)
			file->root->slot = 0;
		if (j->config.syncer != NULL || j->is_ending)
			journal_leave_later(j, file);
		else
			journal_leave_file(j, file->slot);
	}
	*file = (struct journal_file){ 0 };
	j->n_files--;
	journal_leave_if_empty(j);
}

void
journal_set_synced(
    struct journal *j, struct journal_file *file, uint64_t length)
{
	if (file->slot != 0)
		__atomic_store_n(&j->slots[file->slot].file.synced, length,
		    __ATOMIC_RELEASE);
}

enum status
journal_sync(struct journal *j)
{
	if (j->fd < 0)
		return OK;
	if (fdatasync(j->fd) != 0 ||
	    (j->has_new_name && fsync(j->base_fd) != 0))
		return E_IO;
	j->has_new_name = false;
	return OK;
}
