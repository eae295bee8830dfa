/* SPDX-License-Identifier: MIT */
/* Streams and metadata that come after viewers were shown later times (live
 * 4.11). */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fds.h"
#include "relayd/record/session.h"
#include "relayd/record/stream.h"
#include "relayd/live/viewer_internal.h"
#include "tests/lib/unit.h"
#include "tests/relayd/fixture.h"

#define GIVEN 1000000
#define FLOOR (GIVEN + VIEWER_MIN_BEGIN_TICKS)
#define BYTES 256
#define CLASS_MS 1000
/* And the period. */
#define LIMIT_MS (1000 + FIXTURE_PERIOD_US / 1000)
#define CTF "/* CTF 1.8 */trace { };"
#define OTHER_TEXT CTF "stream { id = 1; };"
#define CLASS_TEXT "stream { id = 2; };" /* LIVE_PAIR_CLASS */

static struct stream *data, *metadata;
static uint8_t bytes[BYTES];

/* A process of the same session begins while the viewer watches. */
static void
add_process(struct session *session)
{
	metadata = live_pair_stream(session, "ust/2", "metadata", 0, 0);
	data = live_pair_stream(session, "ust/2", "ch_0", 0, 0);
	session_publish(session);
	live_pair_metadata(metadata, CLASS_TEXT, sizeof(CLASS_TEXT) - 1);
	live_pair_deliver_all(&fixture.pair);
}

static void
announce(const struct session *session, uint32_t count)
{
	ck_assert_uint_eq(
	    fixture_tell(LIVE_CMD_get_new_streams, session->live->id),
	    LIVE_STREAMS_OK);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 4), count);
}

/* The viewer was given GIVEN, then the process is there. */
static void
begin(void)
{
	fixture_open_attached(true);
	live_pair_beacon(fixture.data, GIVEN);
	ck_assert_uint_eq(fixture_index().timestamp_end, GIVEN);
	add_process(fixture.session);
	announce(fixture.session, 2);
}

static void
put64(uint8_t *p, uint64_t value, bool is_big)
{
	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t)(value >> (is_big ? 56 - 8 * i : 8 * i));
}

/* A packet as LTTng lays it out. */
static struct live_pair_packet
packet(uint64_t seq, uint64_t begin_, uint64_t end, uint64_t bits, bool is_big)
{
	for (unsigned i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)(i * 7 + seq);
	memcpy(bytes, is_big ? "\xc1\xfc\x1f\xc1" : "\xc1\x1f\xfc\xc1", 4);
	put64(bytes + 32, begin_, is_big);
	put64(bytes + 40, end, is_big);
	put64(bytes + 48, bits, is_big);
	put64(bytes + 56, BYTES * 8, is_big);
	return (struct live_pair_packet){ .seq = seq,
		.begin = begin_,
		.end = end,
		.bytes = BYTES,
		.raw = bytes,
		.content_bits = bits,
		.ctf_stream = LIVE_PAIR_CLASS };
}

static struct live_index
ask(const struct stream *t)
{
	(void)fixture_tell(LIVE_CMD_get_next_index, fixture_id(t));
	return live_pair_index_of(&fixture.out);
}

static const uint8_t *
read_packet(uint64_t offset, uint32_t length)
{
	(void)live_pair_tell(fixture.viewer,
	    &(struct live_request){ .cmd = LIVE_CMD_get_packet,
		.id = fixture_id(data),
		.offset = offset,
		.length = length },
	    &fixture.out);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 0), LIVE_PACKET_OK);
	ck_assert_uint_eq(buf_len(&fixture.out), 12 + length);
	return buf_data(&fixture.out) + 12;
}

/* In both byte orders, read whole and in any two pieces. */
START_TEST(a_packet_that_begins_late_begins_later)
{
	const bool is_big = _i == 1;
	struct live_pair_packet p = packet(
	    0, GIVEN - 5, FLOOR + 7, 2000, is_big);
	uint8_t want[BYTES];
	struct live_index i;

	begin();
	live_pair_packet(data, &p);
	i = ask(data);
	ck_assert_uint_eq(i.status, LIVE_INDEX_OK);
	ck_assert_uint_eq(i.timestamp_begin, FLOOR);
	ck_assert_uint_eq(i.timestamp_end, FLOOR + 7);
	memcpy(want, bytes, BYTES);
	put64(want + 32, FLOOR, is_big);
	for (uint32_t cut = 0; cut <= BYTES; cut++) {
		ck_assert_mem_eq(read_packet(0, cut), want, cut);
		ck_assert_mem_eq(
		    read_packet(cut, BYTES - cut), want + cut, BYTES - cut);
	}
	fixture_close();
}
END_TEST

