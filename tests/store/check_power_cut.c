/* SPDX-License-Identifier: MIT */
/*
 * Simulated power cuts. A child records into real files; each sync notes what
 * is on the disk then: bytes of a file, names of a folder, or all of them. Then
 * the power is cut: of each sector that was written since, and of each name, a
 * seed says whether it got to the disk. The next start must leave what was
 * acknowledged, and an index that is never ahead of the data.
 *
 * TP_POWER_SEED=N repeats one; with TP_TEST_LONG there are 500 for
 * each of the four modes. With a TIME only files that the journal on the disk
 * names are looked at: the others are younger than that time.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/relpath.h"
#include "store/dir.h"
#include "ctf/index.h"
#include "store/journal.h"
#include "store/recovery.h"
#include "store/journal_format.h"
#include "store/syncer.h"
#include "tests/lib/bytes.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"
#include "tests/store/test_store.h"

#define FILES 4
#define SIZE 700 /* of a packet: sectors are torn within it */
#define SECTOR 512
#define DISK_MAX 4096 /* files and names that are noted */
#define MODES 4
#define SHORT_NS (16 * NS_PER_S) /* all modes together */
#define SHORT_MOST 400
#define LONG_MOST 500

static uint64_t state; /* of the random numbers */

static uint64_t
draw(uint64_t n)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (state >> 33) % n;
}

/* What the child reports to its parent. */
static struct told {
	unsigned acked[FILES]; /* packets that were called written */
	bool is_closed[FILES], is_known[FILES];
} * told;

/* The disk: bytes of files, and names in folders, by inode. */
static struct noted {
	ino_t ino;
	char *name;	    /* of a name in folder INO; NULL: a file */
	struct bytes bytes; /* of file INO */
	struct bytes lost;  /* its bytes when a sync failed */
	uint64_t born;	    /* of the file: its number may be used again */
} disk[DISK_MAX];
static unsigned n_disk;
static pthread_mutex_t disk_lock = PTHREAD_MUTEX_INITIALIZER;

int __wrap_fdatasync(int fd);
int __wrap_fsync(int fd);
int __wrap_syncfs(int fd);

static struct noted *
find_noted(ino_t ino, const char *name)
{
	for (unsigned i = 0; i < n_disk; i++)
		if (disk[i].ino == ino &&
		    (disk[i].name == NULL
			    ? name == NULL
			    : name != NULL && strcmp(disk[i].name, name) == 0))
			return &disk[i];
	return NULL;
}

static struct noted *
note(ino_t ino, const char *name)
{
	struct noted *n = find_noted(ino, name);

	if (n != NULL)
		return n;
	MUST(n_disk < DISK_MAX);
	n = &disk[n_disk++];
	n->ino = ino;
	n->name = name == NULL ? NULL : strdup(name);
	return n;
}

static uint64_t
born_of(int fd)
{
	struct dir_id id;

	MUST(dir_identify(&id, fd) == OK);
	return id.born;
}

/* What is noted of the file at FD, and not of an earlier one of its number. */
static struct noted *
note_of(int fd, ino_t ino)
{
	struct noted *n = note(ino, NULL);

	if (n->born == born_of(fd))
		return n;
	free(n->bytes.p);
	free(n->lost.p);
	n->bytes = n->lost = (struct bytes){ 0 };
	n->born = born_of(fd);
	return n;
}

static struct bytes
content(int fd)
{
	struct bytes b;
	struct stat sb;

	MUST(fstat(fd, &sb) == 0);
	b.n = (size_t)sb.st_size;
	b.p = malloc(b.n + 1);
	MUST(pread(fd, b.p, b.n, 0) == (ssize_t)b.n);
	return b;
}

/* The kernel does not write again what it could not write once: of NOW, sectors
 * that are as they were then stay what they are on the disk. */
static void
forget_lost(const struct noted *n, struct bytes *now)
{
	for (size_t at = 0; at < now->n && at < n->lost.n; at += SECTOR) {
		const size_t end = at + SECTOR < now->n ? at + SECTOR : now->n;

		if (end > n->lost.n ||
		    memcmp(now->p + at, n->lost.p + at, end - at) != 0)
			continue;
		for (size_t i = at; i < end; i++)
			now->p[i] = i < n->bytes.n ? n->bytes.p[i] : 0;
	}
}

static void
note_file(int fd)
{
	struct bytes now = content(fd);
	struct noted *n;
	struct stat sb;

	MUST(fstat(fd, &sb) == 0);
	n = note_of(fd, sb.st_ino);
	forget_lost(n, &now);
	free(n->bytes.p);
	n->bytes = now;
}

