/* SPDX-License-Identifier: MIT */
/* A chunk with its session's directory, its folders and families, as a restart
 * moves it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/relpath.h"
#include "common/state.h"
#include "store/chunk.h"
#include "store/folder.h"
#include "store/session_dir.h"
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

EACH_TEST(begin, test_store_close)

/* An empty file of family F. */
static void
make_file(struct store *s, struct chunk *c, struct chunk_family *f)
{
	struct tracefile *tf;

	ck_assert_int_eq(
	    tracefile_create(&tf, s, c, f, 0, false, TRACEFILE_NO_INDEX), OK);
	tracefile_close(tf);
}

/* The next process reads the first N bytes of O. *FAMILY is one that O names
 * after the chunk. *C has a reference. */
static enum status
read_chunk(struct chunk **c, struct chunk_family **family, struct store *next,
    const struct state_out *o, size_t n)
{
	struct state_in in;
	enum status st = test_store_read_state(&in, o, buf_data(&o->buf), n);

	*c = NULL;
	if (st != OK)
		return st;
	st = chunk_get_state(c, &in, next, test_store_released, NULL);
	if (st == OK)
		chunk_get(*c);
	if (st == OK)
		st = chunk_get_family(family, &in, *c);
	if (st == OK && reader_done(&in.r) != OK)
		st = E_MALFORMED;
	state_in_free(&in);
	return st;
}

static void
put(struct state_out *o, const struct chunk *c, const struct chunk_family *f)
{
	*o = (struct state_out){ 0 };
	chunk_put_state(o, c);
	chunk_put_family(o, f);
	ck_assert(!state_out_is_bad(o));
}

/* Without a trace on the disk. */
static void
drop(struct chunk *take_c)
{
	test_store.keeps_released = true;
	chunk_put(take_c);
	chunk_finish(test_store.last_released);
	test_store.keeps_released = false;
}

static const enum chunk_place places[] = { CHUNK_AT_ROOT, CHUNK_AT_OLD,
	CHUNK_AT_NEW, CHUNK_AT_NAME };

/* Rows: each place, with and without viewers. */
TEST_ROWS(the_next_process_writes_and_archives_it, 2 * ARRAY_LEN(places))
{
	struct chunk_family *second = test_store_family(
	    test_store.chunk, "ust/1", "d", true);
	struct state_out o, again;
	struct chunk_family *f;
	struct folder *folder;
	struct store *next;
	struct chunk *c;

	make_file(test_store.store, test_store.chunk, test_store.family);
	if (_i % 2 == 1) {
		ck_assert_int_eq(
		    chunk_folder(test_store.chunk, test_store.family, &folder),
		    OK);
		folder_put(folder);
	}
	ck_assert_int_eq(chunk_move(test_store.chunk, places[_i / 2]), OK);
	put(&o, test_store.chunk, second);
	next = test_store_next();
	ck_assert_int_eq(read_chunk(&c, &f, next, &o, buf_len(&o.buf)), OK);
	/* It says the same. */
	put(&again, c, f);
	ck_assert_uint_eq(buf_len(&again.buf), buf_len(&o.buf));
	ck_assert_mem_eq(
	    buf_data(&again.buf), buf_data(&o.buf), buf_len(&o.buf));
	ck_assert_uint_eq(again.n_fds, o.n_fds);
	state_out_free(&again);
	state_out_free(&o);
	drop(test_store.chunk);
	test_store.chunk = NULL;

	make_file(next, c, f);
	c->is_closed = true;
	c->close_time = 1;
	c->command = CHUNK_ARCHIVE;
	chunk_put(c);
	ck_assert(scratch_exists("h/s/archives/" CLOSED_0 "/ust/0/c"));
	ck_assert(scratch_exists("h/s/archives/" CLOSED_0 "/ust/1/d_0"));
	ck_assert(!scratch_exists("h/s/ust"));
	ck_assert(!scratch_exists("h/s/" NAME_0));
	test_store_end_next(next);
}

/* A family belongs to its chunk, in the state, too. */
TEST(another_chunk_s_family_is_refused)
{
	struct chunk *other = test_store_chunk(1, 0, NULL);
	struct chunk_family *f = test_store_family(other, "ust/2", "e", false);
	struct store *next = test_store_next();
	struct state_out o = { 0 };
	struct state_in in;
	struct chunk *a, *b;

	chunk_put_state(&o, test_store.chunk);
	chunk_put_state(&o, other);
	chunk_put_family(&o, f);
	chunk_put_family(&o, f);
	ck_assert_int_eq(
	    test_store_read_state(&in, &o, buf_data(&o.buf), buf_len(&o.buf)),
	    OK);
	ck_assert_int_eq(
	    chunk_get_state(&a, &in, next, test_store_released, NULL), OK);
	ck_assert_int_eq(
	    chunk_get_state(&b, &in, next, test_store_released, NULL), OK);
	chunk_get(a);
	chunk_get(b);
	ck_assert_ptr_eq(a->dir, b->dir);
	ck_assert_int_eq(chunk_get_family(&f, &in, b), OK);
	ck_assert_int_eq(chunk_get_family(&f, &in, a), E_MALFORMED);
	state_in_free(&in);
	state_out_free(&o);
	drop(a);
	drop(b);
	drop(other);
	test_store_end_next(next);
}

/* Each byte is changed, and the state ends before each. */
TEST(damaged_states_are_refused_or_harmless)
{
	static const uint8_t masks[] = { 0x01, 0x80, 0xff };
	unsigned n_read = 0;
	struct chunk_family *f;
	struct folder *folder;
	struct store *next;
	struct state_out o;
	struct chunk *c;
	uint8_t *bytes;
	size_t n;

	unit_capture_stderr();
	ck_assert_int_eq(
	    chunk_folder(test_store.chunk, test_store.family, &folder), OK);
	folder_put(folder);
	ck_assert_int_eq(chunk_move(test_store.chunk, CHUNK_AT_OLD), OK);
	put(&o, test_store.chunk, test_store.family);
	n = buf_len(&o.buf);
	bytes = o.buf.mem + o.buf.start;
	for (size_t i = 0; i < n; i++) {
		next = test_store_next();
		ck_assert_int_eq(read_chunk(&c, &f, next, &o, i), E_MALFORMED);
		if (c != NULL)
			drop(c);
		for (size_t k = 0; k < ARRAY_LEN(masks); k++) {
			bytes[i] ^= masks[k];
			n_read += read_chunk(&c, &f, next, &o, n) == OK;
			bytes[i] ^= masks[k];
			if (c != NULL)
				drop(c);
		}
		ck_assert_uint_eq(next->names_bytes, 0);
		test_store_end_next(next);
	}
	ck_assert_uint_gt(n_read, 10);
	ck_assert_uint_lt(n_read, 3 * (unsigned)n);
	state_out_free(&o);
	ck_assert(scratch_exists("h/s/.tmp_old_chunk/ust/0"));
}
