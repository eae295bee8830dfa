/* SPDX-License-Identifier: MIT */
/*
 * A journal and the files beside it. Whatever they are, a recovery cuts ends
 * off, gives an index file a header, and does nothing else; nothing outside of
 * the output directory changes; a second one finds nothing more to do.
 *
 * Input: flags (1: the journal is of this boot), then for each file how many
 * bytes follow of it (1 byte) and its size (2 bytes, little endian; zeros
 * behind those bytes), then the journal. An inode in it that is below FILES is
 * that of the file of this number, and a time of birth that is 1 is that
 * file's, as no input can know them.
 */
#include <assert.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "store/dir.h"
#include "ctf/index.h"
#include "store/journal.h"
#include "store/recovery.h"
#include "store/journal_format.h"
#include "tests/fuzz/fuzz.h"

#define FILES 6
#define OUTSIDE 5
#define SIZE_MAX_FILE 4096
#define JOURNAL_FILE_NAME JOURNAL_PREFIX "0123456789abcdef"

static const char *const names[FILES] = { "h/s/a", "h/s/index/a.idx",
	"h/s/ust/b", "h/s/ust/index/b.idx", "h/s/c", "../outside" };
static const char *const folders[] = { "h", "h/s", "h/s/index", "h/s/ust",
	"h/s/ust/index" };

struct content {
	size_t n;
	uint8_t p[SIZE_MAX_FILE];
};

static char top[64];
static int base = -1;
static struct dir_id ids[FILES];

static void
make_top(void)
{
	char path[sizeof(top) + 8];

	(void)snprintf(top, sizeof(top), "%s/fuzz-recovery-XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(top) == NULL)
		err(EXIT_FAILURE, "%s", top);
	(void)snprintf(path, sizeof(path), "%s/out", top);
	if (mkdir(path, 0700) != 0)
		err(EXIT_FAILURE, "%s", path);
	base = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (mkdirat(base, folders[i], 0700) != 0)
			err(EXIT_FAILURE, "%s", folders[i]);
	if (symlinkat("../..", base, "h/link") != 0)
		err(EXIT_FAILURE, "link");
	log_set_level(LOG_ERROR);
}

__attribute__((destructor)) static void
remove_top(void)
{
	char path[sizeof(top) + 8];

	if (base < 0)
		return;
	(void)unlinkat(base, "h/link", 0);
	for (size_t i = sizeof(folders) / sizeof(folders[0]); i > 0; i--)
		(void)unlinkat(base, folders[i - 1], AT_REMOVEDIR);
	(void)snprintf(path, sizeof(path), "%s/out", top);
	(void)rmdir(path);
	(void)rmdir(top);
}

static void
put(const char *name, const void *p, size_t n, struct dir_id *id)
{
	const int fd = openat(base, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	enum status st = OK;

	if (fd < 0 || write(fd, p, n) != (ssize_t)n)
		err(EXIT_FAILURE, "%s", name);
	if (id != NULL)
		st = dir_identify(id, fd);
	assert(st == OK);
	close(fd);
}

static void
get(const char *name, struct content *out)
{
	const int fd = openat(base, name, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, out->p, sizeof(out->p));

	if (n < 0)
		err(EXIT_FAILURE, "%s", name);
	out->n = (size_t)n;
	close(fd);
}

static size_t
take(const uint8_t **p, size_t *left, void *to, size_t n)
{
	n = n < *left ? n : *left;
	memcpy(to, *p, n);
	*p += n;
	*left -= n;
	return n;
}

/* Make the next file of the input. */
static void
make_file(const uint8_t **p, size_t *left, unsigned i, struct content *c)
{
	uint8_t head[3] = { 0 };

	*c = (struct content){ 0 };
	(void)take(p, left, head, sizeof(head));
	(void)take(p, left, c->p, head[0]);
	c->n = (head[1] | (size_t)head[2] << 8) % SIZE_MAX_FILE;
	put(names[i], c->p, c->n, &ids[i]);
}

static bool
is_index(unsigned i)
{
	return strstr(names[i], ".idx") != NULL;
}

/* Fill in what no input can know. False: the index is not compared with the
 * data, as the lengths are of this boot, or the journal takes an index file for
 * a data file, which none of ours does. */
static bool
complete(uint8_t *journal, size_t n, bool is_of_this_boot)
{
	struct journal_slot s;
	bool is_sound = !is_of_this_boot;

	for (size_t at = 0; at + sizeof(s) <= n; at += sizeof(s)) {
		memcpy(&s, journal + at, sizeof(s));
		if (at == 0) {
			journal_boot(s.head.boot);
			if (!is_of_this_boot)
				s.head.boot[0] = 'x';
		}
		if (at > 0 && s.kind == JOURNAL_FILE && s.file.ino < FILES) {
			if (s.file.born == 1)
				s.file.born = ids[s.file.ino].born;
			if (is_index((unsigned)s.file.ino) &&
			    s.file.is_index == 0)
				is_sound = false;
			s.file.ino = ids[s.file.ino].ino;
		}
		memcpy(journal + at, &s, sizeof(s));
	}
	return is_sound;
}

/* An index file that was mended holds whole records of bytes that are there. */
static void
check_index(const struct content *index, const struct content *data)
{
	struct index_record rec;
	unsigned minor;
	size_t at;

	assert(index->n >= INDEX_HEADER_LEN);
	assert(index_header_decode(index->p, &minor) == OK);
	at = index->n - INDEX_HEADER_LEN;
	assert(at % index_record_len(minor) == 0);
	if (at == 0)
		return;
	index_decode(
	    index->p + index->n - index_record_len(minor), &rec, minor);
	assert(rec.offset <= data->n &&
	       rec.packet_size / 8 <= data->n - rec.offset);
}

static void
check_file(const struct content *was, const struct content *is, unsigned i)
{
	const bool has_header = is_index(i) && is->n == INDEX_HEADER_LEN;

	if (i == OUTSIDE)
		assert(is->n == was->n);
	if (!has_header)
		assert(is->n <= was->n && memcmp(is->p, was->p, is->n) == 0);
}

static void
recover(const uint8_t *journal, size_t n)
{
	put(JOURNAL_FILE_NAME, journal, n, NULL);
	(void)recovery_run(base, NULL);
	/* It is done with, whatever it was. */
	assert(unlinkat(base, JOURNAL_FILE_NAME, 0) != 0 && errno == ENOENT);
}

static struct content before[FILES], after[FILES], again[FILES];

static void
get_all(struct content all[FILES])
{
	for (unsigned i = 0; i < FILES; i++)
		get(names[i], &all[i]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	uint8_t flags = 0, *journal;
	bool is_sound;

	if (base < 0)
		make_top();
	(void)take(&p, &n, &flags, 1);
	for (unsigned i = 0; i < FILES; i++)
		make_file(&p, &n, i, &before[i]);
	journal = malloc(n + 1);
	if (journal == NULL)
		err(EXIT_FAILURE, "malloc");
	memcpy(journal, p, n);
	is_sound = complete(journal, n, (flags & 1) != 0);
	recover(journal, n);
	get_all(after);
	for (unsigned i = 0; i < FILES; i++) {
		check_file(&before[i], &after[i], i);
		if (is_sound && is_index(i) && before[i].n != after[i].n)
			check_index(&after[i], &after[i - 1]);
	}
	recover(journal, n);
	get_all(again);
	for (unsigned i = 0; i < FILES; i++) {
		assert(after[i].n == again[i].n &&
		       memcmp(after[i].p, again[i].p, after[i].n) == 0);
		(void)unlinkat(base, names[i], 0);
	}
	free(journal);
	return 0;
}