/* The same when its file was closed for want of descriptors, and is gone. */
START_TEST(it_does_so_when_its_file_is_gone)
{
	struct live_pair_packet p = packet(
	    0, GIVEN - 5, FLOOR + 7, 2000, false);
	struct live_pair_packet other = fixture_packet(0);
	uint8_t want[BYTES];
	char path[256];

	begin();
	live_pair_packet(data, &p);
	memcpy(want, bytes, BYTES);
	put64(want + 32, FLOOR, false);
	ck_assert_uint_eq(ask(data).status, LIVE_INDEX_OK);
	fds_limit(FDS_VIEWER_FILES, fds_used(FDS_VIEWER_FILES));
	other.begin = other.end = GIVEN + 1;
	live_pair_packet(fixture.data, &other);
	ck_assert_uint_eq(ask(fixture.data).status, LIVE_INDEX_OK);
	(void)snprintf(path, sizeof(path),
	    "%s/host/one-20170714-024000/ust/2/ch_0", fixture.pair.dir);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_uint_eq(fixture.pair.viewers.files.kept, BYTES);
	ck_assert_mem_eq(read_packet(0, 36), want, 36);
	ck_assert_mem_eq(read_packet(36, 0), want + 36, 0);
	ck_assert_mem_eq(read_packet(36, BYTES - 36), want + 36, BYTES - 36);
	/* That of the other, which was closed to look for this one. */
	ck_assert_uint_eq(fixture.pair.viewers.files.kept, 64);
	fds_limit(FDS_VIEWER_FILES, UINT64_MAX);
	fixture_close();
}
END_TEST

/* What was written stays: another viewer reads it as it is. */
START_TEST(files_stay_as_they_are)
{
	struct live_pair_packet p = packet(0, GIVEN - 5, FLOOR, 2000, false);
	struct live_index i;

	begin();
	live_pair_packet(data, &p);
	(void)ask(data);
	viewer_destroy(fixture.viewer);
	fixture.viewer = fixture_viewer(true, 4);
	ck_assert_uint_eq(fixture_attach(fixture.viewer, LIVE_SEEK_BEGINNING),
	    LIVE_ATTACH_OK);
	i = ask(data);
	ck_assert_uint_eq(i.timestamp_begin, GIVEN - 5);
	ck_assert_mem_eq(read_packet(0, BYTES), bytes, BYTES);
	fixture_close();
}
END_TEST

/* The second packet, too, as long as it begins too early; the first that does
 * not ends it. */
START_TEST(until_one_begins_late_enough)
{
	struct live_pair_packet p;

	begin();
	for (uint64_t seq = 0; seq < 4; seq++) {
		p = packet(seq, seq == 2 ? FLOOR : FLOOR - 1, FLOOR + seq, 2000,
		    false);
		live_pair_packet(data, &p);
	}
	ck_assert_uint_eq(ask(data).timestamp_begin, FLOOR);
	ck_assert_uint_eq(ask(data).timestamp_begin, FLOOR);
	put64(bytes + 32, FLOOR, false);
	ck_assert_mem_eq(read_packet(BYTES + 32, 8), bytes + 32, 8);
	ck_assert_uint_eq(ask(data).timestamp_begin, FLOOR);
	ck_assert_uint_eq(ask(data).timestamp_begin, FLOOR - 1);
	put64(bytes + 32, FLOOR - 1, false);
	ck_assert_mem_eq(read_packet(3 * BYTES + 32, 8), bytes + 32, 8);
	fixture_close();
}
END_TEST

/* The magic, and the words that must say what the index says. */
static const unsigned words[] = { 0, 32, 40, 48, 56 };

START_TEST(another_layout_is_left_alone)
{
	struct live_pair_packet p = packet(0, GIVEN - 5, FLOOR, 2000, false);

	begin();
	bytes[words[_i]] ^= 1;
	live_pair_packet(data, &p);
	ck_assert_uint_eq(ask(data).timestamp_begin, GIVEN - 5);
	ck_assert_mem_eq(read_packet(0, BYTES), bytes, BYTES);
	fixture_close();
}
END_TEST

