/* SPDX-License-Identifier: MIT */
/* Somebody removes directories of a session that is recorded (rm -r):
 * directories for new files are made again, no request is refused, and data for
 * files that were open is dropped in silence. */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/frame.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/siblings.h"
#include "relayd/record/stream.h"
#include "relayd/record/cycle.h"
#include "store/chunk.h"
#include "store/session_dir.h"
#include "store/store.h"
#include "tests/lib/live_pair.h"
#include "tests/lib/unit.h"

#define BYTES 64
#define NEVER UINT64_MAX
#define DATE "20170714-024000"
#define WHERE "host/s-" DATE

static struct live_pair pair;
static struct session *session;

static void
open_pair(void)
{
	live_pair_open(&pair, false, 0);
	pair.shard->store->config.output = pair.dir;
	session = live_pair_session(&pair, "s", 1000000, false);
	ck_assert_str_eq(session_path(session), WHERE);
}

static void
close_pair(void)
{
	session_end(session, false);
	live_pair_close(&pair);
}

/* Below the session's directory. */
static long
size_of(const char *below)
{
	char pattern[256];

	(void)snprintf(pattern, sizeof(pattern), WHERE "/%s", below);
	return live_pair_size(&pair, pattern);
}

static void
packet(struct stream *t, uint64_t seq)
{
	live_pair_packet(t, &(struct live_pair_packet){ .seq = seq,
				.begin = 10 * seq,
				.end = 10 * seq + 9,
				.bytes = BYTES });
}

static void
close_chunk(uint64_t id, uint32_t command)
{
	live_pair_close_chunk(session, id, command);
	while (cycle_delete_some(pair.shard))
		;
}

/* What is removed, below the output directory ("": that itself), after so many
 * rotations, and what CLOSE_TRACE_CHUNK must do. */
static const struct {
	const char *removed;
	unsigned rotations;
	uint32_t command;
} rows[] = {
	{ WHERE, 0, RELAY_CLOSE_ARCHIVE },
	{ WHERE, 0, RELAY_CLOSE_DELETE },
	{ WHERE "/ust", 0, RELAY_CLOSE_ARCHIVE },
	{ WHERE "/ust", 0, RELAY_CLOSE_DELETE },
	{ "host", 0, RELAY_CLOSE_ARCHIVE },
	{ "host", 0, RELAY_CLOSE_DELETE },
	{ "", 0, RELAY_CLOSE_ARCHIVE },
	{ "", 0, RELAY_CLOSE_DELETE },
	{ WHERE, 1, RELAY_CLOSE_ARCHIVE },
	{ WHERE, 1, RELAY_CLOSE_DELETE },
	{ WHERE "/archives", 1, RELAY_CLOSE_ARCHIVE },
	{ WHERE "/*-1", 1, RELAY_CLOSE_ARCHIVE },
	{ WHERE "/*-1", 1, RELAY_CLOSE_DELETE },
	{ WHERE "/*-1/ust", 1, RELAY_CLOSE_ARCHIVE },
	{ "", 1, RELAY_CLOSE_ARCHIVE },
	{ "", 1, RELAY_CLOSE_DELETE },
};

static void
remove_pattern(const char *below)
{
	glob_t found = { 0 };
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", pair.dir, below);
	ck_assert_int_eq(glob(path, 0, NULL, &found), 0);
	live_pair_remove(&pair, found.gl_pathv[0] + strlen(pair.dir));
	globfree(&found);
}

static void
go_on(struct stream *t, struct stream *m, uint64_t chunk, uint32_t command,
    uint64_t seq)
{
	live_pair_create_chunk(session, chunk);
	live_pair_rotate(t, true, chunk, seq);
	live_pair_rotate(m, true, chunk, 0);
	close_chunk(chunk - 1, command);
	packet(t, seq);
	live_pair_metadata(m, "declarations", 12);
}

EACH_TEST(open_pair, close_pair)

