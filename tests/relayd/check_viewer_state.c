/* SPDX-License-Identifier: MIT */
/* Viewers' connections go on after a restart, whatever they were doing; damaged
 * states are refused. */
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fds.h"
#include "relayd/live/viewer_internal.h"
#include "relayd/net/loop.h"
#include "relayd/net/viewer_conn.h"
#include "relayd/record/session.h"
#include "relayd/record/stream.h"
#include "tests/lib/unit.h"
#include "tests/relayd/fixture.h"
#include "tests/relayd/restart.h"

#define LARGE (512 * 1024)

static struct loop loop;
static struct viewer_conns set;
static struct account conns;
static uint8_t received[2 * LARGE];

static void
on_message(struct message *m, void *arg)
{
}

static void
open_set(void)
{
	fixture_open(true);
	viewer_destroy(fixture.viewer);
	conns = (struct account){ .soft = 100, .hard = 100 };
	ck_assert_int_eq(loop_init(&loop, on_message, NULL), OK);
	viewer_conns_init(&set, &loop, &fixture.pair.viewers, 0);
}

static void
close_set(void)
{
	viewer_conns_destroy(&set);
	ck_assert_uint_eq(account_used(&conns), 0);
	ck_assert_uint_eq(account_used(&set.unsent), 0);
	ck_assert_uint_eq(set.n_busy, 0);
	ck_assert_uint_eq(account_used(&fixture.pair.viewers.memory), 0);
	ck_assert_uint_eq(account_used(&fixture.pair.viewers.files.kept), 0);
	loop_destroy(&loop);
	fixture_close();
}

static void
turn(void)
{
	for (int i = 0; i < 3; i++)
		ck_assert_int_ge(
		    event_base_loop(loop.base, EVLOOP_NONBLOCK), 0);
}

static int
connect_viewer(void)
{
	const struct sockaddr_in from = { .sin_family = AF_INET };
	const int small = 4096;
	int ends[2];

	ck_assert_int_eq(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
	ck_assert_int_eq(
	    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)),
	    0);
	ck_assert(account_take(&conns, 1));
	viewer_conn_attach(
	    viewer_conn_create(ends[0], (const struct sockaddr *)&from, &conns),
	    &set);
	return ends[1];
}

static void
send_bytes(int fd, const void *p, size_t n)
{
	ck_assert_int_eq(send(fd, p, n, MSG_NOSIGNAL), (ssize_t)n);
}

static size_t
encode(uint8_t to[64], const struct live_request *q)
{
	struct buf b = { 0 };
	size_t n;

	live_request_encode(&b, q);
	n = buf_len(&b);
	ck_assert_uint_le(n, 64);
	memcpy(to, buf_data(&b), n);
	buf_free(&b);
	return n;
}

static void
ask(int fd, const struct live_request *q)
{
	uint8_t bytes[64];
	const size_t n = encode(bytes, q);

	send_bytes(fd, bytes, n);
	turn();
}

/* All that comes until there is no more, from FROM in RECEIVED. */
static size_t
receive(int fd, size_t from)
{
	ssize_t n;

	for (;;) {
		turn();
		n = recv(
		    fd, received + from, sizeof(received) - from, MSG_DONTWAIT);
		if (n <= 0)
			return from;
		from += (size_t)n;
	}
}

static uint32_t
word(size_t at)
{
	return (uint32_t)received[at] << 24 | (uint32_t)received[at + 1] << 16 |
	       (uint32_t)received[at + 2] << 8 | received[at + 3];
}

