/* SPDX-License-Identifier: MIT */
/* Sessions over a file system in memory that has space for so many bytes: each
 * write, file and folder is once the one that has none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <urcu.h>

#include "common/log.h"
#include "proto/frame.h"
#include "relayd/record/control.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream.h"
#include "relayd/record/cycle.h"
#include "relayd/stats/info.h"
#include "store/packet_log.h"
#include "store/reserve.h"
#include "store/store.h"
#include "tests/lib/fake_fs.h"
#include "tests/lib/unit.h"
#include "tests/relayd/endpoints.h"

#define SIZE ENDPOINTS_PACKET
#define DATA ENDPOINTS_HANDLE(1)
#define META ENDPOINTS_HANDLE(2)
#define FILES 16
/* Room that a case may need in all, and the step from case to case. */
#define ROOM_MAX 1700
#define STEP 17

/* The end of a cycle, and then a second's. */
static void
turn_end(void)
{
	endpoints_cycle();
	endpoints_wait(NS_PER_S);
	endpoints_cycle();
	cycle_commit(endpoints.shard);
}

/* A session in its chunk, and then space for so many bytes. */
static void
begin(uint64_t space, uint32_t live_timer_us)
{
	endpoints_begin(live_timer_us, true);
	fake_fs_set_space(space);
}

/* A packet and its record; returns what SEND_INDEX says. */
static uint32_t
send_packet(uint64_t stream, uint64_t seq)
{
	const uint64_t bits = (uint64_t)8 * SIZE;

	ck_assert_int_eq(
	    endpoints_data(0, stream, seq, (uint8_t)(seq + 1), SIZE), OK);
	return endpoints_record(stream, seq, bits, bits);
}

static uint32_t
packet(uint64_t seq)
{
	const uint32_t code = send_packet(DATA, seq);

	turn_end();
	return code;
}

static void
metadata(const char *text)
{
	struct buf ask = { 0 };

	relay_request_metadata(&ask, META, text, strlen(text), 0);
	(void)endpoints_serve(&ask, 0);
}

static struct {
	struct {
		char path[64];
		const uint8_t *p;
		size_t n;
	} file[FILES];
	unsigned n;
} tree;

static void
note(const char *path, const uint8_t *p, size_t n, void *arg)
{
	if (p == NULL)
		return;
	ck_assert_uint_lt(tree.n, FILES);
	snprintf(tree.file[tree.n].path, sizeof(tree.file[0].path), "%s", path);
	tree.file[tree.n].p = p;
	tree.file[tree.n++].n = n;
}

static bool
has_end(const char *path, const char *what)
{
	const size_t n = strlen(path), m = strlen(what);

	return n >= m && strcmp(path + n - m, what) == 0;
}

/* The bytes that the index file INDEX names are those of DATA, whole packets
 * in order; PACKETS is set for each. */
static void
check_pair(unsigned index, unsigned data, bool packets[])
{
	const size_t n = tree.file[index].n;
	const size_t records = n < 16 ? 0 : (n - 16) / 72;
	const uint8_t *p = tree.file[data].p;

	ck_assert_msg(n == 16 + 72 * records, "%s has %zu bytes",
	    tree.file[index].path, n);
	ck_assert_msg(tree.file[data].n == SIZE * records,
	    "%s has %zu bytes, %zu records", tree.file[data].path,
	    tree.file[data].n, records);
	for (size_t i = 0; i < records; i++, p += SIZE) {
		for (size_t at = 1; at < SIZE; at++)
			ck_assert_int_eq(p[at], p[0]);
		ck_assert_msg(!packets[p[0] - 1], "packet %d twice", p[0] - 1);
		packets[p[0] - 1] = true;
	}
}

/* All that is there is whole. */
static void
check_tree(bool packets[])
{
	char data[64];
	const char *name;

	memset(packets, 0, 16 * sizeof(*packets));
	tree.n = 0;
	fake_fs_walk(note, NULL);
	for (unsigned i = 0; i < tree.n; i++) {
		name = strstr(tree.file[i].path, "/index/");
		if (name == NULL || !has_end(name, ".idx"))
			continue;
		snprintf(data, sizeof(data), "%.*s/%.*s",
		    (int)(name - tree.file[i].path), tree.file[i].path,
		    (int)(strlen(name) - strlen("/index/.idx")),
		    name + strlen("/index/"));
		for (unsigned j = 0; j < tree.n; j++)
			if (strcmp(tree.file[j].path, data) == 0)
				check_pair(i, j, packets);
	}
}

static void
check_metadata(const char *text)
{
	for (unsigned i = 0; i < tree.n; i++)
		if (has_end(tree.file[i].path, "/metadata")) {
			ck_assert_uint_eq(tree.file[i].n, strlen(text));
			ck_assert_mem_eq(tree.file[i].p, text, strlen(text));
			return;
		}
	ck_abort_msg("no metadata");
}

