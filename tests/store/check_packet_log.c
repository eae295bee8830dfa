/* SPDX-License-Identifier: MIT */
/* The packets of a stream as readers see them. */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <urcu.h>

#include "common/publish.h"
#include "store/packet_log.h"
#include "tests/lib/fault.h"
#include "tests/lib/script.h"
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
		struct index_record rec = record(published(&log_->count));

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

/* look POSITION: what is there, and the stream class if it is known. */
static void
say_view(uint64_t pos)
{
	static const char *const names[] = { [LOG_PACKET] = "PACKET",
		[LOG_INACTIVE] = "INACTIVE",
		[LOG_RETRY] = "RETRY",
		[LOG_END] = "END" };
	struct log_view view;
	const enum log_next next = packet_log_look(log_, pos, &view);

	script_say("%s", names[next]);
	if (next == LOG_INACTIVE)
		script_say(" %" PRIu64, view.beacon);
	if (view.has_ctf_stream)
		script_say(" class %" PRIu64, view.ctf_stream);
}

/* place POSITION: the number of its file, and that file's first position. */
static void
say_place(uint64_t pos)
{
	struct log_place place;

	if (packet_log_place(log_, pos, &place) != OK) {
		script_say("gone");
		return;
	}
	script_say("%" PRIu64 " from %" PRIu64, place.number, place.first);
	if (place.folder != folder || !place.is_numbered)
		script_fail("another folder");
	folder_put(place.folder);
}

static bool
step(char **w)
{
	const uint64_t a = script_number(w[1]), b = script_number(w[2]);

	if (script_is(w[0], "file")) /* NUMBER CHUNK */
		add_file(a, b);
	else if (script_is(w[0], "append"))
		append((unsigned)a);
	else if (script_is(w[0], "drop-file")) /* NUMBER CHUNK */
		packet_log_drop_file(log_, a, b);
	else if (script_is(w[0], "drop-chunk"))
		packet_log_drop_chunk(log_, a);
	else if (script_is(w[0], "beacon")) /* TIME CLASS */
		packet_log_beacon(log_, a, b);
	else if (script_is(w[0], "half")) /* of a packet came */
		packet_log_no_beacon(log_, CTF_STREAM);
	else if (script_is(w[0], "end"))
		packet_log_end(log_);
	else if (script_is(w[0], "wait")) /* BITS */
		waiters_add(&log_->waiters, a);
	else if (script_is(w[0], "waiters"))
		script_say("%" PRIu64, waiters_take(&log_->waiters));
	else if (script_is(w[0], "range")) /* START-COUNT */
		script_say("%" PRIu64 "-%" PRIu64, published(&log_->start),
		    published(&log_->count));
	else if (script_is(w[0], "look"))
		say_view(a);
	else if (script_is(w[0], "place"))
		say_place(a);
	else
		return false;
	return true;
}

