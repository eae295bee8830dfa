/* SPDX-License-Identifier: MIT */
/*
 * Streams that begin before the times that the viewer was given (live 4.11).
 * For the first packet of a new process, a tracer takes the time when it makes
 * the buffers, and adds the streams later; on a busy machine, much later. A
 * stock viewer that was given a later time in between stops at that packet.
 *
 * Only the beginning of the packet is in the past, never an event: the process
 * begins to trace after its streams are published, so its events are later than
 * all times that its session had sent by then. Therefore this viewer is told a
 * later beginning. The files are not changed.
 */
#include <endian.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "relayd/live/live_objects.h"
#include "relayd/live/open_files.h"
#include "relayd/live/viewer_internal.h"
#include "ctf/index.h"

/* LTTng's packets (CTF 1.8, 5, with the fields that LTTng declares), bytes. */
#define MAGIC UINT32_C(0xc1fc1fc1)
#define BEGIN_AT 32
#define HEAD_LEN 64
/* A packet of at most this many bits has header and context, but no event. */
#define EMPTY_BITS 672

bool
viewer_is_same_host(const struct position *a, const struct position *b)
{
	return a->attachment == b->attachment ||
	       strcmp(a->stream->session->hostname,
		   b->stream->session->hostname) == 0;
}

static uint64_t
given_of(const struct viewer *v, const char *hostname)
{
	const struct attachment *a;
	uint64_t given = 0;

	/* One host has one clock. */
	list_each (a, &v->attachments, struct attachment, node) {
		if (a->given > given &&
		    strcmp(a->session->hostname, hostname) == 0)
			given = a->given;
	}
	return given;
}

void
viewer_note_before(const struct viewer *v, struct position *p)
{
	uint64_t given = given_of(v, p->stream->session->hostname);

	p->time_before = p->stream->time_before > given ? p->stream->time_before
							: given;
}

/* The floor is the smaller one of both times: a viewer collects an index of
 * each stream before it shows any event, so the time given may be later than
 * this stream's first event. */
void
viewer_set_floor(const struct viewer *v, struct position *p)
{
	uint64_t given = given_of(v, p->stream->session->hostname);

	p->floor = given < p->time_before ? given : p->time_before;
	if (p->floor != 0 && p->floor < UINT64_MAX - VIEWER_FLOOR_TICKS)
		p->floor += VIEWER_FLOOR_TICKS;
}

uint64_t
viewer_floor_at(struct position *p, uint64_t time)
{
	if (p->floor > time && p->floor - time > VIEWER_CLOCK_TICKS)
		p->floor = 0;
	return p->floor;
}

static uint64_t
word(const uint8_t *p, bool is_big)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
	return is_big ? be64toh(w) : le64toh(w);
}

static void
put_word(uint8_t *p, uint64_t w, bool is_big)
{
	w = is_big ? htobe64(w) : htole64(w);
	memcpy(p, &w, sizeof(w));
}

/* Has the packet LTTng's layout, and the same values as its index record? */
static bool
is_lttng(
    const uint8_t head[HEAD_LEN], const struct index_record *rec, bool *is_big)
{
	uint32_t magic;

	memcpy(&magic, head, sizeof(magic));
	*is_big = be32toh(magic) == MAGIC;
	return (*is_big || le32toh(magic) == MAGIC) &&
	       word(head + BEGIN_AT, *is_big) == rec->timestamp_begin &&
	       word(head + BEGIN_AT + 8, *is_big) == rec->timestamp_end &&
	       word(head + BEGIN_AT + 16, *is_big) == rec->content_size &&
	       word(head + BEGIN_AT + 24, *is_big) == rec->packet_size;
}

enum viewer_raise
viewer_raise_begin(struct viewer *v, struct position *p,
    const struct open_file *file, struct index_record *rec)
{
	uint8_t head[HEAD_LEN];
	bool is_big;

	if (rec->timestamp_begin >= viewer_floor_at(p, rec->timestamp_end)) {
		p->floor = 0; /* all later packets are above it, too */
		return RAISE_NONE;
	}
	if (rec->packet_size < sizeof(head) * 8 ||
	    pread(file->data_fd, head, sizeof(head), (off_t)rec->offset) !=
		(ssize_t)sizeof(head) ||
	    !is_lttng(head, rec, &is_big)) {
		p->floor = 0; /* the packet is given unchanged */
		return RAISE_NONE;
	}
	if (rec->timestamp_end >= p->floor) {
		rec->timestamp_begin = p->floor;
		put_word(p->raised_begin, p->floor, is_big);
		p->raised_at = rec->offset;
		return RAISE_BEGIN;
	}
	if (rec->content_size > EMPTY_BITS) {
		p->floor = 0;
		return RAISE_NONE;
	}
	v->passed++;
	log_debug("peer=%s viewer is not given an empty packet of %s/%s, of a "
		  "time before it knew the stream",
	    v->peer, p->stream->path, p->stream->channel);
	return RAISE_PASS;
}

/* LENGTH bytes at OFFSET are asked for: how many of them are between the begin
 * of the raised packet and the end of its timestamp_begin? */
static size_t
head_length(const struct position *p, uint64_t offset, uint64_t length)
{
	const uint64_t end = p->raised_at + BEGIN_AT + sizeof(p->raised_begin);

	if (!p->is_raised || offset < p->raised_at || offset >= end)
		return 0;
	return (size_t)(end - offset < length ? end - offset : length);
}

void
viewer_raise_bytes(
    const struct position *p, uint64_t offset, uint64_t length, uint8_t *bytes)
{
	const uint64_t at = p->raised_at + BEGIN_AT;

	for (size_t i = 0; p->is_raised && i < sizeof(p->raised_begin); i++)
		if (at + i >= offset && at + i - offset < length)
			bytes[at + i - offset] = p->raised_begin[i];
}

bool
viewer_copy_raised(const struct position *p, uint64_t offset, uint64_t length,
    uint8_t head[VIEWER_RAISED_LEN], size_t *copied)
{
	const size_t n = head_length(p, offset, length);

	*copied = n;
	if (n == 0)
		return true;
	if (pread(p->file->data_fd, head, n, (off_t)offset) != (ssize_t)n)
		return false;
	viewer_raise_bytes(p, offset, n, head);
	return true;
}
