/* SPDX-License-Identifier: MIT */
/*
 * A reader holds the lock of an index file: the records of its stream wait,
 * viewers see each packet once and in order, and nothing is lost in silence.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "relayd/live/viewer_internal.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream.h"
#include "relayd/record/cycle.h"
#include "store/packet_log.h"
#include "store/store.h"
#include "tests/lib/unit.h"
#include "tests/relayd/fixture.h"

#define BYTES 64
#define PER_FILE 2
#define WHERE "host/one-20170714-024000/ust/uid/"

ssize_t __real_pwritev(int fd, const struct iovec *iov, int n, off_t offset);
ssize_t __wrap_pwritev(int fd, const struct iovec *iov, int n, off_t offset);

static struct stream *t;
static uint64_t id, sent;
static int lock = -1;
static bool is_full;

ssize_t
__wrap_pwritev(int fd, const struct iovec *iov, int n, off_t offset)
{
	if (is_full) {
		errno = ENOSPC;
		return -1;
	}
	return __real_pwritev(fd, iov, n, offset);
}

/* A viewer is attached to a stream with files of PER_FILE packets, in a ring
 * of COUNT (0: no ring). */
static void
begin(uint64_t count)
{
	fixture_open(false);
	fixture.pair.shard->store->config.index_lock_timeout_ns = NS_PER_S;
	t = live_pair_stream(
	    fixture.session, "ust/uid", "c", PER_FILE * BYTES, count);
	session_publish(fixture.session);
	live_pair_deliver_all(&fixture.pair);
	id = fixture_id(t);
	sent = 0;
	is_full = false;
	ck_assert_uint_eq(fixture_attach(fixture.viewer, LIVE_SEEK_BEGINNING),
	    LIVE_ATTACH_OK);
}

static void
tick(void)
{
	(void)cycle_tick(fixture.pair.shard, clock_now_ns());
}

static void
send_packets(uint64_t n)
{
	struct live_pair_packet p;

	for (; n > 0; n--) {
		p = fixture_packet(sent++);
		live_pair_packet(t, &p);
		tick();
	}
}

/* A reader takes the lock of index file NUMBER. */
static void
take_lock(unsigned number)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/" WHERE "index/c_%u.idx",
	    fixture.pair.dir, number);
	lock = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(lock, 0);
	ck_assert_int_eq(flock(lock, LOCK_SH | LOCK_NB), 0);
}

static void
drop_lock(void)
{
	close(lock);
	lock = -1;
	tick();
}

static void
end_stream(void)
{
	stream_close(t, sent - 1);
	live_pair_deliver_all(&fixture.pair);
}

static struct live_index
next_index(void)
{
	(void)fixture_tell(LIVE_CMD_get_next_index, id);
	return live_pair_index_of(&fixture.out);
}

static void
expect_packet(uint64_t seq)
{
	const struct live_pair_packet p = fixture_packet(seq);
	const struct live_index i = next_index();

	ck_assert_uint_eq(i.status, LIVE_INDEX_OK);
	ck_assert_uint_eq(i.timestamp_begin, p.begin);
	(void)live_pair_tell(fixture.viewer,
	    &(struct live_request){ .cmd = LIVE_CMD_get_packet,
		.id = id,
		.offset = i.offset,
		.length = BYTES },
	    &fixture.out);
	ck_assert(live_pair_is_packet(&fixture.out, 12, &p));
}

static void
expect_from(uint64_t first)
{
	for (uint64_t seq = first; seq < sent; seq++)
		expect_packet(seq);
}

EACH_TEST(NULL, fixture_close)

/* Records wait for the file that the stream writes, not for one that it has
 * left. */
TEST_ROWS(a_lock_across_a_roll_over_keeps_the_order, 2)
{
	begin(0);
	send_packets(1);
	take_lock(0);
	send_packets(1);
	expect_packet(0);
	ck_assert_uint_eq(next_index().status, LIVE_INDEX_RETRY);
	if (_i == 0)
		send_packets(2 * PER_FILE - 1);
	else
		end_stream();
	ck_assert_uint_eq(fixture.pair.shard->store->locks_forced, 1);
	expect_from(1);
	drop_lock();
	if (_i == 0)
		end_stream();
	ck_assert_uint_eq(next_index().status, LIVE_INDEX_HUP);
}

TEST(a_lock_that_is_kept_delays_for_its_time_only)
{
	begin(0);
	send_packets(1);
	take_lock(0);
	send_packets(1);
	fixture_wait_ms(999);
	tick();
	expect_packet(0);
	ck_assert_uint_eq(next_index().status, LIVE_INDEX_RETRY);
	fixture_wait_ms(1);
	tick();
	expect_from(1);
	ck_assert_uint_eq(fixture.pair.shard->store->locks_forced, 1);
	drop_lock();
	end_stream();
}

/* The disk is full when the lock is given back. */
TEST(records_that_are_lost_are_not_acknowledged)
{
	const struct shard *sh;

	begin(0);
	sh = fixture.pair.shard;
	send_packets(1);
	take_lock(0);
	send_packets(1);
	ck_assert_uint_eq(stream_pending(t, sent - 1), 1);
	is_full = true;
	drop_lock();
	is_full = false;
	ck_assert_uint_eq(sh->figures.packets_dropped, 1);
	ck_assert_uint_eq(stream_pending(t, sent - 1), RELAY_PENDING_UNKNOWN);
	ck_assert_uint_eq(stream_pending(t, sent - 1), 0); /* reported once */
	send_packets(1);
	expect_packet(0);
	expect_packet(sent - 1);
	end_stream();
}

int
main(void)
{
	log_set_level(LOG_ERROR);
	return unit_run();
}