/* The live timer flushed before the process began: nothing is in it. */
START_TEST(an_empty_packet_of_the_past_is_passed)
{
	struct live_pair_packet p;

	begin();
	p = packet(0, GIVEN - 5, FLOOR - 1, 672, false);
	live_pair_packet(data, &p);
	ck_assert_uint_eq(ask(data).status, LIVE_INDEX_RETRY);
	ck_assert_uint_eq(fixture.viewer->passed, 1);
	p = packet(1, FLOOR - 1, FLOOR + 1, 2000, false);
	live_pair_packet(data, &p);
	ck_assert_uint_eq(ask(data).timestamp_begin, FLOOR);
	put64(bytes + 32, FLOOR, false);
	ck_assert_mem_eq(read_packet(BYTES, BYTES), bytes, BYTES);
	fixture_close();
}
END_TEST

START_TEST(events_of_the_past_are_given)
{
	struct live_pair_packet p = packet(0, GIVEN - 5, FLOOR - 1, 673, false);

	begin();
	live_pair_packet(data, &p);
	ck_assert_uint_eq(ask(data).timestamp_end, FLOOR - 1);
	ck_assert_uint_eq(fixture.viewer->passed, 0);
	fixture_close();
}
END_TEST

START_TEST(no_bound_below_the_floor)
{
	begin();
	live_pair_beacon(data, FLOOR - 1);
	ck_assert_uint_eq(ask(data).status, LIVE_INDEX_RETRY);
	live_pair_beacon(data, FLOOR);
	ck_assert_uint_eq(ask(data).status, LIVE_INDEX_INACTIVE);
	ck_assert_uint_eq(
	    live_pair_index_of(&fixture.out).timestamp_end, FLOOR);
	fixture_close();
}
END_TEST

/* A viewer that is behind: what it was given counts, not what has come. */
START_TEST(the_floor_is_what_was_given)
{
	struct live_pair_packet p;

	fixture_open_attached(true);
	live_pair_beacon(fixture.data, GIVEN);
	(void)ask(fixture.data);
	live_pair_beacon(fixture.data, 2 * GIVEN);
	add_process(fixture.session);
	announce(fixture.session, 2);
	p = packet(0, 1, 3 * GIVEN, 2000, false);
	live_pair_packet(data, &p);
	ck_assert_uint_eq(ask(data).timestamp_begin, FLOOR);
	fixture_close();
}
END_TEST

/* What is given between the publication and the announcement may be beyond
 * the first event. */
START_TEST(the_floor_is_what_had_come_before)
{
	struct live_pair_packet p = fixture_packet(0);

	fixture_open_attached(true);
	live_pair_beacon(fixture.data, GIVEN);
	(void)ask(fixture.data);
	add_process(fixture.session);
	p.begin = 2 * GIVEN;
	p.end = 3 * GIVEN;
	live_pair_packet(fixture.data, &p);
	ck_assert_uint_eq(ask(fixture.data).flags, LIVE_FLAG_NEW_STREAM);
	announce(fixture.session, 2);
	p = packet(0, 1, 3 * GIVEN, 2000, false);
	live_pair_packet(data, &p);
	ck_assert_uint_eq(ask(data).timestamp_begin, FLOOR);
	fixture_close();
}
END_TEST

/* Streams that are there when a viewer attaches; streams before it was given
 * anything; those of a host with another clock. */
START_TEST(no_floor_where_none_is_known)
{
	struct live_pair_packet p = packet(0, 1, 3 * GIVEN, 2000, false);
	struct session *other;

	fixture_open_attached(true);
	if (_i > 0) {
		live_pair_beacon(fixture.data, GIVEN);
		(void)ask(fixture.data);
	}
	if (_i == 0) {
		add_process(fixture.session);
		announce(fixture.session, 2);
	} else {
		fixture.pair.host = _i == 1 ? "host" : "elsewhere";
		other = live_pair_session(&fixture.pair, "two", 1000, false);
		if (_i == 1)
			add_process(other);
		live_pair_deliver_all(&fixture.pair);
		(void)live_pair_tell(fixture.viewer,
		    &(struct live_request){ .cmd = LIVE_CMD_attach_session,
			.id = other->live->id,
			.seek = LIVE_SEEK_BEGINNING },
		    &fixture.out);
		ck_assert_uint_eq(
		    live_pair_u32(&fixture.out, 0), LIVE_ATTACH_OK);
		if (_i == 2) {
			add_process(other);
			announce(other, 2);
		}
	}
	live_pair_packet(data, &p);
	ck_assert_uint_eq(ask(data).timestamp_begin, 1);
	fixture_close();
}
END_TEST