TEST_ROWS(the_next_chunk_is_where_it_should_be, ARRAY_LEN(rows))
{
	const uint32_t command = rows[_i].command;
	const bool is_archive = command == RELAY_CLOSE_ARCHIVE;
	uint64_t chunk = 0, seq = 0;
	struct stream *t, *m;

	t = live_pair_stream(session, "ust/0", "c", 0, 0);
	m = live_pair_stream(session, "ust/0", "metadata", 0, 0);
	session_publish(session);
	packet(t, seq++);
	while (chunk < rows[_i].rotations)
		go_on(t, m, ++chunk, RELAY_CLOSE_ARCHIVE, seq++);
	remove_pattern(rows[_i].removed);
	packet(t, seq++); /* lost */
	/* Twice: there is nothing special about the second. */
	for (unsigned i = 0; i < 2; i++) {
		go_on(t, m, ++chunk, command, seq++);
		if (session->chunks.has_rotated) {
			char path[64];

			(void)snprintf(path, sizeof(path), "*-%u/ust/0/c",
			    (unsigned)chunk);
			ck_assert_int_eq(size_of(path), BYTES);
		} else {
			ck_assert_int_eq(size_of("ust/0/c"), BYTES);
			ck_assert_int_eq(size_of("ust/0/metadata"), 12);
		}
	}
	ck_assert(!is_archive ||
		  size_of(chunk == 2 ? "archives/*-1/ust/0/c"
				     : "archives/*-2/ust/0/c") == BYTES);
	ck_assert_str_eq(session_path(session), WHERE);
}

static struct session *
sibling(bool has_chunk, uint64_t chunk)
{
	struct relay_session_request q = { .session_name = "s",
		.hostname = "host",
		.base_path = "",
		.peer_session = session->request.peer_session,
		.creation_time = 1500000000,
		.is_snapshot = session->request.is_snapshot,
		.trace_format = 1 };
	struct relay_create_session wish;
	struct buf b = { 0 };
	struct session *s;
	struct reader r;

	q.uuid.b[0] = 1;
	relay_request_create_session(&b, 13, &q);
	r = reader_over(
	    buf_data(&b) + RELAY_HEADER_LEN, buf_len(&b) - RELAY_HEADER_LEN);
	ck_assert_int_eq(relay_create_session_decode(&r, 13, &wish), OK);
	buf_free(&b);
	wish.chunk.is_set = has_chunk;
	wish.chunk.value = chunk;
	ck_assert_int_eq(session_create(&s, pair.shard, &wish, 13, "peer"), OK);
	return s;
}

/* As snapshots come: each by a relay session of its own, beside one that
 * lives. */
TEST_ROWS(a_sibling_has_the_same_new_directory, 3)
{
	const char *const removed[] = { WHERE, "host", "" };
	struct session *a, *b;

	for (uint64_t round = 1; round < 4; round++) {
		live_pair_remove(&pair, removed[_i]);
		a = sibling(false, 0);
		ck_assert_ptr_eq(a->siblings, session->siblings);
		ck_assert_str_eq(session_path(a), WHERE);
		ck_assert_int_ne(size_of("."), -1);
		live_pair_create_chunk(a, 10 * round);
		b = sibling(true, 10 * round);
		ck_assert_ptr_eq(b->chunks.current, a->chunks.current);
		(void)live_pair_stream(b, "ust/0", "c", 0, 0);
		ck_assert_int_eq(size_of("ust/0/c"), 0);
		/* The session before them uses the same directory. */
		live_pair_create_chunk(session, 100 * round);
		ck_assert_ptr_eq(session->dir, a->dir);
		ck_assert_ptr_eq(b->dir, a->dir);
		session_end(b, false);
		session_end(a, false);
		close_chunk(
		    round == 1 ? 0 : 100 * (round - 1), RELAY_CLOSE_DELETE);
	}
}

/* A chunk that a sibling made, and that was removed before this one came. */
TEST(a_siblings_chunk_is_made_again)
{
	struct session *other;

	other = sibling(false, 0);
	live_pair_create_chunk(session, 1);
	live_pair_remove(&pair, "host");
	live_pair_create_chunk(other, 1);
	ck_assert_ptr_eq(session->chunks.current, other->chunks.current);
	(void)live_pair_stream(session, "ust/0", "c", 0, 0);
	(void)live_pair_stream(other, "ust/1", "c", 0, 0);
	ck_assert_int_eq(size_of(".tmp_new_chunk/ust/0/c"), 0);
	ck_assert_int_eq(size_of(".tmp_new_chunk/ust/1/c"), 0);
	session_end(other, false);
	other = sibling(true, 1);
	live_pair_remove(&pair, WHERE);
	session_end(other, false);
	other = sibling(true, 1);
	(void)live_pair_stream(other, "ust/2", "c", 0, 0);
	ck_assert_int_eq(size_of(".tmp_new_chunk/ust/2/c"), 0);
	session_end(other, false);
}

