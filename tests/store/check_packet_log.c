/* SPDX-License-Identifier: MIT */
/* The packets of a stream as readers see them. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <urcu.h>

#include "common/publish.h"
#include "store/packet_log.h"
#include "tests/lib/fault.h"
#include "tests/lib/unit.h"
#include "tests/store/any_folder.h"

#define PACKET_BYTES 4096
#define CTF_STREAM 3
#define RECENT 8 /* records that are kept in memory */

static struct packet_log *log_;
static struct folder *folder;

static void
open_log(void)
{
	ck_assert_int_eq(packet_log_create(&log_, "ch_0", true, 1), OK);
	folder = any_folder();
}

static void
close_log(void)
{
	packet_log_put(log_);
	folder_put(folder);
	rcu_barrier();
}

/* Packet POS lasts from 100 * POS + 10 to 100 * POS + 90. */
static struct index_record
record(uint64_t pos)
{
	return (struct index_record){ .offset = pos * PACKET_BYTES,
		.packet_size = PACKET_BYTES * 8,
		.content_size = PACKET_BYTES * 8 - pos % 100,
		.timestamp_begin = pos * 100 + 10,
		.timestamp_end = pos * 100 + 90,
		.events_discarded = pos / 3,
		.ctf_stream = CTF_STREAM,
		.ctf_instance = pos % 7,
		.packet_seq_num = pos + 1000 };
}

static void
append(unsigned n)
{
	for (; n > 0; n--) {
		struct index_record rec = record(packet_log_count(log_));

		packet_log_append(log_, &rec);
	}
}

static void
add_file(uint64_t number, uint64_t chunk)
{
	struct log_file *f;

	ck_assert_int_eq(packet_log_file_create(&f, folder, number, chunk), OK);
	packet_log_add_file(log_, f);
}

static void
assert_record(const struct index_record *a, uint64_t pos)
{
	struct index_record b = record(pos);

	ck_assert_uint_eq(a->offset, b.offset);
	ck_assert_uint_eq(a->packet_size, b.packet_size);
	ck_assert_uint_eq(a->content_size, b.content_size);
	ck_assert_uint_eq(a->timestamp_begin, b.timestamp_begin);
	ck_assert_uint_eq(a->timestamp_end, b.timestamp_end);
	ck_assert_uint_eq(a->events_discarded, b.events_discarded);
	ck_assert_uint_eq(a->ctf_stream, b.ctf_stream);
	ck_assert_uint_eq(a->ctf_instance, b.ctf_instance);
	ck_assert_uint_eq(a->packet_seq_num, b.packet_seq_num);
}

static enum log_next
look(uint64_t pos)
{
	struct log_view view;

	return packet_log_look(log_, pos, &view);
}

static void
assert_place(uint64_t pos, uint64_t number, uint64_t first)
{
	struct log_place place;

	ck_assert_int_eq(packet_log_place(log_, pos, &place), OK);
	ck_assert_uint_eq(place.number, number);
	ck_assert_uint_eq(place.first, first);
	ck_assert_ptr_eq(place.folder, folder);
	ck_assert(place.is_numbered);
	folder_put(place.folder);
}

static void
assert_gone(uint64_t pos)
{
	struct log_place place;

	ck_assert_int_eq(packet_log_place(log_, pos, &place), E_NOENT);
}

TEST(a_new_log_is_empty)
{
	struct index_record rec;
	struct log_view view;

	open_log();
	ck_assert_str_eq(packet_log_channel(log_), "ch_0");
	ck_assert_uint_eq(packet_log_minor(log_), 1);
	ck_assert_uint_eq(packet_log_start(log_), 0);
	ck_assert_uint_eq(packet_log_count(log_), 0);
	ck_assert_int_eq(packet_log_look(log_, 0, &view), LOG_RETRY);
	ck_assert(!view.has_ctf_stream);
	ck_assert(!packet_log_recent(log_, 0, &rec));
	assert_gone(0);
	close_log();
}