/* A sync failed. Journals are written again by their owner. */
static int
lose_one(const char *path, const struct stat *sb, int type, struct FTW *at)
{
	struct noted *n;
	int fd;

	if (type != FTW_F || strstr(path, JOURNAL_PREFIX) != NULL)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	MUST(fd >= 0 && at->level > 0);
	n = note_of(fd, sb->st_ino);
	free(n->lost.p);
	n->lost = content(fd);
	close(fd);
	return 0;
}

static const char *
parent_of(const char *path, const struct FTW *at, struct stat *sb)
{
	char parent[PATH_MAX];

	(void)snprintf(parent, sizeof(parent), "%.*s", at->base, path);
	MUST(stat(parent, sb) == 0);
	return path + at->base;
}

static ino_t wanted_folder; /* 0: all, and bytes, too */

static int
note_one(const char *path, const struct stat *sb, int type, struct FTW *at)
{
	struct stat parent;
	const char *name = parent_of(path, at, &parent);
	int fd;

	if (wanted_folder != 0 && parent.st_ino != wanted_folder)
		return 0;
	if (at->level > 0)
		(void)note(parent.st_ino, name);
	if (wanted_folder != 0 || type != FTW_F)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		note_file(fd);
	if (fd >= 0)
		close(fd);
	(void)sb;
	return 0;
}

static void
note_tree(ino_t folder)
{
	wanted_folder = folder;
	(void)nftw(scratch_path(""), note_one, 20, FTW_PHYS);
}

int
__wrap_fdatasync(int fd)
{
	pthread_mutex_lock(&disk_lock);
	note_file(fd);
	pthread_mutex_unlock(&disk_lock);
	return 0;
}

int
__wrap_fsync(int fd)
{
	struct stat sb;

	MUST(fstat(fd, &sb) == 0);
	pthread_mutex_lock(&disk_lock);
	note_tree(sb.st_ino);
	pthread_mutex_unlock(&disk_lock);
	return 0;
}

/* Of the syncer's, every fourth fails, and what was to be written then is never
 * written by itself. */
int
__wrap_syncfs(int fd)
{
	static unsigned n;

	const bool fails = fd >= 0 && ++n % 4 == 0;

	pthread_mutex_lock(&disk_lock);
	if (fails)
		(void)nftw(scratch_path(""), lose_one, 20, FTW_PHYS);
	else
		note_tree(0);
	pthread_mutex_unlock(&disk_lock);
	errno = EIO;
	return fails ? -1 : 0;
}

/* Of each sector either the bytes that are on the disk for certain, or those
 * that were written later. */
static void
cut_file(const char *path, ino_t ino)
{
	struct bytes now = bytes_file(path);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	const struct noted *n;
	size_t size, sure;

	MUST(fd >= 0);
	n = note_of(fd, ino);
	size = sure = n->bytes.n;

	if (now.n > sure)
		size += draw(3) == 0 ? draw(now.n - sure + 1)
				     : draw(2) * (now.n - sure);
	for (size_t at = 0; at < now.n; at += SECTOR) {
		const bool is_new = draw(2) == 0;

		for (size_t i = at; !is_new && i < now.n && i < at + SECTOR;
		     i++)
			now.p[i] = i < sure ? n->bytes.p[i] : 0;
	}
	MUST(pwrite(fd, now.p, now.n, 0) == (ssize_t)now.n);
	MUST(ftruncate(fd, (off_t)size) == 0);
	close(fd);
	free(now.p);
}

static void
cut_journal(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	/* The machine starts again: it is of another boot, where it is there
	 * at all. */
	if (test_store_size(path + strlen(scratch_path(""))) >= JOURNAL_SLOT)
		MUST(pwrite(fd, "x", 1,
			 offsetof(struct journal_slot, head.boot)) == 1);
	close(fd);
}

static int
cut_one(const char *path, const struct stat *sb, int type, struct FTW *at)
{
	struct stat parent;
	const char *name = parent_of(path, at, &parent);

	if (at->level == 0)
		return 0;
	if (type == FTW_F)
		cut_file(path, sb->st_ino);
	if (type == FTW_F && strstr(path, JOURNAL_PREFIX) != NULL)
		cut_journal(path);
	if (find_noted(parent.st_ino, name) == NULL && draw(2) == 0)
		(void)remove(path); /* a folder that holds names stays */
	return 0;
}

