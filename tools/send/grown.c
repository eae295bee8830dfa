/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/send/grown.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORD 72 /* bytes, index 1.1 */

static enum status
identify(struct grown *g)
{
	struct statx sx;

	if (statx(g->index, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &sx) !=
	    0)
		return E_IO;
	g->ino = sx.stx_ino;
	g->born = (uint64_t)sx.stx_btime.tv_sec * 1000000000 +
		  sx.stx_btime.tv_nsec;
	return OK;
}

static enum status
open_file(int *out, int dir, const char *name)
{
	struct stat sb;

	*out = openat(
	    dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (*out < 0)
		return errno == ENOENT ? E_NOENT : E_IO;
	if (fstat(*out, &sb) == 0 && S_ISREG(sb.st_mode))
		return OK;
	errno = EINVAL;
	return E_IO;
}

static enum status
check_header(struct grown *g)
{
	uint8_t header[INDEX_HEADER_LEN];
	unsigned minor;

	if (pread(g->index, header, sizeof(header), 0) != sizeof(header))
		return E_LATER;
	if (index_header_decode(header, &minor) != OK)
		return E_MALFORMED;
	g->at = sizeof(header);
	return minor == 0 ? E_REFUSED : OK;
}

/* Read the record at AT. False: it is not whole yet. */
static bool
read_record(const struct grown *g, uint64_t at, struct index_record *rec)
{
	uint8_t bytes[RECORD];
	ssize_t n;

	while (flock(g->index, LOCK_SH) != 0 && errno == EINTR)
		;
	n = pread(g->index, bytes, sizeof(bytes), (off_t)at);
	(void)flock(g->index, LOCK_UN);
	if (n != sizeof(bytes))
		return false;
	index_decode(bytes, rec, 1);
	return true;
}

enum status
grown_open(struct grown *g, int dir, int index_dir, const char *name)
{
	char data[NAME_MAX + 1];
	enum status st;

	*g = (struct grown){ .index = -1, .data = -1 };
	list_init(&g->node);
	snprintf(data, sizeof(data), "%.*s", (int)(strlen(name) - 4), name);
	st = open_file(&g->index, index_dir, name);
	if (st == OK)
		st = identify(g);
	if (st == OK)
		st = check_header(g);
	if (st == OK && !read_record(g, g->at, &g->first))
		st = E_LATER;
	g->next = g->first;
	g->has_next = st == OK;
	if (st == OK)
		st = open_file(&g->data, dir, data);
	if (st != OK)
		grown_close(g);
	return st;
}

void
grown_close(struct grown *g)
{
	if (g->index >= 0)
		close(g->index);
	if (g->data >= 0)
		close(g->data);
	g->index = g->data = -1;
	g->has_next = false;
}

static bool
is_same(const struct index_record *a, const struct index_record *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

bool
grown_is_same(const struct grown *g, const struct grown *old)
{
	struct index_record more;

	return is_same(&g->first, &old->first) &&
	       !read_record(g, old->at, &more);
}

enum status
grown_look(struct grown *g)
{
	struct index_record first;

	if (g->has_next || g->index < 0)
		return g->has_next ? OK : E_NOENT;
	if (!read_record(g, INDEX_HEADER_LEN, &first))
		return E_NOENT;
	if (!is_same(&first, &g->first))
		g->at = INDEX_HEADER_LEN;
	g->first = first;
	g->has_next = read_record(g, g->at, &g->next);
	return g->has_next ? OK : E_NOENT;
}

void
grown_skip(struct grown *g)
{
	g->at += RECORD;
	g->has_next = false;
}

static enum status
read_data(const struct grown *g, uint8_t *to, size_t n)
{
	uint64_t at = g->next.offset;
	ssize_t got;

	while (n > 0) {
		got = pread(g->data, to, n, (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? E_IO : E_NOENT;
		to += got;
		at += (uint64_t)got;
		n -= (size_t)got;
	}
	return OK;
}

/* A ring may begin the file anew while its bytes are read. */
static bool
is_still(const struct grown *g)
{
	struct index_record again;

	return read_record(g, g->at, &again) && is_same(&again, &g->next);
}

enum status
grown_take(struct grown *g, struct client_packet *packet)
{
	const struct index_record *r = &g->next;
	const uint64_t size = r->packet_size / 8;
	enum status st = OK;
	uint8_t *bytes;

	if (size == 0 || size > UINT32_MAX || r->packet_size % 8 != 0 ||
	    r->content_size > r->packet_size ||
	    r->timestamp_begin > r->timestamp_end)
		return E_LIMIT;
	bytes = malloc(size);
	if (bytes == NULL)
		return E_NOMEM;
	st = read_data(g, bytes, size);
	if (st == OK && !is_still(g))
		st = E_NOENT;
	if (st != OK) {
		free(bytes);
		return st;
	}
	*packet = (struct client_packet){
		.data = bytes,
		.size = (uint32_t)size,
		.index = {
			.packet_size = r->packet_size,
			.content_size = r->content_size,
			.timestamp_begin = r->timestamp_begin,
			.timestamp_end = r->timestamp_end,
			.events_discarded = r->events_discarded,
			.ctf_stream = r->ctf_stream,
			.ctf_instance = r->ctf_instance,
			.packet_seq_num = r->packet_seq_num,
		},
		.done = free,
		.arg = bytes,
	};
	grown_skip(g);
	return OK;
}

/* A read lease is given only while nobody has the file open for writing. */
bool
grown_is_written(const struct grown *g)
{
	if (g->data < 0)
		return false;
	if (fcntl(g->data, F_SETLEASE, F_RDLCK) != 0)
		return true;
	(void)fcntl(g->data, F_SETLEASE, F_UNLCK);
	return false;
}
