/* SPDX-License-Identifier: MIT */
#include "tests/store/one_stream.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include <urcu.h>

#include "common/clock.h"
#include "common/relpath.h"
#include "common/state.h"
#include "store/dir_registry.h"
#include "store/packet_log.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"
#include "tests/store/test_store.h"

struct one_stream one_stream;

/* What a process has. */
struct process {
	struct test_store store;
	struct one_stream stream;
};

static void
open_file(void)
{
	if (one_stream.has_wrapped && one_stream.log != NULL)
		packet_log_drop_file(one_stream.log, one_stream.number,
		    test_store.chunk->serial);
	MUST(tracefile_create(&one_stream.tf, test_store.store,
		 test_store.chunk, test_store.family, one_stream.number,
		 one_stream.has_wrapped, one_stream.format) == OK);
	if (one_stream.log != NULL)
		MUST(tracefile_set_log(one_stream.tf, one_stream.log) == OK);
}

static struct dir_registry *
new_registry(void)
{
	struct dir_registry *r;

	MUST(dir_registry_create(&r) == OK);
	return r;
}

void
one_stream_begin_in(enum tracefile_index format, enum store_sync sync)
{
	struct store_config config = test_store.store->config;
	struct relpath *wanted = path_of("h/s");

	config.sync = sync;
	config.registry = new_registry();
	store_destroy(test_store.store);
	MUST(store_create(&test_store.store, &config) == OK);
	MUST(session_dir_claim(
		 &test_store.dir, test_store.store, wanted, 0, NULL) == OK);
	relpath_free(wanted);
	test_store.chunk = test_store_chunk(0, 0, NULL);
	test_store.family = test_store_family(
	    test_store.chunk, "ust/0", "c", true);
	memset(&one_stream, 0, sizeof(one_stream));
	one_stream.format = format;
	one_stream.reader = -1;
	if (format != TRACEFILE_NO_INDEX)
		MUST(packet_log_create(&one_stream.log, "c", true,
			 format == TRACEFILE_INDEX_1_0 ? 0 : 1) == OK);
	open_file();
}

void
one_stream_begin(enum tracefile_index format)
{
	clock_freeze(NS_PER_S, 0);
	test_store_open(10);
	one_stream_begin_in(format, STORE_SYNC_NONE);
}

static void
drop_held(void)
{
	struct packet *next;

	for (; one_stream.held != NULL; one_stream.held = next) {
		next = one_stream.held->next;
		packet_destroy(&test_store.store->packets, one_stream.held);
	}
}

void
one_stream_end(void)
{
	struct dir_registry *registry = test_store.store->config.registry;

	drop_held();
	tracefile_close(one_stream.tf);
	packet_log_put(one_stream.log);
	ck_assert_uint_eq(test_store.store->n_open, 0);
	test_store_close();
	dir_registry_destroy(registry);
	rcu_barrier();
}

/* The stream, and the store. What is in the files stays. */
static void
drop(void)
{
	drop_held();
	tracefile_leave(one_stream.tf);
	packet_log_put(one_stream.log);
	one_stream.tf = NULL;
	one_stream.log = NULL;
	test_store.keeps_released = true;
	if (test_store.chunk != NULL) {
		chunk_put(test_store.chunk);
		chunk_finish(test_store.last_released);
	}
	session_dir_put(test_store.dir);
	ck_assert_uint_eq(test_store.store->n_open, 0);
	test_store_end_next(test_store.store);
}

/* Packets of all processes are counted in one account. */
static void
become(const struct process *p)
{
	const struct published memory = test_store.memory;

	test_store = p->store;
	test_store.memory = memory;
	one_stream = p->stream;
}

void
one_stream_put_state(struct state_out *o)
{
	chunk_put_state(o, test_store.chunk);
	chunk_put_family(o, test_store.family);
	packet_log_put_state(o, one_stream.log);
	tracefile_put_state(o, one_stream.tf);
	for (const struct packet *p = one_stream.held; p != NULL; p = p->next)
		packet_put_state(o, p);
	packet_put_state(o, NULL);
}

static enum status
get_held(struct state_in *in)
{
	struct packet **at = &one_stream.held;
	enum status st;

	do {
		st = packet_get_state(at, in, &test_store.store->packets);
		if (st == OK && *at != NULL)
			(*at)->next = NULL;
		if (*at == NULL)
			return st;
		at = &(*at)->next;
	} while (st == OK);
	return st;
}

/* On failure the rest is as it was read, and can be dropped. */
static enum status
one_stream_get_state(struct state_in *in)
{
	struct chunk *c;
	enum status st;

	st = chunk_get_state(
	    &c, in, test_store.store, test_store_released, NULL);
	if (st != OK)
		return st;
	test_store.chunk = chunk_get(c);
	test_store.dir = session_dir_get(c->dir);
	st = chunk_get_family(&test_store.family, in, c);
	if (st == OK)
		st = packet_log_get_state(&one_stream.log, in);
	if (st == OK)
		st = tracefile_get_state(
		    &one_stream.tf, in, test_store.store, c, test_store.family);
	if (st == OK)
		st = get_held(in);
	return st == OK && reader_done(&in->r) != OK ? E_MALFORMED : st;
}