/* Of another session of the same host. */
START_TEST(one_host_has_one_clock)
{
	struct live_pair_packet p = packet(0, 1, 3 * GIVEN, 2000, false);
	struct session *other;

	fixture_open_attached(true);
	other = live_pair_session(&fixture.pair, "two", 1000, false);
	live_pair_deliver_all(&fixture.pair);
	(void)live_pair_tell(fixture.viewer,
	    &(struct live_request){ .cmd = LIVE_CMD_attach_session,
		.id = other->live->id,
		.seek = LIVE_SEEK_LAST },
	    &fixture.out);
	live_pair_beacon(fixture.data, GIVEN);
	(void)ask(fixture.data);
	add_process(other);
	announce(other, 2);
	live_pair_packet(data, &p);
	ck_assert_uint_eq(ask(data).timestamp_begin, FLOOR);
	fixture_close();
}
END_TEST

static uint32_t
ask_metadata(void)
{
	return fixture_tell(LIVE_CMD_get_metadata, fixture_id(metadata));
}

/* A process without metadata, when the viewer attaches. */
static void
begin_without_class(void)
{
	fixture_open(true);
	fixture.pair.viewers.class_ns = VIEWER_CLASS_NS;
	metadata = live_pair_stream(fixture.session, "ust/2", "metadata", 0, 0);
	data = live_pair_stream(fixture.session, "ust/2", "ch_0", 0, 0);
	session_publish(fixture.session);
	live_pair_deliver_all(&fixture.pair);
	ck_assert_uint_eq(fixture_attach(fixture.viewer, LIVE_SEEK_BEGINNING),
	    LIVE_ATTACH_OK);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 4), 4);
	ck_assert_uint_eq(ask_metadata(), LIVE_METADATA_NO_NEW);
}

/* Until its second piece (0), its end (1), or the limit (2). */
START_TEST(metadata_comes_with_a_class)
{
	begin_without_class();
	live_pair_metadata(metadata, CTF, sizeof(CTF) - 1);
	ck_assert_uint_eq(ask_metadata(), LIVE_METADATA_NO_NEW);
	fixture_wait_ms(CLASS_MS - 1);
	ck_assert_uint_eq(ask_metadata(), LIVE_METADATA_NO_NEW);
	ck_assert_uint_eq(buf_len(&fixture.out), 12);
	if (_i == 0) {
		live_pair_metadata(
		    metadata, CLASS_TEXT, sizeof(CLASS_TEXT) - 1);
	} else if (_i == 1) {
		fixture_wait_ms(1);
	} else {
		uint64_t id = fixture_id(metadata);

		stream_close(metadata, UINT64_MAX);
		live_pair_deliver_all(&fixture.pair);
		ck_assert_uint_eq(
		    fixture_tell(LIVE_CMD_get_metadata, id), LIVE_METADATA_OK);
		fixture_close();
		return;
	}
	ck_assert_uint_eq(ask_metadata(), LIVE_METADATA_OK);
	ck_assert_uint_eq(buf_len(&fixture.out),
	    12 + 23 + (_i == 0 ? sizeof(CLASS_TEXT) - 1 : 0));
	/* Once it has some it gets what comes. */
	live_pair_metadata(metadata, ";", 1);
	ck_assert_uint_eq(ask_metadata(), LIVE_METADATA_OK);
	fixture_close();
}
END_TEST

static void
something(bool is_packet)
{
	struct live_pair_packet p = packet(0, 1, 2, 2000, false);

	if (is_packet)
		live_pair_packet(data, &p);
	else
		live_pair_beacon(data, 7);
}