/* From the first one on that comes after a reader has asked. */
TEST(the_newest_records_are_in_memory)
{
	struct index_record rec;

	open_log();
	add_file(0, 1);
	for (uint64_t count = 1; count < 5 * RECENT; count++) {
		append(1);
		ck_assert_uint_eq(packet_log_count(log_), count);
		ck_assert_int_eq(look(count), LOG_RETRY);
		for (uint64_t pos = 0; pos < count; pos++) {
			bool is_recent = pos > 0 && count - pos <= RECENT;

			ck_assert_int_eq(look(pos), LOG_PACKET);
			ck_assert(
			    packet_log_recent(log_, pos, &rec) == is_recent);
			if (is_recent)
				assert_record(&rec, pos);
		}
		ck_assert(!packet_log_recent(log_, count, &rec));
	}
	close_log();
}

TEST(each_position_has_its_file)
{
	open_log();
	add_file(0, 1);
	append(3);
	add_file(1, 1);
	append(2);
	add_file(2, 1); /* empty so far */
	for (uint64_t pos = 0; pos < 3; pos++)
		assert_place(pos, 0, 0);
	assert_place(3, 1, 3);
	assert_place(4, 1, 3);
	append(1);
	assert_place(5, 2, 5);
	assert_place(4, 1, 3);
	close_log();
}

TEST(an_overwritten_file_moves_the_start)
{
	open_log();
	for (uint64_t n = 0; n < 3; n++) {
		add_file(n, 1);
		append(2);
	}
	packet_log_drop_file(log_, 0, 1);
	ck_assert_uint_eq(packet_log_start(log_), 2);
	assert_gone(1);
	assert_place(2, 1, 2);
	add_file(0, 1);
	append(2);
	assert_place(6, 0, 6);
	packet_log_drop_file(log_, 1, 1);
	ck_assert_uint_eq(packet_log_start(log_), 4);
	packet_log_drop_file(log_, 7, 1); /* never had a record */
	ck_assert_uint_eq(packet_log_start(log_), 4);
	assert_place(4, 2, 4);
	close_log();
}

TEST(a_ring_of_one_file_starts_where_it_ends)
{
	open_log();
	add_file(0, 1);
	append(4);
	packet_log_drop_file(log_, 0, 1);
	ck_assert_uint_eq(packet_log_start(log_), 4);
	ck_assert_int_eq(look(4), LOG_RETRY);
	assert_gone(3);
	add_file(0, 1);
	append(1);
	assert_place(4, 0, 4);
	close_log();
}

/* A stream of many files leaves room for others, and keeps its newest. */
TEST(many_files_are_no_more_than_the_limit)
{
	struct packet_log *many;

	packet_log_limit_files(100);
	open_log();
	for (uint64_t n = 0; n < 300; n++) {
		add_file(n, 1);
		append(2);
	}
	ck_assert_uint_eq(packet_log_start(log_), 400);
	assert_gone(399);
	assert_place(400, 200, 400);
	assert_place(599, 299, 598);
	many = packet_log_get(log_);
	close_log();
	open_log();
	for (uint64_t n = 0; n < 300; n++) {
		add_file(n, 1);
		append(2);
		if (n < LOG_FILES_LITTLE)
			ck_assert_uint_eq(packet_log_start(log_), 0);
	}
	ck_assert_uint_eq(packet_log_start(log_), 2 * (300 - LOG_FILES_LITTLE));
	/* When the first one has gone, there is room. */
	packet_log_put(many);
	for (uint64_t n = 300; n < 300 + 100 - LOG_FILES_LITTLE; n++) {
		add_file(n, 1);
		append(2);
	}
	ck_assert_uint_eq(packet_log_start(log_), 2 * (300 - LOG_FILES_LITTLE));
	close_log();
	packet_log_limit_files(0);
}

/* A file of the ring comes again and again while memory is used up. */
TEST(a_file_goes_without_memory)
{
	open_log();
	add_file(0, 1);
	append(2);
	for (uint64_t pos = 2; pos < 8; pos += 2) {
		fault_arm(1);
		packet_log_drop_file(log_, 0, 1);
		ck_assert(!fault_disarm());
		ck_assert_uint_eq(packet_log_start(log_), pos);
		assert_gone(pos - 1);
		add_file(0, 1);
		append(2);
		assert_place(pos, 0, pos);
	}
	close_log();
}

/* Two chunks have a file 0 while a clear is under way: the one that goes is
 * the one of the chunk that is written. */
