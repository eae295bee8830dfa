/* SPDX-License-Identifier: MIT */
/* The moves of streaming 5.5 and what a deletion leaves. */
#include "store/chunk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/relpath.h"
#include "store/tracefile.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"
#include "tests/store/test_store.h"

#define NAME_0 "19700101T000000+0000-0"
#define CLOSED_0 "19700101T000000+0000-19700101T000001+0000-0"

static void
begin(void)
{
	(void)setenv("TZ", "UTC", 1);
	tzset();
	test_store_open_stream(10, "c", false);
}

/* A file of the stream with N bytes. */
static struct tracefile *
file(struct chunk *c, struct chunk_family *f, uint64_t number)
{
	struct tracefile *tf;

	ck_assert_int_eq(tracefile_create(&tf, test_store.store, c, f, number,
			     false, TRACEFILE_INDEX_1_1),
	    OK);
	return tf;
}

static void
append(struct tracefile *tf, uint64_t seq)
{
	struct packet *p = test_store_packet(seq, (uint8_t)seq, 8, 0, true);
	unsigned done;

	ck_assert_int_eq(tracefile_append(tf, p, &done), OK);
	ck_assert_uint_eq(done, 1);
	packet_destroy(&test_store.store->packets, p);
	ck_assert_int_eq(tracefile_write_records(tf, false, NULL), OK);
}

static void
close_at(struct chunk *c, uint64_t when, enum chunk_command command)
{
	c->is_closed = true;
	c->close_time = when;
	c->command = command;
}

static void
move(enum chunk_place place)
{
	ck_assert_int_eq(chunk_move(test_store.chunk, place), OK);
}

/* Close it at second 1, and drop the test's reference. */
static void
end_chunk(enum chunk_command command)
{
	close_at(test_store.chunk, 1, command);
	chunk_put(test_store.chunk);
	test_store.chunk = NULL;
}

/* From, over, to: where the stream's folder is then. */
static const struct {
	enum chunk_place places[3];
	const char *found;
} moves[] = {
	{ { CHUNK_AT_OLD, CHUNK_AT_OLD, CHUNK_AT_OLD }, "h/s/.tmp_old_chunk" },
	{ { CHUNK_AT_ROOT, CHUNK_AT_ROOT, CHUNK_AT_ROOT }, "h/s" },
	{ { CHUNK_AT_NAME, CHUNK_AT_NAME, CHUNK_AT_NAME }, "h/s/" NAME_0 },
	{ { CHUNK_AT_OLD, CHUNK_AT_ROOT, CHUNK_AT_ROOT }, "h/s" },
	{ { CHUNK_AT_OLD, CHUNK_AT_NAME, CHUNK_AT_ROOT }, "h/s" },
	{ { CHUNK_AT_OLD, CHUNK_AT_ROOT, CHUNK_AT_NAME }, "h/s/" NAME_0 },
	{ { CHUNK_AT_NEW, CHUNK_AT_OLD, CHUNK_AT_NEW }, "h/s/.tmp_new_chunk" },
	{ { CHUNK_AT_OLD, CHUNK_AT_OLD, CHUNK_AT_ARCHIVE },
	    "h/s/archives/" NAME_0 },
	{ { CHUNK_AT_ARCHIVE, CHUNK_AT_ARCHIVE, CHUNK_AT_ARCHIVE },
	    "h/s/archives/" NAME_0 },
};

EACH_TEST(begin, test_store_close)

TEST_ROWS(a_move_takes_what_the_chunk_made_and_nothing_else, ARRAY_LEN(moves))
{
	struct tracefile *tf;
	char path[256];

	scratch_write("h/s/foreign", "x");
	tf = file(test_store.chunk, test_store.family, 0);
	append(tf, 0);
	for (int i = 0; i < 3; i++) {
		move(moves[_i].places[i]);
		append(tf, 1 + (uint64_t)i); /* its files stay open */
	}
	(void)snprintf(path, sizeof(path), "%s/ust/0/c", moves[_i].found);
	ck_assert_int_eq(test_store_size(path), 32);
	(void)snprintf(
	    path, sizeof(path), "%s/ust/0/index/c.idx", moves[_i].found);
	ck_assert_int_eq(test_store_size(path), 16 + 4 * 72);
	ck_assert_str_eq(scratch_read("h/s/foreign"), "x");
	ck_assert(!scratch_exists("h/s/.tmp_old_chunk") ||
		  strstr(moves[_i].found, "old") != NULL);
	tracefile_close(tf);
}