/* Until the metadata has it (0, 1), or the limit (2, 3). */
START_TEST(an_index_comes_when_its_class_is_there)
{
	begin_without_class();
	live_pair_metadata(metadata, OTHER_TEXT, sizeof(OTHER_TEXT) - 1);
	ck_assert_uint_eq(ask_metadata(), LIVE_METADATA_OK);
	something(_i % 2 == 0);
	ck_assert_uint_eq(ask(data).status, LIVE_INDEX_RETRY);
	ck_assert_uint_eq(live_pair_index_of(&fixture.out).ctf_stream, 0);
	if (_i < 2)
		live_pair_metadata(
		    metadata, CLASS_TEXT, sizeof(CLASS_TEXT) - 1);
	else
		fixture_wait_ms(CLASS_MS);
	ck_assert_uint_eq(ask(data).status,
	    _i % 2 == 0 ? LIVE_INDEX_OK : LIVE_INDEX_INACTIVE);
	ck_assert_uint_eq(live_pair_index_of(&fixture.out).flags,
	    _i < 2 ? LIVE_FLAG_NEW_METADATA : 0);
	fixture_close();
}
END_TEST

/* A reply that is held for the class is let go by the metadata. */
START_TEST(metadata_wakes_who_waits_for_it)
{
	begin_without_class();
	live_pair_metadata(metadata, OTHER_TEXT, sizeof(OTHER_TEXT) - 1);
	(void)ask_metadata();
	something(true);
	for (int i = 0; i < 3; i++)
		(void)ask(data);
	ck_assert_int_eq(
	    fixture_ask(LIVE_CMD_get_next_index, fixture_id(data)), LIVE_HOLD);
	ck_assert(fixture.held.is_any);
	live_pair_metadata(metadata, CLASS_TEXT, sizeof(CLASS_TEXT) - 1);
	ck_assert_ptr_eq(fixture.pair.woken, metadata->metadata);
	ck_assert_int_eq(
	    fixture_ask(LIVE_CMD_get_next_index, fixture_id(data)), LIVE_REPLY);
	ck_assert_uint_eq(
	    live_pair_index_of(&fixture.out).status, LIVE_INDEX_OK);
	fixture_close();
}
END_TEST

/* An ended stream ends, whatever its metadata lacks. */
START_TEST(the_end_does_not_wait_for_a_class)
{
	uint64_t id;

	begin_without_class();
	live_pair_metadata(metadata, OTHER_TEXT, sizeof(OTHER_TEXT) - 1);
	something(false);
	id = fixture_id(data);
	stream_close(data, UINT64_MAX);
	live_pair_deliver_all(&fixture.pair);
	ck_assert_uint_eq(
	    fixture_tell(LIVE_CMD_get_next_index, id), LIVE_INDEX_HUP);
	fixture_close();
}
END_TEST

/* The viewer has a packet up to GIVEN, and a process begins of which nothing is
 * heard for now. */
static void
begin_silent(void)
{
	struct live_pair_packet p = fixture_packet(0);

	fixture_open_attached(true);
	fixture.pair.viewers.class_ns = VIEWER_CLASS_NS;
	p.end = GIVEN;
	live_pair_packet(fixture.data, &p);
	ck_assert_uint_eq(ask(fixture.data).timestamp_end, GIVEN);
	metadata = live_pair_stream(fixture.session, "ust/2", "metadata", 0, 0);
	data = live_pair_stream(fixture.session, "ust/2", "ch_0", 0, 0);
	session_publish(fixture.session);
	live_pair_deliver_all(&fixture.pair);
}

static enum live_outcome
hold(const struct stream *t)
{
	return fixture_ask(LIVE_CMD_get_next_index, fixture_id(t));
}

static void
later_packet(struct stream *t, uint64_t seq, uint64_t end)
{
	struct live_pair_packet p = fixture_packet(seq);

	p.begin = p.end = end;
	live_pair_packet(t, &p);
}

/* Until there are a class and an index (0), an index and a class (1), or
 * neither for too long (2). */
