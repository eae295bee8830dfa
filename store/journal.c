/* SPDX-License-Identifier: MIT */
/*
 * With --sync=TIME, the kernel reports bytes that it could not write once, and
 * then treats them as written: no later sync fails because of them. So a file
 * with such bytes stays doubtful: its synced length no longer grows, and its
 * slot stays until the daemon ends.
 */
#include "store/journal.h"

#include <assert.h>
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
#include "common/state.h"
#include "store/dir.h"
#include "store/syncer.h"
#include "store/reserve.h"

/* The slots of one page: enough for most sessions. */
#define FIRST_SLOTS 32
/* Attempts to create a file: a relay that starts may take it for the journal of
 * a dead relay and remove it. */
#define BEGIN_TRIES 10

void
journal_boot(char out[JOURNAL_BOOT])
{
	const int fd = open(
	    "/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	memset(out, 0, JOURNAL_BOOT);
	if (fd < 0)
		return;
	if (read(fd, out, JOURNAL_BOOT - 1) < 0)
		out[0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	close(fd);
}

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

/* Remove the file of the journal. Keeps errno. */
static void
remove_journal(struct journal *j)
{
	const int saved = errno;

	if (j->slots != NULL)
		munmap(j->slots, bytes(j->n_slots));
	j->slots = NULL;
	j->n_slots = j->n_fresh = j->free_list = 0;
	j->leaving = j->last_leaving = j->n_leaving = j->n_doubtful = 0;
	if (j->fd < 0)
		return;
	/* The directory may have been removed with it. */
	if (unlinkat(j->base_fd, j->name, 0) != 0 && errno != ENOENT)
		log_errno(LOG_WARN, "journal %s: cannot remove it", j->name);
	close(j->fd);
	j->fd = -1;
	errno = saved;
}

/* Is all synced that was closed, or is still open at the end? There are no more
 * rounds for it. */
static bool
is_settled(struct journal *j)
{
	const bool has_open = j->config.syncer != NULL && j->n_files > 0;

	if ((j->leaving != 0 || has_open) && syncfs(j->base_fd) != 0) {
		log_errno(LOG_ERROR, "--sync: the files closed last may be "
				     "incomplete after a power cut");
		j->n_doubtful++;
	}
	return j->n_doubtful == 0;
}

void
journal_leave(struct journal *j)
{
	if (j->fd < 0)
		return;
	if (is_settled(j)) {
		if (unlinkat(j->base_fd, j->name, 0) == 0)
			return;
		log_errno(LOG_WARN, "journal %s: cannot remove it", j->name);
	}
	for (uint32_t n = 1; n < j->n_fresh; n++)
		if (j->slots[n].kind == JOURNAL_FILE)
			__atomic_store_n(&j->slots[n].file.length, UINT64_MAX,
			    __ATOMIC_RELEASE);
}

void
journal_destroy(struct journal *j)
{
	if (j == NULL)
		return;
	if (is_settled(j)) {
		remove_journal(j);
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
 * mapping can fail later. It is cheaper than fallocate(2), as most journals are
 * removed before they reach the disk. */
static bool
fill(const struct journal *j, size_t from, size_t to)
{
	static const char zeros[FIRST_SLOTS * JOURNAL_SLOT];

	while (from < to) {
		errno = ENOSPC; /* for a write of fewer bytes */
		if (pwrite(j->fd, zeros, sizeof(zeros), (off_t)from) ==
		    (ssize_t)sizeof(zeros))
			from += sizeof(zeros);
		else if (!errno_is_disk_full(errno) ||
			 !reserve_release(j->config.reserve))
			return false;
	}
	return true;
}

/* Extend the file to N slots: FIRST_SLOTS times a power of two. */
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

/* Create a file and lock it before another relay takes it for the journal of a
 * dead relay. */
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
		remove_journal(j);
	}
	return false;
}

static bool
begin(struct journal *j)
{
	if (!open_new(j))
		return false;
	if (!grow(j, FIRST_SLOTS)) {
		remove_journal(j);
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
ensure_free_slot(struct journal *j)
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
		log_errno(LOG_WARN, "journal of open streams: cannot grow; "
				    "until it can, incomplete ends of files "
				    "will not be cut off after a crash");
	j->is_failing = true;
	j->retry_ns = clock_now_ns() + JOURNAL_RETRY_NS;
}

/* Returns the number of a free slot, or 0. */
static uint32_t
take_slot(struct journal *j)
{
	uint32_t n;

	if (!ensure_free_slot(j)) {
		fail(j);
		return 0;
	}
	if (j->free_list == 0)
		return j->n_fresh++;
	n = j->free_list;
	j->free_list = j->slots[n].next;
	return n;
}

/* The compiler must not move stores across this one. The kernel keeps what the
 * process stored before it died. */
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
free_root_if_unused(struct journal *j, uint32_t root)
{
	if (j->slots[root].root == 0)
		free_chain(j, root);
}

/* Free slot N of a file, and the slots of its root with the last file. */
static void
free_file_slot(struct journal *j, uint32_t n)
{
	const uint32_t root = j->slots[n].root;

	assert(j->slots[n].kind == JOURNAL_FILE && j->slots[root].root > 0);
	free_slot(j, n);
	j->slots[root].root--;
	free_root_if_unused(j, root);
}

void
journal_set_synced(
    struct journal *j, struct journal_file *file, uint64_t length)
{
	if (file->slot != 0)
		__atomic_store_n(&j->slots[file->slot].file.synced, length,
		    __ATOMIC_RELEASE);
}

void
journal_end(struct journal *j)
{
	j->is_ending = j->config.sync != JOURNAL_UNSYNCED;
}

/* The round after which everything written so far is synced. A failed round
 * that was not handled yet may have tried to write it: then that round is
 * returned, and what waits for it becomes doubtful. */
static uint64_t
round_of_now(const struct journal *j)
{
	const uint64_t next = published(&j->config.syncer->begun) + 1;
	const uint64_t failed = published(&j->config.syncer->failed);

	return failed > j->failed ? failed : next;
}

/* Note the length that the next round will have synced. The list is ordered by
 * rounds. */
static void
mark(struct journal *j, struct journal_file *file)
{
	if (j->config.syncer == NULL || file->root == NULL ||
	    file->is_doubtful || !list_empty(&file->mark_node))
		return;
	file->mark_length = file->length;
	file->mark_round = round_of_now(j);
	list_append(&j->marked, &file->mark_node);
}

static void
remove_if_empty(struct journal *j)
{
	if (j->n_files == 0 && j->leaving == 0 && j->n_doubtful == 0)
		remove_journal(j);
}

/* Rings of small files are closed faster than rounds take place. */
static void
request_early_round(struct journal *j)
{
	struct syncer *s = j->config.syncer;
	const uint64_t next = s == NULL ? 0 : published(&s->begun) + 1;

	if (s == NULL || j->n_leaving < JOURNAL_CLOSED_MAX ||
	    j->hurried == next)
		return;
	j->hurried = next;
	syncer_request(s);
}

/* FILE is closed and has a slot, but may not be synced. */
static void
free_slot_when_synced(struct journal *j, const struct journal_file *file)
{
	const uint32_t n = file->slot;

	if (file->is_doubtful) {
		j->n_doubtful++;
		return;
	}
	j->slots[n].next = 0;
	/* Without a syncer the daemon is ending: there are no more rounds. */
	j->slots[n].file.round = j->config.syncer == NULL ? UINT64_MAX
							  : round_of_now(j);
	if (j->leaving == 0)
		j->leaving = n;
	else
		j->slots[j->last_leaving].next = n;
	j->last_leaving = n;
	j->n_leaving++;
	request_early_round(j);
}

/* Handle the slots that wait for rounds up to ROUND, which is done or FAILED.
 * */
static void
free_until(struct journal *j, uint64_t round, bool failed)
{
	uint32_t n;

	while (j->leaving != 0 && j->slots[j->leaving].file.round <= round) {
		n = j->leaving;
		j->leaving = j->slots[n].next;
		j->n_leaving--;
		if (failed)
			j->n_doubtful++;
		else
			free_file_slot(j, n);
	}
}

/* Make the kernel write the pages of the journal again: they may be among those
 * that it could not write. */
static void
touch_pages(struct journal *j)
{
	const uint32_t step = (uint32_t)sysconf(_SC_PAGESIZE) / JOURNAL_SLOT;

	volatile uint32_t *kind;

	for (uint32_t n = 0; n < j->n_slots; n += step) {
		kind = &j->slots[n].kind;
		*kind = *kind;
	}
}

/* A round failed: everything that waited for it is doubtful. */
static void
take_failure(struct journal *j, uint64_t failed)
{
	struct journal_file *file;

	j->failed = failed;
	while (!list_empty(&j->marked)) {
		file = list_first(&j->marked, struct journal_file, mark_node);
		if (file->mark_round > failed)
			break;
		file->is_doubtful = true;
		file->mark_length = 0;
		list_del(&file->mark_node);
	}
	free_until(j, failed, true);
	touch_pages(j);
}

/* A round is done: store the lengths that it has synced. */
static void
take_done(struct journal *j, uint64_t done)
{
	struct journal_file *file;

	while (!list_empty(&j->marked)) {
		file = list_first(&j->marked, struct journal_file, mark_node);
		if (file->mark_round > done)
			break;
		journal_set_synced(j, file, file->mark_length);
		list_del(&file->mark_node);
		if (file->length > file->mark_length || file->slot == 0)
			mark(j, file);
	}
	free_until(j, done, false);
	remove_if_empty(j);
}

uint64_t
journal_tick(struct journal *j)
{
	struct syncer *s = j->config.syncer;
	uint64_t done, failed;

	if (s == NULL || (list_empty(&j->marked) && j->leaving == 0))
		return UINT64_MAX;
	/* This order makes failures before DONE visible. */
	done = published(&s->done);
	failed = published(&s->failed);
	if (failed > j->failed)
		take_failure(j, failed);
	take_done(j, done);
	return list_empty(&j->marked) && j->leaving == 0 ? UINT64_MAX
							 : s->pause_ns;
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

/* Give FILE a slot, and its root if it has none. */
static bool
enter_file(struct journal *j, struct journal_file *file)
{
	struct journal_slot *s;
	uint32_t n;

	if (file->root->slot == 0 && !enter_root(j, file->root))
		return false;
	n = take_slot(j);
	if (n == 0) {
		free_root_if_unused(j, file->root->slot);
		if (file->root->n_files == 0)
			file->root->slot = 0;
		return false;
	}
	s = &j->slots[n];
	s->root = file->root->slot;
	s->file.ino = file->ino;
	s->file.born = file->born;
	s->file.is_index = file->is_index;
	s->file.length = file->length;
	s->file.synced = list_empty(&file->mark_node) ? file->mark_length : 0;
	j->slots[s->root].root++;
	set_kind(s, JOURNAL_FILE);
	file->root->n_files++;
	file->slot = n;
	list_del(&file->node);
	return true;
}

/* Give a slot to all open files without one. */
static void
add_waiting(struct journal *j)
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
		log_warn(
		    "journal of open streams: works again; all open files are "
		    "in it");
	j->is_failing = false;
}

static void
add(struct journal *j, struct journal_file *file, struct journal_root *root)
{
	file->root = root;
	list_init(&file->node);
	list_init(&file->mark_node);
	list_append(&j->files, &file->node);
	j->n_files++;
	add_waiting(j);
}

void
journal_add_file(struct journal *j, struct journal_file *file,
    struct journal_root *root, const struct dir_id *id, bool is_index)
{
	*file = (struct journal_file){
		.ino = id->ino, .born = id->born, .is_index = is_index
	};
	add(j, file, root);
}

void
journal_set_length(
    struct journal *j, struct journal_file *file, uint64_t length)
{
	assert(file->slot < j->n_slots || file->slot == 0);
	file->length = length;
	mark(j, file);
	if (file->slot != 0)
		__atomic_store_n(&j->slots[file->slot].file.length, length,
		    __ATOMIC_RELEASE);
	else if (file->root != NULL)
		add_waiting(j);
}

void
journal_remove_file(struct journal *j, struct journal_file *file)
{
	if (file->root == NULL)
		return;
	list_del(&file->node);
	list_del(&file->mark_node);
	if (file->slot != 0) {
		/* The root's owner may forget the root with its last file;
		 * entries that wait to be synced keep the slot of the root. */
		if (--file->root->n_files == 0)
			file->root->slot = 0;
		if (j->config.syncer != NULL || j->is_ending)
			free_slot_when_synced(j, file);
		else
			free_file_slot(j, file->slot);
	}
	*file = (struct journal_file){ 0 };
	assert(j->n_files > 0);
	j->n_files--;
	remove_if_empty(j);
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

static const struct state_member file_members[] = {
	STATE_DROP(struct journal_file, node),
	STATE_DROP(struct journal_file, root),
	STATE_KEEP(struct journal_file, ino),
	STATE_KEEP(struct journal_file, born),
	STATE_DROP(struct journal_file, length), /* the owner has it */
	STATE_CODE(struct journal_file, slot),	 /* what is synced */
	STATE_DROP(struct journal_file, is_index),
	STATE_KEEP(struct journal_file, is_doubtful),
	STATE_DROP(struct journal_file, mark_node),
	STATE_CODE(struct journal_file, mark_length), /* the same */
	STATE_DROP(struct journal_file, mark_round),
};
static STATE_TABLE(file_state, struct journal_file, file_members);

void
journal_put_file(struct state_out *o, const struct journal *j,
    const struct journal_file *file)
{
	state_put(o, &file_state, file);
	state_put_u64(
	    o, file->slot == 0 ? 0 : j->slots[file->slot].file.synced);
}

/* The entry has both lengths from the beginning: with less recovery would cut
 * the file. */
enum status
journal_get_file(struct journal_file *file, struct state_in *in,
    struct journal *j, struct journal_root *root, bool is_index,
    uint64_t length)
{
	enum status st;

	*file = (struct journal_file){ .length = length, .is_index = is_index };
	st = state_get(in, &file_state, file);
	file->mark_length = state_get_u64(in);
	if (st != OK || in->r.bad) {
		*file = (struct journal_file){ 0 };
		return E_MALFORMED;
	}
	add(j, file, root);
	if (length > 0)
		mark(j, file);
	return OK;
}