/* Streams that come later, and files that come later, are recorded. */
TEST_ROWS(what_is_added_is_recorded, 2)
{
	struct stream *old, *ring, *new;

	old = live_pair_stream(session, "ust/0", "c", 0, 0);
	ring = live_pair_stream(session, "ust/0", "r", BYTES, 0);
	session_publish(session);
	packet(old, 0);
	packet(ring, 0);
	live_pair_remove(&pair, _i == 0 ? WHERE : "");
	packet(old, 1);
	new = live_pair_stream(session, "ust/1", "c", 0, 0);
	ck_assert_ptr_nonnull(new);
	packet(new, 0);
	packet(ring, 1);
	ck_assert_int_eq(size_of("ust/1/c"), BYTES);
	ck_assert_int_eq(size_of("ust/1/index/c.idx"), 16 + 72);
	ck_assert_int_eq(size_of("ust/0/c"), -1);
	ck_assert_int_eq(size_of("ust/0/r_0"), -1);
	ck_assert_int_eq(size_of("ust/0/r_1"), BYTES);
	ck_assert_int_eq(size_of("ust/0/index/r_1.idx"), 16 + 72);
	/* A name that is gone is free; the tracer would have another. */
	stream_close(old, 1);
}

/* The peer gets no error, and waits for nothing. */
TEST_ROWS(packets_of_what_was_removed_are_dropped, 4)
{
	struct stream *t, *m;

	t = live_pair_stream(session, "ust/0", "c", 0, 0);
	m = live_pair_stream(session, "ust/0", "metadata", 0, 0);
	session_publish(session);
	live_pair_metadata(m, "first", 5);
	/* With or without an index file yet; with or without descriptors. */
	if (_i % 2 == 1)
		packet(t, 0);
	if (_i >= 2) {
		pair.shard->store->config.max_files = 0;
		(void)live_pair_stream(session, "other", "o", 0, 0);
	}
	live_pair_remove(&pair, WHERE);
	for (uint64_t seq = (uint64_t)_i % 2; seq < 5; seq++)
		packet(t, seq); /* RELAY_OK, or the test ends */
	live_pair_metadata(m, "second", 6);
	ck_assert_uint_eq(stream_pending(t, 4), 0);
	ck_assert_uint_eq(pair.shard->figures.packets_dropped, _i == 0	 ? 5
							       : _i == 1 ? 0
							       : _i == 2 ? 5
									 : 4);
	ck_assert_int_eq(size_of("."), -1);
	stream_close(t, 4);
	stream_close(m, NEVER);
}

/* Nor for files that would be made: of a ring, or metadata that begins
 * again. */
TEST(packets_of_later_files_are_dropped)
{
	struct session *other = live_pair_session(&pair, "other", 0, false);
	struct stream *ring, *m;

	ring = live_pair_stream(session, "ust/0", "r", BYTES, 2);
	m = live_pair_stream(other, "ust/0", "metadata", 0, 0);
	packet(ring, 0);
	live_pair_remove(&pair, "host");
	for (uint64_t seq = 1; seq < 6; seq++)
		packet(ring, seq); /* RELAY_OK, or the test ends */
	ck_assert_uint_eq(stream_pending(ring, 5), 0);
	ck_assert_uint_eq(pair.shard->figures.packets_dropped, 5);
	ck_assert_int_eq(stream_reset_metadata(m), OK);
	live_pair_metadata(m, "second", 6);
	ck_assert_uint_eq(stream_pending(m, NEVER), 0);
	ck_assert_int_eq(size_of("."), -1);
	stream_close(ring, 5);
	session_end(other, false);
}

/* ROTATE_STREAMS makes a chunk again that was removed before it came. */
TEST(a_rotation_has_its_chunk)
{
	struct stream *t = live_pair_stream(session, "ust/0", "c", 0, 0);

	packet(t, 0);
	live_pair_create_chunk(session, 1);
	live_pair_remove(&pair, WHERE);
	live_pair_rotate(t, true, 1, 1);
	close_chunk(0, RELAY_CLOSE_ARCHIVE);
	packet(t, 1);
	ck_assert_int_eq(size_of("*-1/ust/0/c"), BYTES);
	stream_close(t, 1);
}

/* Nothing is made again only to be closed. */
TEST_ROWS(an_end_makes_nothing, 2)
{
	struct stream *t;

	t = live_pair_stream(session, "ust/0", "c", 0, 0);
	packet(t, 0);
	if (_i > 0)
		live_pair_create_chunk(session, 1);
	live_pair_remove(&pair, "host");
	stream_close(t, 0);
	close_chunk(_i == 2 ? 1 : 0,
	    _i == 0 ? RELAY_CLOSE_NOTHING : RELAY_CLOSE_ARCHIVE);
	ck_assert_int_eq(size_of("."), -1);
}