TEST(files_made_after_a_move_are_in_the_moved_chunk)
{
	struct chunk_family *f;
	struct tracefile *tf;

	move(CHUNK_AT_OLD);
	f = test_store_family(test_store.chunk, "kernel", "k", true);
	move(CHUNK_AT_NAME);
	tf = file(test_store.chunk, f, 3);
	ck_assert_int_eq(test_store_size("h/s/" NAME_0 "/kernel/k_3"), 0);
	ck_assert(!scratch_exists("h/s/kernel"));
	tracefile_close(tf);
}

TEST(a_taken_temporary_name_gets_the_id)
{
	ck_assert_int_eq(mkdir(scratch_path("h/s/.tmp_old_chunk"), 0700), 0);
	scratch_write("h/s/.tmp_old_chunk/foreign", "x");
	move(CHUNK_AT_OLD);
	ck_assert(scratch_exists("h/s/.tmp_old_chunk-0/ust/0"));
	move(CHUNK_AT_NEW);
	ck_assert(scratch_exists("h/s/.tmp_new_chunk/ust/0"));
	ck_assert_int_eq(mkdir(scratch_path("h/s/.tmp_old_chunk-0"), 0700), 0);
	ck_assert_int_ne(chunk_move(test_store.chunk, CHUNK_AT_OLD), OK);
	ck_assert(scratch_exists("h/s/.tmp_new_chunk/ust/0"));
	ck_assert_str_eq(scratch_read("h/s/.tmp_old_chunk/foreign"), "x");
}

TEST(an_archive_appears_when_the_last_reference_goes)
{
	struct tracefile *tf;

	tf = file(test_store.chunk, test_store.family, 0);
	end_chunk(CHUNK_ARCHIVE);
	append(tf, 0);
	ck_assert(!scratch_exists("h/s/archives"));
	ck_assert_int_eq(test_store_size("h/s/ust/0/c"), 8);
	tracefile_close(tf);
	ck_assert_uint_eq(test_store.n_released, 1);
	ck_assert_int_eq(
	    test_store_size("h/s/archives/" CLOSED_0 "/ust/0/c"), 8);
	ck_assert(!scratch_exists("h/s/ust"));
	ck_assert(!scratch_exists("h/s/.tmp_old_chunk"));
}

/* A file, a link: what is no folder. */
static void
block(const char *name, bool is_link)
{
	if (is_link)
		ck_assert_int_eq(symlink("/", scratch_path(name)), 0);
	else
		scratch_write(name, "x");
}

TEST_ROWS(what_cannot_be_archived_has_a_name_that_readers_see, 4)
{
	struct tracefile *tf;

	tf = file(test_store.chunk, test_store.family, 0);
	append(tf, 0);
	tracefile_close(tf);
	if (_i < 2)
		ck_assert_int_eq(chunk_prepare_archive(test_store.chunk), OK);
	if (_i < 2) /* it goes away later */
		ck_assert_int_eq(rmdir(scratch_path("h/s/archives")), 0);
	block("h/s/archives", _i % 2 == 0);
	if (_i >= 2)
		ck_assert_int_eq(chunk_prepare_archive(test_store.chunk), E_IO);
	move(CHUNK_AT_OLD);
	end_chunk(CHUNK_ARCHIVE);
	ck_assert_int_eq(test_store_size("h/s/" NAME_0 "/ust/0/c"), 8);
	ck_assert(!scratch_exists("h/s/.tmp_old_chunk"));
}

TEST(a_kept_chunk_leaves_no_temporary_name)
{
	move(CHUNK_AT_OLD);
	chunk_put(test_store.chunk);
	test_store.chunk = NULL;
	ck_assert(scratch_exists("h/s/" NAME_0 "/ust/0"));
	ck_assert(!scratch_exists("h/s/.tmp_old_chunk"));
}

/* Begun before the clock went back, closed after, at the same local time. */
TEST(names_have_the_zone_of_each_time)
{
	char name[256];

	(void)setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	test_store.chunk->creation_time = 1792888200;
	close_at(test_store.chunk, 1792891800, CHUNK_ARCHIVE);
	ck_assert_int_eq(chunk_name(test_store.chunk, name), OK);
	ck_assert_str_eq(name, "20261025T023000+0200-20261025T023000+0100-0");
}