/* A process that has nothing yet. */
static void
begin_next(void)
{
	test_store.store = test_store_next();
	test_store.dir = NULL;
	test_store.chunk = NULL;
	test_store.family = NULL;
	one_stream.tf = NULL;
	one_stream.log = NULL;
	one_stream.held = NULL;
}

/* P, of N bytes, is what O has, or like it. */
static enum status
read_state(const struct state_out *o, const uint8_t *p, size_t n)
{
	struct state_in in;
	enum status st = test_store_read_state(&in, o, p, n);

	if (st != OK)
		return st;
	st = one_stream_get_state(&in);
	state_in_free(&in);
	return st;
}

void
one_stream_settle(void)
{
	MUST(tracefile_write_records(one_stream.tf, true, NULL) == OK);
	tracefile_settle(one_stream.tf, one_stream.held);
	ck_assert_uint_eq(test_store.store->n_open, 0);
}

void
one_stream_restart(void)
{
	const struct process old = { test_store, one_stream };
	struct process next;
	struct state_out o = { 0 };

	one_stream_settle();
	one_stream_put_state(&o);
	store_leave(test_store.store);
	begin_next();
	ck_assert_int_eq(read_state(&o, buf_data(&o.buf), buf_len(&o.buf)), OK);
	state_out_free(&o);
	next = (struct process){ test_store, one_stream };
	become(&old);
	drop();
	become(&next);
}

enum status
one_stream_try_state(const struct state_out *o, const uint8_t *p, size_t n)
{
	const struct process old = { test_store, one_stream };
	struct packet *packet;
	enum status st;
	unsigned done;

	begin_next();
	st = read_state(o, p, n);
	if (st == OK) {
		packet = one_stream_packet(true);
		(void)!tracefile_append(one_stream.tf, packet, &done);
		packet_destroy(&test_store.store->packets, packet);
		(void)!tracefile_write_records(one_stream.tf, true, NULL);
		tracefile_settle(one_stream.tf, one_stream.held);
	}
	drop();
	become(&old);
	return st;
}

struct packet *
one_stream_packet(bool has_record)
{
	const uint64_t seq = one_stream.seq++;

	return test_store_packet(seq, (uint8_t)(seq + 1), ONE_STREAM_SIZE,
	    ONE_STREAM_PADDING, has_record);
}

void
one_stream_append(struct packet *take_p)
{
	unsigned done;
	enum status st;

	take_p->next = NULL;
	ck_assert_int_eq(tracefile_append(one_stream.tf, take_p, &done), OK);
	packet_destroy(&test_store.store->packets, take_p);
	st = tracefile_write_records(one_stream.tf, false, NULL);
	ck_assert(st == OK || (st == E_BUSY && one_stream.reader >= 0));
}

void
one_stream_hold(struct packet *take_p)
{
	struct packet **at = &one_stream.held;

	while (*at != NULL)
		at = &(*at)->next;
	*at = take_p;
	take_p->next = NULL;
}

/* What they wait for has come. */
void
one_stream_write_held(void)
{
	struct packet *p, *next;

	for (p = one_stream.held, one_stream.held = NULL; p != NULL; p = next) {
		next = p->next;
		p->has_record = one_stream.format != TRACEFILE_NO_INDEX;
		one_stream_append(p);
	}
}

static void
next_file(void)
{
	MUST(tracefile_write_records(one_stream.tf, true, NULL) == OK);
	tracefile_close(one_stream.tf);
	one_stream.number = (one_stream.number + 1) % ONE_STREAM_FILES;
	one_stream.has_wrapped |= one_stream.number == 0;
	open_file();
}

void
one_stream_lock(bool is_locked)
{
	char name[64];

	if (one_stream.reader >= 0)
		close(one_stream.reader);
	one_stream.reader = -1;
	if (!is_locked || one_stream.format == TRACEFILE_NO_INDEX)
		return;
	(void)snprintf(name, sizeof(name), "h/s/ust/0/index/c_%u.idx",
	    (unsigned)one_stream.number);
	one_stream.reader = open(scratch_path(name), O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(flock(one_stream.reader, LOCK_SH), 0);
}

void
one_stream_step(char what)
{
	static const char text[] = "event { name = one; };\n";
	const bool has_record = one_stream.format != TRACEFILE_NO_INDEX;

	switch (what) {
	case 'p': /* a packet */
		one_stream_append(one_stream_packet(has_record));
		break;
	case 'd': /* one that will never have a record */
		one_stream_append(one_stream_packet(false));
		break;
	case 'g': /* a packet waits behind a gap */
		one_stream_hold(one_stream_packet(has_record));
		break;
	case 'w': /* or for its record */
		one_stream_hold(one_stream_packet(false));
		break;
	case 'f':
		one_stream_write_held();
		break;
	case 'x': /* they are given up */
		drop_held();
		break;
	case 'n':
		next_file();
		break;
	case 'L':
	case 'U': /* a reader has the lock, or not */
		one_stream_lock(what == 'L');
		break;
	case 'm': /* bytes without a packet, as metadata */
		ck_assert_int_eq(tracefile_append_bytes(
				     one_stream.tf, text, sizeof(text), 3),
		    OK);
		break;
	}
}