/* A viewer as babeltrace2, attached, that has read the metadata. */
static int
attached(void)
{
	const int fd = connect_viewer();
	const uint64_t session = fixture.session->live->id;

	ask(fd, &(struct live_request){ .cmd = LIVE_CMD_connect,
		    .major = 2,
		    .minor = 4,
		    .type = LIVE_CLIENT_COMMAND });
	ck_assert_uint_eq(receive(fd, 0), 20);
	ask(fd, &(struct live_request){ .cmd = LIVE_CMD_create_session });
	ck_assert_uint_eq(receive(fd, 0), 4);
	ask(fd, &(struct live_request){ .cmd = LIVE_CMD_attach_session,
		    .id = session,
		    .seek = LIVE_SEEK_BEGINNING });
	ck_assert_uint_eq(receive(fd, 0), 8 + 2 * LIVE_STREAM_RECORD_LEN);
	ck_assert_uint_eq(word(0), LIVE_ATTACH_OK);
	ask(fd, &(struct live_request){ .cmd = LIVE_CMD_get_metadata,
		    .id = fixture_id(fixture.metadata) });
	ck_assert_uint_eq(receive(fd, 0), 12 + FIXTURE_METADATA_LEN);
	return fd;
}

static struct live_request
next_index(void)
{
	return (struct live_request){ .cmd = LIVE_CMD_get_next_index,
		.id = fixture_id(fixture.data) };
}

static void
put_set(struct state_out *o)
{
	viewers_put_state(o, &fixture.pair.viewers);
	viewer_conns_put_state(o, &set);
}

static enum status
get_set(struct state_in *in, unsigned *taken, unsigned *closed)
{
	enum status st;
	struct viewers *vs = &fixture.pair.viewers;
	const uint64_t hard = set.unsent.hard;

	viewer_conns_destroy(&set);
	restart_viewers(vs);
	viewer_conns_init(&set, &loop, vs, 0);
	set.unsent.hard = hard;
	st = viewers_get_state(vs, in, &fixture.pair.notifier);
	if (st == OK)
		st = viewer_conns_get_state(
		    &set, in, &conns, &fixture.pair.notifier, taken, closed);
	viewer_conns_begin(&set);
	return st;
}

/* EXPECTED connections go on, and no bytes are left over. */
static void
restart(unsigned expected)
{
	unsigned taken = 0, closed = 0;
	struct state_out o = { 0 };
	struct state_in in;

	put_set(&o);
	restart_read(&in, &o);
	ck_assert_int_eq(get_set(&in, &taken, &closed), OK);
	ck_assert_uint_eq(taken, expected);
	ck_assert_uint_eq(closed, 0);
	ck_assert(!in.r.bad && reader_left(&in.r) == 0);
	restart_done(&in, &o);
}

TEST(half_a_request_is_completed)
{
	uint8_t bytes[64];
	struct live_request q;
	size_t n;
	int fd;

	open_set();
	fd = attached();
	q = next_index();
	n = encode(bytes, &q);
	for (size_t i = 0; i < n - 1; i++) {
		send_bytes(fd, bytes + i, 1);
		turn();
		restart(1);
	}
	live_pair_packet(fixture.data,
	    &(struct live_pair_packet){ .bytes = 64, .begin = 10, .end = 90 });
	send_bytes(fd, bytes + n - 1, 1);
	ck_assert_uint_eq(receive(fd, 0), 64);
	ck_assert_uint_eq(word(56), LIVE_INDEX_OK);
	close(fd);
	close_set();
}