static const struct {
	const char *name, *steps;
} rows[] = {
	{ "a new log is empty", "range = 0-0; look 0 = RETRY; place 0 = gone" },
	{ "each position has its file",
	    "file 0 1; append 3; file 1 1; append 2; file 2 1;"
	    "place 0 = 0 from 0; place 1 = 0 from 0; place 2 = 0 from 0;"
	    "place 3 = 1 from 3; place 4 = 1 from 3;"
	    "append 1; place 5 = 2 from 5; place 4 = 1 from 3" },
	{ "an overwritten file moves the start",
	    "file 0 1; append 2; file 1 1; append 2; file 2 1; append 2;"
	    "drop-file 0 1; range = 2-6; place 1 = gone; place 2 = 1 from 2;"
	    "file 0 1; append 2; place 6 = 0 from 6; drop-file 1 1; range = "
	    "4-8;"
	    /* this one never had a record */
	    "drop-file 7 1; range = 4-8; place 4 = 2 from 4" },
	{ "a ring of one file starts where it ends",
	    "file 0 1; append 4; drop-file 0 1; range = 4-4; look 4 = RETRY "
	    "class 3;"
	    "place 3 = gone; file 0 1; append 1; place 4 = 0 from 4" },
	/* Two chunks have a file 0 while a clear is under way. */
	{ "a file is dropped in its own chunk",
	    "file 0 1; append 2; file 0 2; append 2; file 1 2; append 2;"
	    "drop-file 0 2; range = 4-6; place 2 = gone; place 4 = 1 from 4;"
	    "drop-chunk 1; range = 4-6" },
	{ "a cleared chunk moves the start",
	    "file 0 1; append 2; file 1 1; append 2; file 0 2; drop-chunk 1;"
	    "range = 4-4; look 4 = RETRY class 3; place 3 = gone; append 1;"
	    "place 4 = 0 from 4; drop-chunk 9; range = 4-5;"
	    "drop-chunk 2; range = 5-5" },
	/* live 2.7, as 2.15 */
	{ "a beacon counts before the first packet",
	    "beacon 5 3; look 0 = INACTIVE 5 class 3;"
	    "beacon 7 3; look 0 = INACTIVE 7 class 3" },
	{ "a beacon never goes back",
	    "beacon 500 3; beacon 499 3; look 0 = INACTIVE 500 class 3;"
	    "beacon 500 3; look 0 = INACTIVE 500 class 3" },
	{ "a beacon is never below the last packet",
	    "file 0 1; append 2; look 2 = RETRY class 3; beacon 189 3;"
	    "look 2 = RETRY class 3; beacon 190 3;"
	    "look 2 = INACTIVE 190 class 3; look 1 = PACKET class 3" },
	{ "what is on its way ends a beacon",
	    "file 0 1; beacon 5 3; half; look 0 = RETRY class 3;"
	    "beacon 6 3; append 1; look 1 = RETRY class 3" },
	/* A change of it aborts babeltrace2 (live 6, P4). */
	{ "the first CTF stream class stays",
	    "half; beacon 5 4; look 0 = INACTIVE 5 class 3;"
	    "file 0 1; append 1; look 0 = PACKET class 3" },
	/* Also ahead of it (live 6, P8). */
	{ "the end comes after the last packet",
	    "file 0 1; append 2; beacon 1000 3; end; look 0 = PACKET class 3;"
	    "look 1 = PACKET class 3; look 2 = END class 3;"
	    "look 9 = END class 3" },
	{ "waiters are taken once",
	    "waiters = 0; wait 1; wait 4; wait 4; waiters = 5; waiters = 0" },
};

TEST_ROWS(what_readers_see, ARRAY_LEN(rows))
{
	open_log();
	ck_assert_str_eq(log_->channel, "ch_0");
	ck_assert_uint_eq(log_->minor, 1);
	script_run(rows[_i].name, rows[_i].steps, step);
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
		ck_assert_uint_eq(published(&log_->count), count);
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

/* A stream of many files leaves some for others, and keeps its newest. */
TEST(many_files_are_no_more_than_the_limit)
{
	struct packet_log *many;

	packet_log_limit_files(100);
	open_log();
	for (uint64_t n = 0; n < 300; n++) {
		add_file(n, 1);
		append(2);
	}
	ck_assert_uint_eq(published(&log_->start), 400);
	assert_gone(399);
	assert_place(400, 200, 400);
	assert_place(599, 299, 598);
	many = packet_log_get(log_);
	close_log();
	open_log();
	for (uint64_t n = 0; n < 300; n++) {
		add_file(n, 1);
		append(2);
		if (n < LOG_FILES_MIN)
			ck_assert_uint_eq(published(&log_->start), 0);
	}
	ck_assert_uint_eq(published(&log_->start), 2 * (300 - LOG_FILES_MIN));
	/* When the first one has gone, there may be more. */
	packet_log_put(many);
	for (uint64_t n = 300; n < 300 + 100 - LOG_FILES_MIN; n++) {
		add_file(n, 1);
		append(2);
	}
	ck_assert_uint_eq(published(&log_->start), 2 * (300 - LOG_FILES_MIN));
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
		ck_assert_uint_eq(published(&log_->start), pos);
		assert_gone(pos - 1);
		add_file(0, 1);
		append(2);
		assert_place(pos, 0, pos);
	}
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
		ck_assert_uint_gt(published(&log_->start), pos);
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
		uint64_t start = published(&log_->start);

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