TEST(a_named_chunk_is_neither_moved_nor_archived)
{
	struct chunk *c;
	char name[256];

	c = test_store_chunk(1, 0, "mine");
	ck_assert_int_eq(chunk_make(c, CHUNK_AT_NAME), OK);
	(void)test_store_family(c, "ust/0", "c", false);
	close_at(c, 1, CHUNK_ARCHIVE);
	ck_assert_int_eq(chunk_name(c, name), OK);
	ck_assert_str_eq(name, "mine");
	chunk_put(c);
	ck_assert(scratch_exists("h/s/mine/ust/0"));
	ck_assert(!scratch_exists("h/s/archives"));
	/* a second one of that name adds to it */
	c = test_store_chunk(2, 0, "mine");
	ck_assert_int_eq(chunk_make(c, CHUNK_AT_NAME), OK);
	chunk_put(c);
}

TEST_ROWS(deletion_keeps_what_others_put_there, 3)
{
	static const char *const tops[] = { "h/s", "h/s/.tmp_old_chunk",
		("h/s/" NAME_0) };
	static const char *const ours[] = { "ust/0/r_4", "ust/0/c",
		"ust/0/index", "kernel" };
	static const char *const theirs[] = { "ust/0/foreign", "ust/0/theirs" };
	struct chunk_family *ring, *refused;
	struct tracefile *tf;
	char path[256];

	ring = test_store_family(test_store.chunk, "ust/0", "r", true);
	for (uint64_t i = 0; i < 5; i++) {
		tf = file(test_store.chunk, ring, i);
		append(tf, i);
		tracefile_close(tf);
	}
	tf = file(test_store.chunk, test_store.family, 0);
	append(tf, 0);
	tracefile_close(tf);
	(void)test_store_family(test_store.chunk, "kernel/deep", "k", false);
	scratch_write("h/s/ust/0/foreign", "x");
	scratch_write("h/s/ust/0/theirs", "x");
	refused = test_store_family(test_store.chunk, "ust/0", "theirs", false);
	ck_assert_int_eq(
	    tracefile_create(&tf, test_store.store, test_store.chunk, refused,
		0, false, TRACEFILE_NO_INDEX),
	    E_EXISTS);
	move(_i == 0 ? CHUNK_AT_ROOT : _i == 1 ? CHUNK_AT_OLD : CHUNK_AT_NAME);
	end_chunk(CHUNK_DELETE);
	ck_assert_int_eq(chdir(scratch_path(tops[_i])), 0);
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		ck_assert_int_ne(access(ours[i], F_OK), 0);
	ck_assert_int_eq(chdir("/"), 0);
	for (size_t i = 0; i < ARRAY_LEN(theirs); i++) {
		(void)snprintf(
		    path, sizeof(path), "%s/%s", tops[_i], theirs[i]);
		ck_assert_str_eq(scratch_read(path), "x");
	}
}

TEST(deletion_goes_in_slices_and_removes_the_chunk)
{
	struct chunk_family *ring;
	struct tracefile *tf;
	struct chunk *c;
	unsigned steps = 0, budget;

	move(CHUNK_AT_OLD);
	ring = test_store_family(test_store.chunk, "ust/0", "r", true);
	for (uint64_t i = 0; i < 25; i++) {
		tf = file(test_store.chunk, ring, i);
		tracefile_close(tf);
	}
	test_store.keeps_released = true;
	end_chunk(CHUNK_DELETE);
	c = test_store.last_released;
	ck_assert(chunk_settle(c));
	ck_assert(scratch_exists("h/s/.tmp_old_chunk/ust/0/r_24"));
	for (budget = 10; !chunk_delete_step(c, &budget); budget = 10)
		steps++;
	ck_assert_uint_eq(steps, 2);
	ck_assert(!scratch_exists("h/s/.tmp_old_chunk"));
	ck_assert(scratch_exists("h/s"));
	chunk_finish(c);
}

/* Somebody removed it, or all that it made; wherever it is, moves go on, and
 * nothing is there in the end but what is made again. */