START_TEST(a_new_trace_is_announced_when_it_was_heard)
{
	begin_silent();
	later_packet(fixture.data, 1, 2 * GIVEN);
	ck_assert_int_eq(hold(fixture.data), LIVE_HOLD);
	ck_assert(fixture.held.is_early && fixture.held.is_any);
	ck_assert_uint_eq(
	    fixture.held.until_ns, clock_now_ns() + LIMIT_MS * NS_PER_MS);
	announce(fixture.session, 0);
	if (_i == 0)
		live_pair_metadata(
		    metadata, CLASS_TEXT, sizeof(CLASS_TEXT) - 1);
	else if (_i == 1)
		live_pair_beacon(data, 2 * GIVEN);
	else
		fixture_wait_ms(LIMIT_MS - 1);
	ck_assert_ptr_eq(fixture.pair.woken, _i == 0
						 ? (void *)metadata->metadata
					     : _i == 1 ? (void *)data->log
						       : NULL);
	ck_assert_int_eq(hold(fixture.data), LIVE_HOLD);
	announce(fixture.session, 0);
	if (_i == 0)
		live_pair_beacon(data, 2 * GIVEN);
	else if (_i == 1)
		live_pair_metadata(
		    metadata, CLASS_TEXT, sizeof(CLASS_TEXT) - 1);
	else
		fixture_wait_ms(1);
	ck_assert_int_eq(hold(fixture.data), LIVE_REPLY);
	ck_assert_uint_eq(
	    live_pair_index_of(&fixture.out).timestamp_end, 2 * GIVEN);
	ck_assert_uint_eq(
	    live_pair_index_of(&fixture.out).flags, LIVE_FLAG_NEW_STREAM);
	announce(fixture.session, 2);
	fixture_close();
}
END_TEST

/* What is older than its events is given, and bounds as far as that. */
START_TEST(the_past_does_not_wait)
{
	fixture_open_attached(true);
	fixture.pair.viewers.class_ns = VIEWER_CLASS_NS;
	later_packet(fixture.data, 0, GIVEN);
	later_packet(fixture.data, 1, 2 * GIVEN);
	live_pair_beacon(fixture.data, 3 * GIVEN);
	(void)live_pair_stream(fixture.session, "ust/2", "metadata", 0, 0);
	(void)live_pair_stream(fixture.session, "ust/2", "ch_0", 0, 0);
	session_publish(fixture.session);
	live_pair_deliver_all(&fixture.pair);
	live_pair_beacon(fixture.data, 4 * GIVEN);
	ck_assert_uint_eq(ask(fixture.data).timestamp_end, GIVEN);
	ck_assert_uint_eq(ask(fixture.data).timestamp_end, 2 * GIVEN);
	ck_assert_int_eq(hold(fixture.data), LIVE_REPLY);
	ck_assert_uint_eq(
	    live_pair_index_of(&fixture.out).timestamp_end, 3 * GIVEN);
	ck_assert_uint_eq(
	    live_pair_index_of(&fixture.out).status, LIVE_INDEX_INACTIVE);
	fixture_close();
}
END_TEST

/* A viewer shows nothing beyond the end of what it has of any stream: others
 * may run ahead of one that stays, if it has something of that. */
START_TEST(who_is_kept_by_another_stream_does_not_wait)
{
	struct stream *other;

	fixture_open_attached(true);
	other = live_pair_stream(fixture.session, "ust/uid", "ch_1", 0, 0);
	session_publish(fixture.session);
	live_pair_deliver_all(&fixture.pair);
	announce(fixture.session, 1);
	later_packet(fixture.data, 0, GIVEN);
	(void)ask(fixture.data);
	if (_i == 1) {
		later_packet(other, 0, GIVEN / 2);
		(void)ask(other);
	}
	fixture.pair.viewers.class_ns = VIEWER_CLASS_NS;
	metadata = live_pair_stream(fixture.session, "ust/2", "metadata", 0, 0);
	data = live_pair_stream(fixture.session, "ust/2", "ch_0", 0, 0);
	session_publish(fixture.session);
	live_pair_deliver_all(&fixture.pair);
	later_packet(fixture.data, 1, 2 * GIVEN);
	later_packet(other, _i == 0 ? 0 : 1, 2 * GIVEN);
	ck_assert_int_eq(hold(fixture.data), _i == 1 ? LIVE_REPLY : LIVE_HOLD);
	/* The last one waits: it, or the one that keeps. */
	ck_assert_int_eq(hold(other), _i == 1 ? LIVE_HOLD : LIVE_REPLY);
	fixture_close();
}
END_TEST

/* The end of a stream lets go of the others, too: it waits for what nothing was
 * heard of (0), and is told when the viewer has asked (1). */
