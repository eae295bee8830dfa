/* SPDX-License-Identifier: MIT */
/* Live workers' threads end and start again, in this process or as in the next
 * one, and their viewers go on. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <urcu.h>

#include "common/buf.h"
#include "common/state.h"
#include "proto/live.h"
#include "relayd/live/live_objects.h"
#include "relayd/live_worker.h"
#include "tests/lib/unit.h"
#include "tests/relayd/restart.h"

#define VIEWERS 3

static int peers[VIEWERS];

static struct live_pool *
pool(unsigned n_workers)
{
	const struct live_config config = { .n_workers = n_workers,
		.max_conns = VIEWERS,
		.max_ended = 8,
		.max_memory = 1 << 28 };
	struct live_pool *p;

	ck_assert_int_eq(live_pool_create(&p, &config), OK);
	return p;
}

static void
ask(int fd, const struct live_request *q)
{
	struct buf b = { 0 };

	live_request_encode(&b, q);
	ck_assert_int_eq(send(fd, buf_data(&b), buf_len(&b), MSG_NOSIGNAL),
	    (ssize_t)buf_len(&b));
	buf_free(&b);
}

/* The last byte of a reply of N bytes, which ends at AT. */
static uint8_t
reply(int fd, size_t n, size_t at)
{
	uint8_t bytes[64];

	ck_assert_int_eq(recv(fd, bytes, n, MSG_WAITALL), (ssize_t)n);
	return bytes[at - 1];
}

static void
connect_viewers(struct live_pool *p)
{
	const struct sockaddr_in from = { .sin_family = AF_INET };
	int ends[2];

	for (unsigned i = 0; i < VIEWERS; i++) {
		ck_assert_int_eq(
		    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends),
		    0);
		live_pool_adopt(p, ends[0], (const struct sockaddr *)&from);
		peers[i] = ends[1];
		ask(peers[i], &(struct live_request){ .cmd = LIVE_CMD_connect,
				  .major = 2,
				  .minor = 4,
				  .type = LIVE_CLIENT_COMMAND });
		(void)reply(peers[i], 20, 8);
	}
}

static void
ask_all(void)
{
	for (unsigned i = 0; i < VIEWERS; i++)
		ask(peers[i],
		    &(struct live_request){ .cmd = LIVE_CMD_list_sessions });
}

static void
all_reply(uint8_t n)
{
	for (unsigned i = 0; i < VIEWERS; i++)
		ck_assert_uint_eq(reply(peers[i], 4, 4), n);
}

static void
close_all(struct live_pool *p)
{
	live_pool_stop(p);
	for (unsigned i = 0; i < VIEWERS; i++) {
		ck_assert_int_eq(recv(peers[i], &(char){ 0 }, 1, 0), 0);
		close(peers[i]);
	}
	rcu_unregister_thread();
}

TEST(the_same_threads_go_on)
{
	struct live_pool *p = pool(2);

	rcu_register_thread();
	ck_assert_int_eq(live_pool_run(p), OK);
	connect_viewers(p);
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(live_pool_freeze(p), OK);
		ask_all();
		ck_assert_int_eq(
		    recv(peers[0], &(char){ 0 }, 1, MSG_DONTWAIT), -1);
		ck_assert_int_eq(live_pool_run(p), OK);
		all_reply(0);
	}
	close_all(p);
}

TEST(the_next_process_goes_on)
{
	struct live_pool *p = pool(2), *next;
	unsigned taken = 0, closed = 0;
	struct state_out o = { 0 };
	struct state_in in;

	rcu_register_thread();
	ck_assert_int_eq(live_pool_run(p), OK);
	connect_viewers(p);
	for (unsigned n = 3; n > 0; n--) {
		ck_assert_int_eq(live_pool_freeze(p), OK);
		ask_all();
		live_pool_put_ids(&o, p);
		live_pool_put_state(&o, p);
		restart_read(&in, &o);
		next = pool(n);
		ck_assert_int_eq(live_pool_get_ids(next, &in), OK);
		live_pool_drain(next);
		ck_assert_int_eq(
		    live_pool_get_state(next, &in, &taken, &closed), OK);
		ck_assert_uint_eq(reader_left(&in.r), 0);
		restart_done(&in, &o);
		live_pool_stop(p);
		p = next;
		ck_assert_uint_eq(live_pool_viewers(p), VIEWERS);
		ck_assert_int_eq(live_pool_run(p), OK);
		all_reply(0);
	}
	ck_assert_uint_eq(taken, 3 * VIEWERS);
	ck_assert_uint_eq(closed, 0);
	ask(peers[0], &(struct live_request){ .cmd = LIVE_CMD_list_sessions });
	(void)reply(peers[0], 4, 4);
	close_all(p);
}

/* A pool that never ran is closed as well. */
TEST(a_pool_without_threads_is_closed)
{
	live_pool_stop(pool(4));
}