/* One stream file of the child. */
static struct tracefile *files[FILES];
static unsigned n_written[FILES];

static void
write_some(unsigned i)
{
	struct packet *p;
	unsigned done;

	for (uint64_t n = draw(3) + 1; n > 0; n--) {
		p = test_store_packet(
		    n_written[i], (uint8_t)n_written[i], SIZE, 0, true);
		memset(p->blocks->mem, (uint8_t)(n_written[i] % 250 + 1), SIZE);
		p->rec.content_size = p->rec.packet_size;
		MUST(tracefile_append(files[i], p, &done) == OK);
		packet_destroy(&test_store.store->packets, p);
		n_written[i]++;
	}
	if (draw(4) == 0)
		return;
	MUST(tracefile_write_records(files[i], false, NULL) == OK);
	if (!test_store.store->is_ending)
		told->acked[i] = n_written[i];
}

static void
open_one(unsigned i)
{
	struct chunk_family *f;
	char name[16];

	(void)snprintf(name, sizeof(name), "c%u", i);
	f = test_store_family(test_store.chunk, "ust/0", name, false);
	MUST(tracefile_create(&files[i], test_store.store, test_store.chunk, f,
		 0, false, TRACEFILE_INDEX_1_1) == OK);
	told->is_known[i] = true;
}

static void
do_something(void)
{
	const unsigned i = (unsigned)draw(FILES);

	if (files[i] == NULL && !told->is_known[i]) {
		if (!test_store.store->is_ending)
			open_one(i);
	} else if (files[i] != NULL && draw(12) > 0) {
		write_some(i);
	} else if (files[i] != NULL) {
		tracefile_close(files[i]);
		files[i] = NULL;
		if (test_store.store->is_ending)
			return;
		told->acked[i] = n_written[i];
		told->is_closed[i] = true;
	}
	(void)store_tick(test_store.store);
	if (test_store.store->config.sync == STORE_SYNC_TIME && draw(4) == 0)
		(void)usleep((useconds_t)draw(1500));
}

/* The length of the file with inode INO that the journal on the disk vouches
 * for. False: it has no entry there. */
static bool
synced_length(ino_t ino, uint64_t *length)
{
	for (unsigned i = 0; i < n_disk; i++) {
		const struct bytes *b = &disk[i].bytes;
		const struct journal_slot *s = (const void *)b->p;

		if (b->n < JOURNAL_SLOT || s->kind != JOURNAL_HEAD ||
		    s->head.magic != JOURNAL_MAGIC)
			continue;
		for (size_t n = b->n / JOURNAL_SLOT; n > 0; n--, s++)
			if (s->kind == JOURNAL_FILE && s->file.ino == ino) {
				*length = s->file.synced;
				return true;
			}
	}
	return false;
}

/* With a TIME, what counts is what was synced by then. */
static void
tell_synced(void)
{
	for (unsigned i = 0; i < FILES; i++) {
		uint64_t data, index;
		struct stat sb;
		char name[64];

		told->acked[i] = 0;
		told->is_known[i] = false;
		(void)snprintf(name, sizeof(name), "h/s/ust/0/c%u", i);
		if (stat(scratch_path(name), &sb) != 0 ||
		    !synced_length(sb.st_ino, &data))
			continue;
		(void)snprintf(
		    name, sizeof(name), "h/s/ust/0/index/c%u.idx", i);
		if (stat(scratch_path(name), &sb) != 0 ||
		    !synced_length(sb.st_ino, &index))
			continue;
		told->is_known[i] = true;
		/* The two are noted one after another. */
		if (index > INDEX_HEADER_LEN + data / SIZE * 72)
			index = INDEX_HEADER_LEN + data / SIZE * 72;
		if (index > INDEX_HEADER_LEN)
			told->acked[i] = (unsigned)(index - INDEX_HEADER_LEN) /
					 72;
	}
}

static void
record_until_the_cut(enum store_sync sync)
{
	struct store_config config = test_store.store->config;
	struct relpath *wanted = path_of("h/s");

	config.sync = sync;
	if (sync == STORE_SYNC_TIME)
		MUST(syncer_create(&config.syncer, test_store.base,
			 8 * NS_PER_MS) == OK &&
		     syncer_start(config.syncer) == OK);
	MUST(store_create(&test_store.store, &config) == OK);
	(void)__wrap_syncfs(-1);
	MUST(session_dir_claim(
		 &test_store.dir, test_store.store, wanted, 0, NULL) == OK);
	test_store.chunk = test_store_chunk(0, 0, NULL);
	for (uint64_t n = draw(60), end = draw(4) == 0 ? draw(20) : 0; n > 0;
	     n--) {
		/* What comes then is not acknowledged any more. */
		if (n == end)
			store_end(test_store.store);
		do_something();
	}
	pthread_mutex_lock(&disk_lock); /* the syncer stands still, too */
	if (sync == STORE_SYNC_TIME)
		tell_synced();
	(void)nftw(scratch_path(""), cut_one, 20, FTW_PHYS | FTW_DEPTH);
	_exit(0);
}

