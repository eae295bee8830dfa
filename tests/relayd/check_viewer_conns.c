/* SPDX-License-Identifier: MIT */
/* Viewers on socket pairs: which viewer is served when, and what makes a held
 * reply go out. */
#include <event2/event.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "relayd/net/loop.h"
#include "relayd/record/session.h"
#include "relayd/record/stream.h"
#include "relayd/net/viewer_conn.h"
#include "store/packet_log.h"
#include "tests/lib/unit.h"
#include "tests/relayd/fixture.h"

static struct loop loop;
static struct viewer_conns set;
static struct account conns;

static void
on_message(struct message *m, void *arg)
{
}

static void
open_set(void)
{
	fixture_open(true);
	ck_assert_int_eq(loop_init(&loop, on_message, NULL), OK);
	viewer_conns_init(&set, &loop, &fixture.pair.viewers, 0);
}

static void
close_set(void)
{
	viewer_conns_destroy(&set);
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

static void
send_bytes(int fd, const void *p, size_t n)
{
	ck_assert_int_eq(send(fd, p, n, MSG_NOSIGNAL), (ssize_t)n);
}

static void
send_request(int fd, const struct live_request *q)
{
	struct buf b = { 0 };

	live_request_encode(&b, q);
	send_bytes(fd, buf_data(&b), buf_len(&b));
	buf_free(&b);
}

/* What has come, in fixture.out; 0: nothing, -1: closed. */
static ssize_t
receive(int fd)
{
	uint8_t *at;
	ssize_t n;

	turn();
	buf_consume(&fixture.out, buf_len(&fixture.out));
	at = buf_reserve(&fixture.out, 65536);
	n = recv(fd, at, 65536, MSG_DONTWAIT);
	if (n <= 0)
		return n == 0 ? -1 : 0;
	buf_added(&fixture.out, (size_t)n);
	return n;
}

static ssize_t
exchange(int fd, uint32_t cmd, uint64_t id)
{
	send_request(fd, &(struct live_request){ .cmd = cmd,
			     .id = id,
			     .major = 2,
			     .minor = 4,
			     .type = 1,
			     .seek = 2 });
	return receive(fd);
}

static int
connect_viewer(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	struct viewer_conn *c;
	int fds[2];

	ck_assert_int_eq(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	c = viewer_conn_create(fds[0], (struct sockaddr *)&address, &conns);
	ck_assert_ptr_nonnull(c);
	viewer_conn_attach(c, &set);
	ck_assert_int_eq(exchange(fds[1], LIVE_CMD_connect, 0), 20);
	ck_assert_int_eq(exchange(fds[1], LIVE_CMD_create_session, 0), 4);
	return fds[1];
}

static int
attach_viewer(const struct session *session)
{
	int fd = connect_viewer();

	ck_assert_int_ge(
	    exchange(fd, LIVE_CMD_attach_session, session->live->id), 8);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 0), LIVE_ATTACH_OK);
	return fd;
}

static ssize_t
ask_index(int fd)
{
	return exchange(fd, LIVE_CMD_get_next_index, fixture_id(fixture.data));
}

static void
until_held(int fd)
{
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(ask_index(fd), 64);
	ck_assert_int_eq(ask_index(fd), 0);
	ck_assert(!list_empty(&set.held));
}

static void
assert_released(int fd, uint32_t status, uint64_t offset)
{
	ck_assert_int_ge(receive(fd), 64);
	buf_truncate(&fixture.out, 64);
	ck_assert_uint_eq(live_pair_index_of(&fixture.out).status, status);
	ck_assert_uint_eq(live_pair_index_of(&fixture.out).offset, offset);
	ck_assert(list_empty(&set.held));
}

EACH_TEST(open_set, close_set)

TEST(a_packet_of_the_stream_ends_the_wait)
{
	struct live_pair_packet p = fixture_packet(0);
	int fd;

	fd = attach_viewer(fixture.session);
	until_held(fd);
	viewer_conns_wake(&set, &set); /* somebody else's */
	ck_assert_int_eq(receive(fd), 0);
	live_pair_packet(fixture.data, &p);
	viewer_conns_wake(&set, fixture.pair.woken);
	assert_released(fd, LIVE_INDEX_OK, 0);
	close(fd);
}