/* Of N packets, those that are in files count as written, and so their bytes;
 * all others as lost. */
static void
check_counts(const bool packets[], unsigned n)
{
	const struct sums *sums = &endpoints.control->session->report.sums;
	unsigned there = 0;

	for (unsigned i = 0; i < 16; i++)
		there += packets[i];
	ck_assert_uint_eq(sums_lost(sums), n - there);
	ck_assert_uint_eq(endpoints.shard->figures.packets_dropped, n - there);
	ck_assert_uint_eq(sums->written_packets, there);
	ck_assert_uint_eq(endpoints.shard->store->packets_written, there);
	ck_assert_uint_eq(
	    endpoints.shard->store->bytes_written, (uint64_t)SIZE * there);
}

/* .loss.jsonl has all N that are lost, FIRST before the others. */
static void
check_losses(const bool packets[], unsigned n)
{
	static const char name[] = "\"first\":%u,\"lost\":%u,\"announced\":%u";
	unsigned there = 0, noted = 0, first, lost, announced;
	char text[4096] = "";
	const char *p = text;

	for (unsigned i = 0; i < tree.n; i++)
		if (has_end(tree.file[i].path, "/.loss.jsonl"))
			memcpy(text, tree.file[i].p, tree.file[i].n);
	for (unsigned i = 0; i < n; i++)
		there += packets[i];
	for (; (p = strstr(p, "\"first\"")) != NULL; p++) {
		ck_assert_int_eq(sscanf(p, name, &first, &lost, &announced), 3);
		ck_assert_uint_lt(first, n);
		ck_assert_msg(!packets[first], "packet %u is there", first);
		ck_assert_uint_eq(announced, lost);
		noted += lost;
	}
	ck_assert_uint_eq(noted, n - there);
}

/* Streams, packets and metadata while there is space for a part of it: nothing
 * is refused, nothing is torn, and nothing waits. Then there is space again. */
static void
record_with_space(uint64_t room, uint64_t size, uint64_t count)
{
	bool packets[16];

	begin(room, 0);
	ck_assert_uint_eq(endpoints_add_stream("c", size, count), RELAY_OK);
	ck_assert_uint_eq(endpoints_add_stream("metadata", 0, 0), RELAY_OK);
	metadata("one ");
	for (uint64_t seq = 0; seq < 6; seq++) {
		ck_assert_uint_eq(packet(seq), RELAY_OK);
		ck_assert_uint_eq(
		    endpoints_ask(RELAY_CMD_data_pending, DATA, seq), 0);
		check_tree(packets);
		if (count == 0)
			check_counts(packets, (unsigned)seq + 1);
	}
	metadata("two");
	fake_fs_set_space(1 << 20);
	turn_end();
	ck_assert_uint_eq(packet(6), RELAY_OK);
	ck_assert_uint_eq(endpoints_ask(RELAY_CMD_data_pending, DATA, 6), 0);
	check_tree(packets);
	ck_assert_msg(packets[6], "what came with room is not there");
	check_metadata("one two");
	ck_assert_uint_eq(
	    endpoints_ask(RELAY_CMD_close_stream, DATA, 6), RELAY_OK);
	ck_assert_uint_eq(
	    endpoints_ask(RELAY_CMD_close_stream, META, UINT64_MAX), RELAY_OK);
	endpoints_end();
	check_tree(packets);
	check_metadata("one two");
	if (count == 0)
		check_losses(packets, 7);
}

EACH_TEST(NULL, endpoints_end)

TEST_ROWS(any_write_file_or_folder_may_lack_space, ROOM_MAX / STEP)
{
	record_with_space((uint64_t)_i * STEP, 0, 0);
}

TEST_ROWS(the_same_in_a_ring, ROOM_MAX / STEP)
{
	record_with_space((uint64_t)_i * STEP, (uint64_t)2 * SIZE, 2);
}

/* One packet of each stream finds no space. */
TEST(losses_are_not_logged_for_each_stream)
{
	begin(1 << 16, 0);
	unit_capture_stderr();
	log_set_level(LOG_WARN);
	for (unsigned i = 1; i <= 200; i++) {
		char channel[16];

		(void)snprintf(channel, sizeof(channel), "c_%u", i);
		ck_assert_uint_eq(
		    endpoints_add_stream(channel, 0, 0), RELAY_OK);
		fake_fs_set_space(0);
		ck_assert_uint_eq(send_packet(i * DATA, 0), RELAY_OK);
		cycle_commit(endpoints.shard);
		fake_fs_set_space(1 << 16);
		ck_assert_uint_eq(
		    endpoints_ask(RELAY_CMD_close_stream, i * DATA, 0),
		    RELAY_OK);
		cycle_commit(endpoints.shard);
	}
	ck_assert_uint_eq(endpoints.shard->figures.packets_without_space, 200);
	/* Warnings, and two errors, which are counted apart: the disk is full,
	 * and packets are lost. */
	ck_assert_uint_le(unit_stderr_lines(), LOG_PEER_LINES + 2);
}