static void
check_records(unsigned i, const struct bytes *data, const struct bytes *index)
{
	struct index_record rec;
	const uint8_t *p = index->p + INDEX_HEADER_LEN;

	for (size_t n = 0; p < index->p + index->n; n++, p += 72) {
		index_decode(p, &rec, 1);
		ck_assert_uint_eq(rec.offset, n * SIZE);
		for (size_t at = n * SIZE; at < (n + 1) * SIZE; at++)
			if (data->p[at] != n % 250 + 1)
				ck_abort_msg("file %u, byte %zu", i, at);
	}
}

/* Each record has its bytes; those of a synced file are the right ones, and
 * nothing torn is after them. */
static void
check_pair(unsigned i, enum store_sync sync)
{
	const bool is_sure = sync == STORE_SYNC_PACKET ||
			     (sync == STORE_SYNC_CLOSE && told->is_closed[i]) ||
			     (sync == STORE_SYNC_TIME && told->is_known[i]);
	struct bytes data = { 0 }, index = { 0 };
	char name[64];
	size_t n = 0;

	(void)snprintf(name, sizeof(name), "h/s/ust/0/c%u", i);
	if (scratch_exists(name))
		data = bytes_file(scratch_path(name));
	(void)snprintf(name, sizeof(name), "h/s/ust/0/index/c%u.idx", i);
	if (data.p != NULL && scratch_exists(name))
		index = bytes_file(scratch_path(name));
	if (index.n > 0 && (is_sure || sync == STORE_SYNC_CLOSE)) {
		ck_assert_uint_ge(index.n, INDEX_HEADER_LEN);
		ck_assert_uint_eq((index.n - INDEX_HEADER_LEN) % 72, 0);
		n = (index.n - INDEX_HEADER_LEN) / 72;
	}
	ck_assert_uint_le(n * SIZE, data.n);
	if (is_sure) {
		if (n > 0)
			check_records(i, &data, &index);
		ck_assert_uint_ge(n, told->acked[i]);
		ck_assert_uint_eq(data.n % SIZE, 0);
	}
	free(data.p);
	free(index.p);
}

static void
one_cut(uint64_t seed, enum store_sync sync)
{
	int status;
	pid_t pid;

	state = seed * UINT64_C(2654435761) + sync;
	test_store_open(10);
	memset(told, 0, sizeof(*told));
	pid = fork();
	if (pid == 0)
		record_until_the_cut(sync);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	    "the child failed, status %#x: TP_POWER_SEED=%" PRIu64,
	    (unsigned)status, seed);
	(void)recovery_run(test_store.base, NULL);
	for (unsigned i = 0; i < FILES; i++)
		check_pair(i, sync);
	test_store_close();
}

TEST_ROWS(what_was_synced_is_there_and_the_index_never_ahead, MODES)
{
	static const enum store_sync modes[] = { STORE_SYNC_PACKET,
		STORE_SYNC_CLOSE, STORE_SYNC_TIME, STORE_SYNC_NONE };
	const char *only = getenv("TP_POWER_SEED");
	const bool is_long = getenv("TP_TEST_LONG") != NULL;
	const uint64_t began = clock_now_ns();
	uint64_t seed, most = is_long ? LONG_MOST : SHORT_MOST;

	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(told, MAP_FAILED);
	seed = only == NULL ? 0 : strtoull(only, NULL, 10);
	if (only != NULL)
		most = seed + 1;
	for (; seed < most &&
	       (is_long || clock_now_ns() - began < SHORT_NS / MODES);
	     seed++) {
		(void)fprintf(
		    stderr, "\rmode %d, TP_POWER_SEED=%" PRIu64, _i, seed);
		one_cut(seed, modes[_i]);
	}
	(void)fprintf(stderr, ": the last one\n");
	(void)munmap(told, sizeof(*told));
}

int
main(void)
{
	log_set_level(LOG_ERROR);
	return unit_run();
}