TEST(the_limit_ends_the_wait)
{
	uint64_t now;
	int fd;

	fd = attach_viewer(fixture.session);
	until_held(fd);
	now = clock_now_ns();
	ck_assert_uint_eq(viewer_conns_tick(&set, now + NS_PER_MS),
	    now + FIXTURE_PERIOD_US * UINT64_C(1000));
	ck_assert_int_eq(receive(fd), 0);
	fixture_wait_ms(FIXTURE_PERIOD_US / 1000);
	ck_assert_uint_eq(viewer_conns_tick(&set, clock_now_ns()), UINT64_MAX);
	assert_released(fd, LIVE_INDEX_RETRY, 0);
	close(fd);
}

/* 0: one byte, 1: half a request, 2: a whole DETACH. */
TEST_ROWS(any_byte_ends_the_wait, 3)
{
	static const size_t sizes[] = { 1, 20, 24 };
	struct buf b = { 0 };
	int fd;

	fd = attach_viewer(fixture.session);
	until_held(fd);
	live_request_encode(
	    &b, &(struct live_request){ .cmd = LIVE_CMD_detach_session,
		    .id = fixture.session->live->id });
	send_bytes(fd, buf_data(&b), sizes[_i]);
	assert_released(fd, LIVE_INDEX_RETRY, UINT64_C(1) << 32);
	ck_assert_uint_eq(published(&fixture.session->live->clients), _i < 2);
	buf_free(&b);
	close(fd);
}

/* The same when the byte came in one segment with the request. */
TEST(a_byte_that_is_there_already_forbids_to_hold)
{
	struct buf b = { 0 };
	int fd;

	fd = attach_viewer(fixture.session);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(ask_index(fd), 64);
	live_request_encode(
	    &b, &(struct live_request){ .cmd = LIVE_CMD_get_next_index,
		    .id = fixture_id(fixture.data) });
	buf_u8(&b, 0);
	send_bytes(fd, buf_data(&b), buf_len(&b));
	assert_released(fd, LIVE_INDEX_RETRY, UINT64_C(1) << 32);
	buf_free(&b);
	close(fd);
}

TEST(end_of_file_ends_the_wait)
{
	int fd;

	fd = attach_viewer(fixture.session);
	until_held(fd);
	close(fd);
	turn();
	ck_assert(list_empty(&set.conns));
	ck_assert_uint_eq(published(&fixture.session->live->clients), 0);
}

/* As the live worker does. */
static void
deliver_all(void)
{
	live_pair_deliver_all(&fixture.pair);
	viewer_conns_serve_events(&set);
}

static void
add_trace(struct session *session, const char *path)
{
	(void)live_pair_stream(session, path, "ch_0", 0, 0);
	(void)live_pair_stream(session, path, "metadata", 0, 0);
	session_publish(session);
}

TEST(a_publication_ends_the_wait_where_it_is_announced)
{
	struct session *other;
	int fd;

	other = live_pair_session(&fixture.pair, "two", 1000, false);
	deliver_all();
	fd = attach_viewer(fixture.session);
	until_held(fd);
	add_trace(other, "ust/uid");
	deliver_all();
	ck_assert_int_eq(receive(fd), 0);
	add_trace(fixture.session, "ust/2");
	deliver_all();
	assert_released(fd, LIVE_INDEX_RETRY, 0);
	ck_assert_uint_eq(
	    live_pair_index_of(&fixture.out).flags & 2, LIVE_FLAG_NEW_STREAM);
	close(fd);
}

/* Its request is not even looked at: looking would add the worker to those that
 * wait for the stream's log. */
TEST(events_of_other_sessions_cost_a_viewer_nothing)
{
	struct session *other;
	int fd;

	other = live_pair_session(&fixture.pair, "two", 1000, false);
	deliver_all();
	fd = attach_viewer(fixture.session);
	until_held(fd);
	ck_assert_uint_ne(waiters_take(&fixture.data->log->waiters), 0);
	add_trace(other, "ust/uid");
	session_end(other, false);
	deliver_all();
	ck_assert_uint_eq(waiters_take(&fixture.data->log->waiters), 0);
	ck_assert(!list_empty(&set.held));
	add_trace(fixture.session, "ust/2");
	deliver_all();
	assert_released(fd, LIVE_INDEX_RETRY, 0);
	close(fd);
}

/* Viewers of other sessions wait on: babeltrace2 would sleep after a reply that
 * says nothing. */