TEST_ROWS(what_was_removed_is_not_in_the_way_of_moves, 4)
{
	const char *const removed[] = { "h/s", "h", "h/s/ust",
		"h/s/.tmp_old_chunk" };
	const bool has_moved = _i == 3;
	struct tracefile *tf;
	unsigned done;

	tf = file(test_store.chunk, test_store.family, 0);
	if (has_moved)
		move(CHUNK_AT_OLD);
	scratch_remove(removed[_i]);
	ck_assert(chunk_is_gone(test_store.chunk) == (_i != 2));
	move(CHUNK_AT_OLD);
	move(CHUNK_AT_ROOT);
	move(CHUNK_AT_NAME);
	if (_i < 2) {
		struct packet *p = test_store_packet(0, 0, 8, 0, true);

		ck_assert_int_eq(tracefile_append(tf, p, &done), E_NOENT);
		ck_assert_uint_eq(done, 0);
		packet_destroy(&test_store.store->packets, p);
	}
	ck_assert_int_eq(chunk_prepare_archive(test_store.chunk), OK);
	tracefile_close(tf);
	end_chunk(CHUNK_ARCHIVE);
	ck_assert_uint_eq(test_store.n_released, 1);
	ck_assert(scratch_exists("h/s") == (_i >= 2));
	ck_assert(!scratch_exists("h/s/ust"));
}

static const struct {
	enum chunk_place place;
	const char *removed, *found;
} restored[] = {
	{ CHUNK_AT_ROOT, "h/s", "h/s" },
	{ CHUNK_AT_ROOT, "h", "h/s" },
	{ CHUNK_AT_NAME, "h/s", "h/s/" NAME_0 },
	{ CHUNK_AT_NAME, "h/s/" NAME_0, "h/s/" NAME_0 },
	{ CHUNK_AT_NEW, "h", "h/s/.tmp_new_chunk" },
};

/* What is new goes to a new place; what was open there makes nothing in it. */
TEST_ROWS(a_removed_one_is_made_again, ARRAY_LEN(restored))
{
	struct tracefile *old, *tf;
	struct packet *p;
	char path[256];
	unsigned done;

	move(restored[_i].place);
	old = file(test_store.chunk, test_store.family, 0);
	scratch_remove(restored[_i].removed);
	ck_assert(chunk_is_gone(test_store.chunk));
	ck_assert_int_eq(chunk_restore(test_store.chunk), OK);
	ck_assert(!chunk_is_gone(test_store.chunk));
	p = test_store_packet(0, 0, 8, 0, true);
	ck_assert_int_eq(tracefile_append(old, p, &done), E_NOENT);
	packet_destroy(&test_store.store->packets, p);
	(void)snprintf(path, sizeof(path), "%s/ust", restored[_i].found);
	ck_assert(!scratch_exists(path));
	tf = file(test_store.chunk,
	    test_store_family(test_store.chunk, "ust/1", "d", false), 0);
	append(tf, 0);
	(void)snprintf(path, sizeof(path), "%s/ust/1/d", restored[_i].found);
	ck_assert_int_eq(test_store_size(path), 8);
	tracefile_close(old);
	tracefile_close(tf);
	end_chunk(CHUNK_ARCHIVE);
	ck_assert_int_eq(
	    test_store_size("h/s/archives/" CLOSED_0 "/ust/1/d"), 8);
}

/* One request moves them all. */
TEST(top_level_folders_have_a_limit)
{
	struct relpath *path = path_of("more/x"), *channel = path_of("c");
	struct chunk_family *f;
	char name[32];

	for (unsigned i = 1; i < CHUNK_TOPS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "top%u/x", i);
		(void)test_store_family(test_store.chunk, name, "c", false);
	}
	ck_assert_int_eq(
	    chunk_add_stream(test_store.chunk, path, channel, false, &f),
	    E_LIMIT);
	ck_assert(!scratch_exists("h/s/more"));
	(void)test_store_family(test_store.chunk, "top1/y", "c", false);
	(void)test_store_family(test_store.chunk, "ust/0", "d", false);
	/* one that never moves has any number */
	test_store.chunk->is_base = true;
	ck_assert_int_eq(
	    chunk_add_stream(test_store.chunk, path, channel, false, &f), OK);
	relpath_free(path);
	relpath_free(channel);
}