TEST(a_held_request_is_answered)
{
	const struct live_pair_packet p = {
		.bytes = 64, .begin = 10, .end = 90
	};
	struct live_request q;
	int fd;

	open_set();
	fd = attached();
	q = next_index();
	for (int i = 0; i < 3; i++) {
		ask(fd, &q);
		ck_assert_uint_eq(receive(fd, 0), 64);
		ck_assert_uint_eq(word(56), LIVE_INDEX_RETRY);
	}
	ask(fd, &q);
	ck_assert_uint_eq(receive(fd, 0), 0);
	ck_assert(!list_empty(&set.held));
	for (int i = 0; i < 3; i++) {
		restart(1);
		ck_assert_uint_eq(receive(fd, 0), 0);
	}
	live_pair_packet(fixture.data, &p);
	viewer_conns_wake(&set, fixture.pair.woken);
	ck_assert_uint_eq(receive(fd, 0), 64);
	ck_assert_uint_eq(word(56), LIVE_INDEX_OK);
	/* Its limit is that of the request, not of the restart. */
	for (int i = 0; i < 3; i++) {
		ask(fd, &q);
		ck_assert_uint_eq(receive(fd, 0), 64);
	}
	ask(fd, &q);
	ck_assert_uint_eq(receive(fd, 0), 0);
	fixture_wait_ms(150);
	restart(1);
	fixture_wait_ms(50);
	(void)viewer_conns_tick(&set, clock_now_ns());
	ck_assert_uint_eq(receive(fd, 0), 64);
	ck_assert_uint_eq(word(56), LIVE_INDEX_RETRY);
	close(fd);
	close_set();
}

/* A packet whose file is removed while its reply is being sent. */
TEST(a_reply_that_is_half_sent_is_sent_once)
{
	const struct live_pair_packet p = {
		.bytes = LARGE, .begin = 10, .end = 90, .tag = 5
	};
	struct live_request q;
	struct buf got = { 0 };
	size_t n = 0;
	int fd;

	open_set();
	fd = attached();
	live_pair_packet(fixture.data, &p);
	q = next_index();
	ask(fd, &q);
	ck_assert_uint_eq(receive(fd, 0), 64);
	restart(1);
	ask(fd, &(struct live_request){ .cmd = LIVE_CMD_get_packet,
		    .id = fixture_id(fixture.data),
		    .length = LARGE });
	live_pair_remove(&fixture.pair, "host");
	for (ssize_t more = 1; more > 0; n += (size_t)more) {
		restart(1);
		turn();
		more = recv(fd, received + n, 30000, MSG_DONTWAIT);
		if (more < 0)
			break;
	}
	ck_assert_uint_eq(n, 12 + LARGE);
	buf_bytes(&got, received, n);
	ck_assert(live_pair_is_packet(&got, 12, &p));
	buf_free(&got);
	close(fd);
	close_set();
}

TEST(a_list_that_is_half_sent_is_sent_once)
{
	size_t n = 0, whole;
	uint8_t *first;
	ssize_t more;
	int fd;

	open_set();
	for (int i = 0; i < 300; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "session-%d", i);
		(void)live_pair_session(&fixture.pair, name, 1000000, false);
	}
	live_pair_deliver_all(&fixture.pair);
	fd = attached();
	ask(fd, &(struct live_request){ .cmd = LIVE_CMD_list_sessions });
	whole = receive(fd, 0);
	ck_assert_uint_gt(whole, 300 * 300);
	first = malloc(whole);
	ck_assert_ptr_nonnull(first);
	memcpy(first, received, whole);
	ask(fd, &(struct live_request){ .cmd = LIVE_CMD_list_sessions });
	do {
		restart(1);
		turn();
		more = recv(fd, received + n, 10000, MSG_DONTWAIT);
		n += more > 0 ? (size_t)more : 0;
	} while (more > 0);
	ck_assert_uint_eq(n, whole);
	ck_assert_mem_eq(received, first, whole);
	free(first);
	close(fd);
	close_set();
}