START_TEST(an_end_is_not_told_too_early)
{
	uint64_t id;

	begin_silent();
	id = fixture_id(fixture.data);
	stream_close(fixture.data, 0);
	live_pair_deliver_all(&fixture.pair);
	ck_assert_int_eq(fixture_ask(LIVE_CMD_get_next_index, id), LIVE_HOLD);
	live_pair_metadata(metadata, CLASS_TEXT, sizeof(CLASS_TEXT) - 1);
	live_pair_beacon(data, 2 * GIVEN);
	ck_assert_uint_eq(
	    fixture_tell(LIVE_CMD_get_next_index, id), LIVE_INDEX_RETRY);
	ck_assert_uint_eq(
	    fixture_tell(LIVE_CMD_get_next_index, id), LIVE_INDEX_OK);
	ck_assert_uint_eq(live_pair_index_of(&fixture.out).packet_size, 0);
	if (_i == 0)
		announce(fixture.session, 2);
	/* Who does not ask gets the end. */
	ck_assert_uint_eq(
	    fixture_tell(LIVE_CMD_get_next_index, id), LIVE_INDEX_HUP);
	fixture_close();
}
END_TEST

/* At its limit, when it may not be held any more. */
START_TEST(a_hold_that_ends_tells_no_later_bound)
{
	begin_silent();
	live_pair_beacon(fixture.data, 3 * GIVEN);
	for (int i = 0; i < 10 && hold(fixture.data) == LIVE_REPLY; i++)
		;
	fixture_wait_ms(FIXTURE_PERIOD_US / 1000);
	ck_assert_uint_le(ask(fixture.data).timestamp_end, GIVEN);
	fixture_close();
}
END_TEST

/* Traces that are published one after another move the limit of all, but not
 * that of one answer. */
START_TEST(an_answer_does_not_wait_for_ever)
{
	struct live_how how;
	char path[16];
	int n = 0;

	begin_silent();
	later_packet(fixture.data, 1, 2 * GIVEN);
	how = (struct live_how){ .arrived_ns = clock_now_ns(),
		.may_hold = true };
	while (live_pair_ask(fixture.viewer,
		   &(struct live_request){ .cmd = LIVE_CMD_get_next_index,
		       .id = fixture_id(fixture.data) },
		   &how, &fixture.out, &fixture.held) == LIVE_HOLD) {
		snprintf(path, sizeof(path), "ust/more/%d", n++);
		(void)live_pair_stream(fixture.session, path, "metadata", 0, 0);
		(void)live_pair_stream(fixture.session, path, "ch_0", 0, 0);
		/* Nothing that came since is told to have come. */
		fixture.session->latest = GIVEN;
		session_publish(fixture.session);
		live_pair_deliver_all(&fixture.pair);
		fixture_wait_ms(1000);
		ck_assert_int_le(n, (int)(VIEWER_EARLY_NS / NS_PER_S));
	}
	ck_assert_uint_eq(
	    live_pair_index_of(&fixture.out).timestamp_end, 2 * GIVEN);
	fixture_close();
}
END_TEST

/* Two machines of one name, or a peer that lies: the times of one say nothing
 * of the other's. */
START_TEST(another_clock_keeps_nobody_waiting)
{
	struct live_pair_packet p = packet(0, GIVEN, GIVEN + 5, 2000, false);

	fixture_open_attached(true);
	live_pair_beacon(fixture.data, GIVEN + 2 * VIEWER_CLOCK_TICKS);
	(void)ask(fixture.data);
	add_process(fixture.session);
	announce(fixture.session, 2);
	if (_i == 0) {
		live_pair_beacon(data, GIVEN);
		ck_assert_uint_eq(ask(data).timestamp_end, GIVEN);
	} else {
		live_pair_packet(data, &p);
		ck_assert_uint_eq(ask(data).timestamp_begin, GIVEN);
	}
	fixture_close();
}
END_TEST

/* One index with a time far ahead: traces that come later are protected as
 * before. It is the second of the session's times (0), or the first (1). When
 * it is followed by more of the kind, the clock has gone on (2). */
START_TEST(one_false_time_says_nothing_of_the_session)
{
	const uint64_t ahead = GIVEN + 2 * SESSION_JUMP_TICKS;
	const struct stream *later;

	fixture_open_attached(true);
	if (_i != 1)
		live_pair_beacon(fixture.data, GIVEN);
	live_pair_beacon(fixture.data, _i == 0 ? UINT64_MAX : ahead);
	if (_i == 2)
		live_pair_beacon(fixture.data, ahead + 1);
	else
		live_pair_beacon(fixture.data, GIVEN + 1);
	(void)live_pair_stream(fixture.session, "ust/2", "metadata", 0, 0);
	later = live_pair_stream(fixture.session, "ust/2", "ch_0", 0, 0);
	session_publish(fixture.session);
	ck_assert_uint_eq(
	    later->live->time_before, _i == 2 ? ahead : (uint64_t)GIVEN + 1);
	fixture_close();
}
END_TEST