TEST(what_stands_in_the_way_is_not_moved)
{
	struct relpath *path = path_of("kernel/x"), *channel = path_of("k");
	struct chunk_family *f;

	scratch_write("h/s/kernel", "a file");
	ck_assert_int_ne(
	    chunk_add_stream(test_store.chunk, path, channel, false, &f), OK);
	move(CHUNK_AT_OLD);
	ck_assert_str_eq(scratch_read("h/s/kernel"), "a file");
	ck_assert(scratch_exists("h/s/.tmp_old_chunk/ust/0"));
	relpath_free(path);
	relpath_free(channel);
}

/* Its folders move together, or not at all. */
TEST(a_move_that_fails_half_way_is_taken_back)
{
	struct tracefile *tf;

	tf = file(test_store.chunk, test_store.family, 0);
	append(tf, 0);
	(void)test_store_family(test_store.chunk, "kernel", "k", false);
	move(CHUNK_AT_OLD);
	append(tf, 1);
	scratch_write("h/s/kernel", "in the way");
	ck_assert_int_ne(chunk_move(test_store.chunk, CHUNK_AT_ROOT), OK);
	ck_assert(scratch_exists("h/s/.tmp_old_chunk/kernel"));
	ck_assert(!scratch_exists("h/s/ust"));
	append(tf, 2);
	ck_assert_int_eq(unlink(scratch_path("h/s/kernel")), 0);
	move(CHUNK_AT_ROOT);
	append(tf, 3);
	ck_assert_int_eq(test_store_size("h/s/ust/0/c"), 32);
	ck_assert(!scratch_exists("h/s/.tmp_old_chunk"));
	tracefile_close(tf);
}

/* What somebody put into its folder stays there, and stops nothing. */
TEST(a_foreign_file_does_not_stop_a_move)
{
	move(CHUNK_AT_OLD);
	scratch_write("h/s/.tmp_old_chunk/foreign", "x");
	move(CHUNK_AT_ROOT);
	ck_assert(scratch_exists("h/s/ust/0"));
	ck_assert_str_eq(scratch_read("h/s/.tmp_old_chunk/foreign"), "x");
	/* The name is taken now; another will do. */
	move(CHUNK_AT_OLD);
	ck_assert(scratch_exists("h/s/.tmp_old_chunk-0/ust/0"));
}

TEST_ROWS(times_that_are_no_date_are_refused, 3)
{
	static const uint64_t times[] = { UINT64_MAX, INT64_MAX,
		UINT64_C(253402300800) };
	struct chunk *c;
	char name[256];

	c = test_store_chunk(1, times[_i % 3], NULL);
	ck_assert_int_eq(chunk_name(c, name), E_REFUSED);
	ck_assert_int_eq(chunk_make(c, CHUNK_AT_NAME), E_REFUSED);
	chunk_put(c);
	close_at(test_store.chunk, times[_i % 3], CHUNK_KEEP);
	ck_assert_int_eq(chunk_name(test_store.chunk, name), E_REFUSED);
	test_store.chunk->is_closed = false;
	ck_assert_int_eq(chunk_name(test_store.chunk, name), OK);
	ck_assert_str_eq(name, NAME_0);
}

static enum status
note(struct chunk_family *f, const char *line)
{
	return chunk_note_loss(test_store.chunk, f, line, strlen(line));
}

TEST(losses_of_a_folder_are_in_one_file_and_no_channel_has_its_name)
{
	struct relpath *path = path_of("ust/0"), *name = path_of(CHUNK_LOSSES);
	struct chunk_family *same, *other;

	same = test_store_family(test_store.chunk, "ust/0", "d", false);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(note(same, "1"), OK);
		ck_assert_int_eq(note(test_store.family, "2"), OK);
	}
	ck_assert_str_eq(scratch_read("h/s/ust/0/" CHUNK_LOSSES), "1212");
	ck_assert_int_eq(
	    chunk_add_stream(test_store.chunk, path, name, false, &other),
	    E_EXISTS);
	relpath_free(path);
	relpath_free(name);
}

/* A user who may write into the folder must not stop the worker. */
TEST(a_fifo_in_place_of_the_file_stops_nobody)
{
	ck_assert_int_eq(
	    mkfifo(scratch_path("h/s/ust/0/" CHUNK_LOSSES), 0600), 0);
	ck_assert_int_eq(note(test_store.family, "1"), E_IO);
}