/* Packets fill the disk; then metadata has the reserve, and packets do not take
 * what it gives up. */
TEST(metadata_has_the_reserve)
{
	static char text[4 * RESERVE_STEP / 2];
	bool packets[16];
	uint64_t lost;

	begin(3 * RESERVE_BYTES, 0);
	ck_assert_uint_eq(endpoints_add_stream("c", 0, 0), RELAY_OK);
	ck_assert_uint_eq(endpoints_add_stream("metadata", 0, 0), RELAY_OK);
	for (int i = 0; i < 11; i++)
		turn_end(); /* the reserve is taken, at the second try */
	ck_assert_uint_eq(packet(0), RELAY_OK);
	fake_fs_set_space(0);
	ck_assert_uint_eq(packet(1), RELAY_OK);
	memset(text, 'm', sizeof(text) - 1);
	metadata(text);
	lost = endpoints.shard->figures.packets_dropped;
	ck_assert_uint_eq(lost, 1);
	/* Half a part of the reserve is left of what was given up. */
	ck_assert_uint_eq(packet(2), RELAY_OK);
	ck_assert_uint_eq(endpoints.shard->figures.packets_dropped, 2);
	check_tree(packets);
	check_metadata(text);
	ck_assert(packets[0] && !packets[1] && !packets[2]);
}

/* Metadata without end for which there is no space: then, and not before,
 * the connection is closed. */
TEST(pending_metadata_has_a_limit)
{
	static char text[1 << 20];
	struct buf ask = { 0 }, out = { 0 };
	enum status st = OK;
	unsigned n = 0;
	size_t used;

	begin(UINT64_MAX, 0);
	ck_assert_uint_eq(endpoints_add_stream("c", 0, 0), RELAY_OK);
	ck_assert_uint_eq(endpoints_add_stream("metadata", 0, 0), RELAY_OK);
	fake_fs_set_space(0);
	memset(text, 'm', sizeof(text) - 1);
	for (; st == OK && n < 100; n++) {
		relay_request_metadata(&ask, META, text, sizeof(text) - 1, 0);
		st = control_input(endpoints.control, buf_data(&ask),
		    buf_len(&ask), &used, &out);
		buf_free(&ask);
	}
	ck_assert_int_eq(st, E_NOSPC);
	ck_assert_uint_eq(n, 4); /* with their heads, three are below 4 MiB */
	buf_free(&out);
}

/* There is space for a packet, but not for its record: viewers go on, and the
 * next packet that is whole has its place. */
TEST(viewers_pass_what_has_no_record)
{
	const struct stream *t;
	struct log_view view;

	begin(UINT64_MAX, 1000);
	ck_assert_uint_eq(endpoints_add_stream("c", 0, 0), RELAY_OK);
	ck_assert_uint_eq(packet(0), RELAY_OK);
	t = session_stream(endpoints.control->session, DATA);
	fake_fs_set_space(SIZE + 1);
	ck_assert_uint_eq(packet(1), RELAY_OK);
	ck_assert_uint_eq(published(&t->log->count), 1);
	rcu_register_thread();
	ck_assert_int_eq(packet_log_look(t->log, 1, &view), LOG_INACTIVE);
	ck_assert_uint_eq(view.beacon, 2);
	rcu_unregister_thread();
	fake_fs_set_space(1 << 20);
	ck_assert_uint_eq(packet(2), RELAY_OK);
	ck_assert_uint_eq(published(&t->log->count), 2);
}

/* There is space again, but metadata that waited cannot be written: this is
 * said when it is asked for, and nothing is appended after the hole. */
TEST(pending_metadata_may_be_lost)
{
	struct buf ask = { 0 }, out = { 0 };
	bool packets[16];
	size_t used;

	begin(UINT64_MAX, 0);
	ck_assert_uint_eq(endpoints_add_stream("c", 0, 0), RELAY_OK);
	ck_assert_uint_eq(endpoints_add_stream("metadata", 0, 0), RELAY_OK);
	metadata("one ");
	fake_fs_set_space(0);
	metadata("two ");
	fake_fs_set_space(1 << 20);
	fake_fs_fail(FAKE_FS_BROKEN);
	turn_end();
	fake_fs_fail(0);
	ck_assert_uint_eq(
	    endpoints_ask(RELAY_CMD_data_pending, META, UINT64_MAX),
	    RELAY_PENDING_UNKNOWN);
	relay_request_metadata(&ask, META, "three", 5, 0);
	ck_assert_int_eq(control_input(endpoints.control, buf_data(&ask),
			     buf_len(&ask), &used, &out),
	    E_IO);
	check_tree(packets);
	check_metadata("one ");
	buf_free(&ask);
	buf_free(&out);
}

int
main(void)
{
	(void)setenv("TZ", "UTC", 1);
	tzset();
	log_set_level(LOG_ERROR);
	return unit_run();
}