/* One request passes so many, and the rest is for the next one. */
START_TEST(empty_packets_are_passed_in_turns)
{
	struct live_pair_packet p;

	begin();
	for (uint64_t seq = 0; seq < 2 * VIEWER_PASSES_MAX; seq++) {
		p = packet(seq, GIVEN - 5, FLOOR - 1, 672, false);
		live_pair_packet(data, &p);
	}
	ck_assert_int_eq(hold(data), LIVE_REPLY);
	ck_assert_uint_eq(
	    live_pair_index_of(&fixture.out).status, LIVE_INDEX_RETRY);
	ck_assert_uint_eq(fixture.viewer->passed, VIEWER_PASSES_MAX);
	ck_assert_int_eq(hold(data), LIVE_REPLY);
	ck_assert_uint_eq(fixture.viewer->passed, 2 * VIEWER_PASSES_MAX);
	fixture_close();
}
END_TEST

/* What a listing counts, an attachment has, from the first moment on. */
START_TEST(listed_and_attached_are_the_same)
{
	fixture_open(true);
	(void)live_pair_stream(fixture.session, "ust/2", "metadata", 0, 0);
	(void)live_pair_stream(fixture.session, "ust/2", "ch_0", 0, 0);
	session_publish(fixture.session);
	(void)fixture_tell(LIVE_CMD_list_sessions, 0);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 4 + 16), 4);
	ck_assert_int_eq(fixture_ask_full(&(struct live_request){
			     .cmd = LIVE_CMD_attach_session,
			     .id = fixture.session->live->id,
			     .seek = LIVE_SEEK_LAST }),
	    LIVE_HOLD);
	ck_assert_uint_eq(
	    fixture.held.until_ns, clock_now_ns() + VIEWER_MESSAGE_NS);
	ck_assert_uint_eq(published(&fixture.session->live->clients), 0);
	live_pair_deliver_all(&fixture.pair);
	ck_assert_int_eq(fixture_ask_full(&(struct live_request){
			     .cmd = LIVE_CMD_attach_session,
			     .id = fixture.session->live->id,
			     .seek = LIVE_SEEK_LAST }),
	    LIVE_REPLY);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 0), LIVE_ATTACH_OK);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 4), 4);
	fixture_close();
}
END_TEST

int
main(void)
{
	const struct unit units[] = {
		{ a_packet_that_begins_late_begins_later, 2, 0 },
		{ it_does_so_when_its_file_is_gone, 0, 0 },
		{ files_stay_as_they_are, 0, 0 },
		{ until_one_begins_late_enough, 0, 0 },
		{ another_layout_is_left_alone, ARRAY_LEN(words), 0 },
		{ an_empty_packet_of_the_past_is_passed, 0, 0 },
		{ events_of_the_past_are_given, 0, 0 },
		{ no_bound_below_the_floor, 0, 0 },
		{ the_floor_is_what_was_given, 0, 0 },
		{ the_floor_is_what_had_come_before, 0, 0 },
		{ no_floor_where_none_is_known, 3, 0 },
		{ one_host_has_one_clock, 0, 0 },
		{ metadata_comes_with_a_class, 3, 0 },
		{ an_index_comes_when_its_class_is_there, 4, 0 },
		{ metadata_wakes_who_waits_for_it, 0, 0 },
		{ the_end_does_not_wait_for_a_class, 0, 0 },
		{ a_new_trace_is_announced_when_it_was_heard, 3, 0 },
		{ the_past_does_not_wait, 0, 0 },
		{ who_is_kept_by_another_stream_does_not_wait, 2, 0 },
		{ an_end_is_not_told_too_early, 2, 0 },
		{ a_hold_that_ends_tells_no_later_bound, 0, 0 },
		{ an_answer_does_not_wait_for_ever, 0, 0 },
		{ another_clock_keeps_nobody_waiting, 2, 0 },
		{ one_false_time_says_nothing_of_the_session, 3, 0 },
		{ empty_packets_are_passed_in_turns, 0, 0 },
		{ listed_and_attached_are_the_same, 0, 0 },
	};

	return unit_run("viewer_late", units, ARRAY_LEN(units));
}