TEST(a_file_is_dropped_in_its_own_chunk)
{
	open_log();
	add_file(0, 1);
	append(2);
	add_file(0, 2);
	append(2);
	add_file(1, 2);
	append(2);
	packet_log_drop_file(log_, 0, 2);
	ck_assert_uint_eq(packet_log_start(log_), 4);
	assert_gone(2);
	assert_place(4, 1, 4);
	packet_log_drop_chunk(log_, 1);
	ck_assert_uint_eq(packet_log_start(log_), 4);
	close_log();
}

TEST(a_cleared_chunk_moves_the_start)
{
	open_log();
	add_file(0, 1);
	append(2);
	add_file(1, 1);
	append(2);
	add_file(0, 2);
	packet_log_drop_chunk(log_, 1);
	ck_assert_uint_eq(packet_log_start(log_), 4);
	ck_assert_int_eq(look(4), LOG_RETRY);
	assert_gone(3);
	append(1);
	assert_place(4, 0, 4);
	packet_log_drop_chunk(log_, 9); /* not of this stream */
	ck_assert_uint_eq(packet_log_start(log_), 4);
	packet_log_drop_chunk(log_, 2);
	ck_assert_uint_eq(packet_log_start(log_), 5);
	ck_assert_uint_eq(packet_log_count(log_), 5);
	close_log();
}

static void
assert_beacon(uint64_t want)
{
	struct log_view view;

	ck_assert_int_eq(
	    packet_log_look(log_, packet_log_count(log_), &view), LOG_INACTIVE);
	ck_assert_uint_eq(view.beacon, want);
	ck_assert(view.has_ctf_stream);
	ck_assert_uint_eq(view.ctf_stream, CTF_STREAM);
}

/* live 2.7, as 2.15: beacons count from the start. */
TEST(a_beacon_counts_before_the_first_packet)
{
	open_log();
	packet_log_beacon(log_, 5, CTF_STREAM);
	assert_beacon(5);
	packet_log_beacon(log_, 7, CTF_STREAM);
	assert_beacon(7);
	close_log();
}

TEST(a_beacon_never_goes_back)
{
	open_log();
	packet_log_beacon(log_, 500, CTF_STREAM);
	packet_log_beacon(log_, 499, CTF_STREAM);
	assert_beacon(500);
	packet_log_beacon(log_, 500, CTF_STREAM);
	assert_beacon(500);
	close_log();
}

TEST(a_beacon_is_never_below_the_last_packet)
{
	open_log();
	add_file(0, 1);
	append(2); /* until 190 */
	ck_assert_int_eq(look(2), LOG_RETRY);
	packet_log_beacon(log_, 189, CTF_STREAM);
	ck_assert_int_eq(look(2), LOG_RETRY);
	packet_log_beacon(log_, 190, CTF_STREAM);
	assert_beacon(190);
	ck_assert_int_eq(look(1), LOG_PACKET);
	close_log();
}

TEST(what_is_on_its_way_ends_a_beacon)
{
	struct log_view view;

	open_log();
	add_file(0, 1);
	packet_log_beacon(log_, 5, CTF_STREAM);
	packet_log_no_beacon(log_, CTF_STREAM);
	ck_assert_int_eq(packet_log_look(log_, 0, &view), LOG_RETRY);
	ck_assert(view.has_ctf_stream);
	packet_log_beacon(log_, 6, CTF_STREAM);
	append(1);
	ck_assert_int_eq(look(1), LOG_RETRY);
	close_log();
}

/* A change of it aborts babeltrace2 (live 6, P4). */
TEST(the_first_ctf_stream_class_stays)
{
	struct log_view view;

	open_log();
	packet_log_no_beacon(log_, CTF_STREAM);
	packet_log_beacon(log_, 5, CTF_STREAM + 1);
	assert_beacon(5);
	append(1);
	(void)packet_log_look(log_, 0, &view);
	ck_assert_uint_eq(view.ctf_stream, CTF_STREAM);
	close_log();
}

TEST(the_end_comes_after_the_last_packet)
{
	open_log();
	add_file(0, 1);
	append(2);
	packet_log_beacon(log_, 1000, CTF_STREAM);
	packet_log_end(log_);
	ck_assert_int_eq(look(0), LOG_PACKET);
	ck_assert_int_eq(look(1), LOG_PACKET);
	ck_assert_int_eq(look(2), LOG_END);
	/* Beyond the count: P8, "even if the position is ahead". */
	ck_assert_int_eq(look(9), LOG_END);
	close_log();
}

