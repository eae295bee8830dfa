/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/reader.h"
#include "proto/relay.h"
#include "tests/bench/load.h"
#include "tests/bench/program.h"

/* Of an index file (streaming 5.6). */
#define INDEX_HEADER 16
#define INDEX_RECORD 72
#define INDEX_MAGIC UINT32_C(0xc1f1dcc1)

/* Read at once. */
#define PIECE (1024 * 1024)

/* A file that is being checked: named in what is said of it. */
struct checked {
	char path[PATH_MAX];
	FILE *f;
	uint8_t *piece; /* PIECE bytes */
	uint64_t at;
};

static bool __attribute__((format(printf, 2, 3)))
wrong(const struct checked *c, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "loadgen: %s: ", c->path);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return false;
}

static bool __attribute__((format(printf, 4, 5)))
open_checked(struct checked *c, const struct load_options *o, unsigned session,
    const char *fmt, ...)
{
	char name[SHAPE_NAME_MAX];
	va_list ap;
	int n;

	shape_session_name(session, name);
	n = snprintf(c->path, sizeof(c->path), "%s/%s/%s/%s/", o->verify,
	    SHAPE_HOSTNAME, name, SHAPE_PATH);
	va_start(ap, fmt);
	vsnprintf(c->path + n, sizeof(c->path) - (size_t)n, fmt, ap);
	va_end(ap);
	c->at = 0;
	c->f = fopen(c->path, "re");
	return c->f != NULL || wrong(c, "%s", strerror(errno));
}

/* N bytes at most PIECE; false at the end of the file too. */
static bool
take(struct checked *c, size_t n)
{
	if (fread(c->piece, 1, n, c->f) != n)
		return wrong(c, "ends before byte %" PRIu64, c->at + n);
	c->at += n;
	return true;
}

/* The file must end here; it is closed. */
static bool
at_end(struct checked *c, bool good)
{
	if (good && fgetc(c->f) != EOF)
		good = wrong(c, "longer than %" PRIu64 " bytes", c->at);
	fclose(c->f);
	return good;
}

static bool
is_zero(const uint8_t *p, size_t n)
{
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

static bool
check_packet(
    struct checked *c, const struct shape *s, const struct packet_id *id)
{
	const uint64_t length = (uint64_t)s->size + s->padding;
	uint64_t at;
	size_t n;

	for (at = 0; at < length; at += n) {
		const bool is_data = at < s->size;
		const uint64_t left = (is_data ? s->size : length) - at;

		n = left < PIECE ? (size_t)left : PIECE;
		if (!take(c, n))
			return false;
		if (is_data ? !shape_check(id, at, c->piece, n)
			    : !is_zero(c->piece, n))
			return wrong(c, "packet %" PRIu64 ": not what was sent",
			    id->packet);
	}
	return true;
}

static bool
check_record(
    struct checked *c, const struct shape *s, const struct packet_id *id)
{
	const uint64_t length = (uint64_t)s->size + s->padding;
	struct relay_index want;
	struct reader r;

	if (!take(c, INDEX_RECORD))
		return false;
	shape_index(s, id, &want);
	r = reader_over(c->piece, INDEX_RECORD);
	if (reader_u64(&r) != id->packet * length ||
	    reader_u64(&r) != want.packet_size ||
	    reader_u64(&r) != want.content_size ||
	    reader_u64(&r) != want.timestamp_begin ||
	    reader_u64(&r) != want.timestamp_end ||
	    reader_u64(&r) != want.events_discarded ||
	    reader_u64(&r) != want.ctf_stream ||
	    reader_u64(&r) != want.ctf_instance ||
	    reader_u64(&r) != want.packet_seq_num)
		return wrong(
		    c, "record %" PRIu64 ": not what was sent", id->packet);
	return true;
}

static bool
check_index_header(struct checked *c)
{
	struct reader r;

	if (!take(c, INDEX_HEADER))
		return false;
	r = reader_over(c->piece, INDEX_HEADER);
	if (reader_u32(&r) != INDEX_MAGIC || reader_u32(&r) != 1 ||
	    reader_u32(&r) != 1 || reader_u32(&r) != INDEX_RECORD)
		return wrong(c, "no header of an index file 1.1");
	return true;
}

static bool
check_stream(struct checked *c, const struct load_options *o, unsigned session,
    unsigned stream)
{
	const struct shape *s = &o->shape;
	struct packet_id id = { session, stream, 0 };
	char name[SHAPE_NAME_MAX];
	bool good;

	shape_channel_name(stream, name);
	if (!open_checked(c, o, session, "%s", name))
		return false;
	good = true;
	for (id.packet = 0; good && id.packet < s->packets; id.packet++)
		good = check_packet(c, s, &id);
	if (!at_end(c, good))
		return false;
	if (s->packets == 0)
		return true;
	if (!open_checked(c, o, session, "index/%s.idx", name))
		return false;
	good = check_index_header(c);
	for (id.packet = 0; good && id.packet < s->packets; id.packet++)
		good = check_record(c, s, &id);
	return at_end(c, good);
}

static bool
check_metadata(
    struct checked *c, const struct load_options *o, unsigned session)
{
	char text[SHAPE_NAME_MAX];
	bool good;

	shape_metadata(session, text);
	if (!open_checked(c, o, session, "metadata"))
		return false;
	good = take(c, strlen(text));
	if (good && memcmp(c->piece, text, strlen(text)) != 0)
		good = wrong(c, "not what was sent");
	return at_end(c, good);
}

bool
load_verify(const struct load_options *o)
{
	struct checked c = { .piece = malloc(PIECE) };
	bool good = true;

	if (c.piece == NULL)
		program_fail("out of memory");
	for (unsigned n = 0; good && n < o->shape.sessions; n++) {
		const unsigned i = o->shape.first + n;

		good = check_metadata(&c, o, i);
		for (unsigned j = 0; good && j < o->shape.streams; j++)
			good = check_stream(&c, o, i, j);
	}
	free(c.piece);
	return good;
}