/* Bytes that were kept in memory when descriptors were short move, too. */
TEST(a_promised_packet_is_kept)
{
	const struct live_pair_packet p = {
		.bytes = 4096, .begin = 10, .end = 90, .tag = 7
	};
	struct live_request q;
	struct position *at;
	struct buf got = { 0 };
	struct viewer *v;
	int fd;

	open_set();
	fd = attached();
	live_pair_packet(fixture.data, &p);
	q = next_index();
	ask(fd, &q);
	ck_assert_uint_eq(receive(fd, 0), 64);
	v = list_first(&fixture.pair.viewers.all, struct viewer, node);
	at = viewer_position(v, fixture_id(fixture.data));
	at->part.bytes = calloc(1, 4096);
	ck_assert_ptr_nonnull(at->part.bytes);
	ck_assert(account_take(&fixture.pair.viewers.files.kept, 4096));
	ck_assert_int_eq(
	    pread(at->file->data_fd, at->part.bytes, 4096, 0), 4096);
	close(at->file->data_fd);
	at->file->data_fd = -1;
	fds_give(FDS_VIEWER_FILES);
	live_pair_remove(&fixture.pair, "host");
	restart(1);
	ask(fd, &(struct live_request){ .cmd = LIVE_CMD_get_packet,
		    .id = fixture_id(fixture.data),
		    .length = 4096 });
	buf_bytes(&got, received, receive(fd, 0));
	ck_assert(live_pair_is_packet(&got, 12, &p));
	buf_free(&got);
	close(fd);
	close_set();
}

TEST(more_viewers_than_may_be_are_closed)
{
	unsigned taken = 0, closed = 0;
	struct state_out o = { 0 };
	struct state_in in;
	int peers[3];

	open_set();
	for (int i = 0; i < 3; i++)
		peers[i] = attached();
	put_set(&o);
	restart_read(&in, &o);
	conns.hard = 2;
	unit_capture_stderr();
	ck_assert_int_eq(get_set(&in, &taken, &closed), OK);
	restart_done(&in, &o);
	ck_assert_uint_eq(taken, 2);
	ck_assert_uint_eq(closed, 1);
	for (int i = 0; i < 3; i++) {
		if (i < 2)
			ask(peers[i], &(struct live_request){
					  .cmd = LIVE_CMD_list_sessions });
		ck_assert_int_eq(receive(peers[i], 0) > 0, i < 2);
		close(peers[i]);
	}
	close_set();
}

/* The state of viewers in many states, with one byte changed or with its end
 * missing, in each place: viewers are closed, or go on with other values. */
static void
damaged(struct state_out *o, size_t at, uint8_t flip)
{
	unsigned taken = 0, closed = 0;
	struct state_in in;

	o->buf.mem[o->buf.start + at] ^= flip;
	restart_read(&in, o);
	if (flip == 0)
		in.r = reader_over(buf_data(&o->buf), at);
	if (get_set(&in, &taken, &closed) == OK)
		ck_assert_uint_le(taken + closed, 3);
	turn();
	state_in_free(&in);
	o->buf.mem[o->buf.start + at] ^= flip;
}

TEST(damaged_states_are_refused)
{
	static const uint8_t flips[] = { 0, 1, 0x80, 0xff };
	const struct live_pair_packet p = {
		.bytes = LARGE, .begin = 10, .end = 90
	};
	struct state_out o = { 0 };
	struct state_in none = { 0 };
	struct live_request q;
	int held, sending, half;

	open_set();
	held = attached();
	sending = attached();
	half = attached();
	q = next_index();
	for (int i = 0; i < 4; i++)
		ask(held, &q);
	live_pair_packet(fixture.data, &p);
	ask(sending, &q);
	ask(sending, &(struct live_request){ .cmd = LIVE_CMD_get_packet,
			 .id = fixture_id(fixture.data),
			 .length = LARGE });
	send_bytes(half, "\0\0", 2);
	turn();
	unit_capture_stderr();
	put_set(&o);
	ck_assert_uint_gt(o.n_fds, 3);
	for (uint32_t i = 0; i < o.n_fds; i++)
		o.fds[i] = dup(o.fds[i]);
	for (size_t i = 0; i < sizeof(flips); i++)
		for (size_t at = 0; at < buf_len(&o.buf); at++)
			damaged(&o, at, flips[i]);
	close_set();
	for (uint32_t i = 0; i < o.n_fds; i++)
		close(o.fds[i]);
	restart_done(&none, &o);
	close(held);
	close(sending);
	close(half);
}