TEST(waiters_are_taken_once)
{
	open_log();
	ck_assert_uint_eq(packet_log_take_waiters(log_), 0);
	packet_log_wait(log_, 1);
	packet_log_wait(log_, 4);
	packet_log_wait(log_, 4);
	ck_assert_uint_eq(packet_log_take_waiters(log_), 5);
	ck_assert_uint_eq(packet_log_take_waiters(log_), 0);
	close_log();
}

/*
 * A writer and readers without pause: files of eight packets in a ring of
 * four, beacons between packets. Beacon K after packet N is at 100 * N + 95,
 * before packet N + 1 begins.
 */
#define STRESS_PACKETS 20000
#define FILE_PACKETS 8
#define RING 4

static void *
write_packets(void *arg)
{
	uint64_t n;

	rcu_register_thread();
	for (n = 0; n < STRESS_PACKETS; n++) {
		if (n % FILE_PACKETS == 0) {
			uint64_t number = n / FILE_PACKETS;

			if (number >= RING)
				packet_log_drop_file(log_, number - RING, 1);
			add_file(number, 1);
		}
		packet_log_no_beacon(log_, CTF_STREAM);
		append(1);
		if (n % 3 == 0)
			packet_log_beacon(log_, n * 100 + 95, CTF_STREAM);
	}
	packet_log_end(log_);
	rcu_unregister_thread();
	return NULL;
}

struct reader_seen {
	uint64_t packets, lost, bounds, retries;
};

/* What is at POS, read as a viewer does. False: dropped meanwhile. */
static bool
read_packet(uint64_t pos, uint64_t bound)
{
	struct index_record rec;
	struct log_place place;

	if (packet_log_place(log_, pos, &place) != OK) {
		ck_assert_uint_gt(packet_log_start(log_), pos);
		return false;
	}
	folder_put(place.folder);
	ck_assert_uint_eq(place.first, pos / FILE_PACKETS * FILE_PACKETS);
	ck_assert_uint_eq(place.number, pos / FILE_PACKETS);
	if (packet_log_recent(log_, pos, &rec)) {
		assert_record(&rec, pos);
		ck_assert_uint_ge(rec.timestamp_begin, bound);
	}
	return true;
}

static void
read_to_end(struct reader_seen *seen)
{
	uint64_t pos = 0, bound = 0;
	struct log_view view;

	for (;;) {
		uint64_t start = packet_log_start(log_);

		if (start > pos) {
			seen->lost += start - pos;
			pos = start;
		}
		switch (packet_log_look(log_, pos, &view)) {
		case LOG_PACKET:
			if (!read_packet(pos, bound))
				break;
			bound = pos * 100 + 90;
			seen->packets++;
			pos++;
			break;
		case LOG_INACTIVE:
			/* Never of the past, never beyond what comes. */
			ck_assert_uint_ge(view.beacon, bound);
			ck_assert_uint_lt(view.beacon, pos * 100 + 10);
			ck_assert_uint_eq(view.ctf_stream, CTF_STREAM);
			bound = view.beacon;
			seen->bounds++;
			break;
		case LOG_RETRY:
			seen->retries++;
			break;
		case LOG_END:
			ck_assert_uint_eq(pos, STRESS_PACKETS);
			return;
		}
	}
}

static void *
read_packets(void *arg)
{
	rcu_register_thread();
	read_to_end(arg);
	rcu_unregister_thread();
	return NULL;
}

TEST(readers_beside_the_writer_see_whole_packets_in_order)
{
	struct reader_seen seen[2] = { { 0 } };
	pthread_t writer, readers[2];

	open_log();
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(
		    pthread_create(&readers[i], NULL, read_packets, &seen[i]),
		    0);
	ck_assert_int_eq(pthread_create(&writer, NULL, write_packets, NULL), 0);
	pthread_join(writer, NULL);
	for (int i = 0; i < 2; i++) {
		pthread_join(readers[i], NULL);
		ck_assert_uint_eq(
		    seen[i].packets + seen[i].lost, STRESS_PACKETS);
		ck_assert_uint_gt(seen[i].packets, 0);
	}
	close_log();
}