TEST(the_end_of_a_session_ends_the_wait_of_its_viewers)
{
	struct session *other;
	int fd, fd2;

	other = live_pair_session(&fixture.pair, "two", 1000000, false);
	deliver_all();
	fd = attach_viewer(fixture.session);
	until_held(fd);
	fd2 = attach_viewer(other);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(
		    exchange(fd2, LIVE_CMD_get_new_streams, other->live->id),
		    8);
	ck_assert_int_eq(
	    exchange(fd2, LIVE_CMD_get_new_streams, other->live->id), 0);
	session_end(other, false);
	deliver_all();
	ck_assert_int_eq(receive(fd2), 8);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 0), LIVE_STREAMS_HUP);
	ck_assert_int_eq(receive(fd), 0);
	close(fd);
	close(fd2);
}

/* W2: a viewer that does not continue is closed after a time. 0: it does not
 * read, 1: it sent half a request. */
TEST_ROWS(a_stalled_viewer_is_closed, 2)
{
	int fd;

	fd = connect_viewer();
	if (_i == 0)
		for (int i = 0; i < 2000; i++) {
			send_request(fd, &(struct live_request){
					     .cmd = LIVE_CMD_list_sessions });
			turn();
			if (set.n_busy > 0)
				break;
		}
	else
		send_bytes(fd, "12345", 5);
	turn();
	/* In the middle of a cycle, time is a little later than its start. */
	fixture_wait_ms(10);
	(void)viewer_conns_tick(&set, clock_now_ns() - 20 * NS_PER_MS);
	ck_assert(!list_empty(&set.conns));
	fixture_wait_ms(29000);
	ck_assert_uint_le(viewer_conns_tick(&set, clock_now_ns()),
	    clock_now_ns() + 2 * NS_PER_S);
	ck_assert(!list_empty(&set.conns));
	fixture_wait_ms(1000);
	(void)viewer_conns_tick(&set, clock_now_ns());
	ck_assert(list_empty(&set.conns));
	close(fd);
}

#define LISTED 400

/* Record I of the reply in B is of stream I + 2 of the session. */
static void
assert_listed(const struct buf *b, unsigned i)
{
	const size_t at = 8 + (i + 2) * (size_t)LIVE_STREAM_RECORD_LEN;
	char channel[16];

	(void)snprintf(channel, sizeof(channel), "c_%u", i);
	ck_assert_str_eq((const char *)buf_data(b) + at + 20 + 4096, channel);
}

/* Of a reply with many streams, only a piece is in memory: the rest is encoded
 * as it is read, also when the streams are closed meanwhile. */
TEST(a_long_list_is_encoded_as_it_is_read)
{
	const size_t whole = 8 + (LISTED + 2) * (size_t)LIVE_STREAM_RECORD_LEN;
	const struct viewer_conn *c;
	struct buf all = { 0 };
	char channel[16];
	int fd;

	for (unsigned i = 0; i < LISTED; i++) {
		(void)snprintf(channel, sizeof(channel), "c_%u", i);
		(void)live_pair_stream(
		    fixture.session, "ust/uid", channel, 0, 0);
	}
	session_publish(fixture.session);
	deliver_all();
	fd = connect_viewer();
	c = list_entry(set.conns.next, struct viewer_conn, node);
	(void)exchange(fd, LIVE_CMD_attach_session, fixture.session->live->id);
	ck_assert_uint_eq(set.n_busy, 1);
	ck_assert_uint_le(c->out.cap, LIVE_LIST_PIECE);
	ck_assert_uint_le(
	    account_used(&set.unsent), LIVE_LIST_PIECE + 8 * (LISTED + 2));
	session_end(fixture.session, false);
	deliver_all();
	do {
		buf_bytes(&all, buf_data(&fixture.out), buf_len(&fixture.out));
	} while (receive(fd) > 0);
	ck_assert_uint_eq(buf_len(&all), whole);
	ck_assert_uint_eq(live_pair_u32(&all, 4), LISTED + 2);
	for (unsigned i = 0; i < LISTED; i++)
		assert_listed(&all, i);
	ck_assert_uint_eq(set.n_busy, 0);
	ck_assert_uint_eq(account_used(&set.unsent), 0);
	buf_free(&all);
	close(fd);
}

/* Between requests it may be idle forever. */
TEST(an_idle_viewer_stays)
{
	int fd;

	fd = attach_viewer(fixture.session);
	fixture_wait_ms(3600000);
	ck_assert_uint_eq(viewer_conns_tick(&set, clock_now_ns()), UINT64_MAX);
	ck_assert_int_eq(ask_index(fd), 64);
	close(fd);
}
