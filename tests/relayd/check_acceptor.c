/* SPDX-License-Identifier: MIT */
/* Sessions are counted as long as they are there, whatever memory there is. */
#include "relayd/acceptor.h"

#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "proto/frame.h"
#include "proto/relay.h"
#include "relayd/process/options.h"
#include "tests/lib/fault.h"
#include "tests/lib/one_registry.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"

/* So few descriptors suffice for six sessions; there are more rounds. */
#define FD_POOL 128
#define SESSIONS 4
#define ROUNDS 12
/* The acceptor makes fewer for a connection and its session. */
#define ALLOCATIONS 12
#define PATIENCE_NS (10 * NS_PER_S)

static struct options options = {
	.control = { .family = AF_INET, .host = "127.0.0.1" },
	.data = { .family = AF_INET, .host = "127.0.0.1" },
	.live = { .family = AF_INET, .host = "127.0.0.1" },
	.workers = 1,
	.live_workers = 1,
	.fd_pool_size = FD_POOL,
	.max_memory = 1 << 28,
	.max_packet_size = 1 << 20,
};
static struct acceptor *acceptor;

static void
turn(void)
{
	(void)event_base_loop(
	    acceptor_base(acceptor), EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

/* A peer that has sent VERSION and CREATE_SESSION. */
static int
ask(void)
{
	const struct relay_session_request q = { .session_name = "s",
		.hostname = "host",
		.base_path = "",
		.uuid = { { 1 } },
		.creation_time = 1500000000,
		.trace_format = 1 };
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(acceptor_ports(acceptor).control) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct buf b = { 0 };

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	relay_request_version(&b, RELAY_MAJOR, 13);
	relay_request_create_session(&b, 13, &q);
	ck_assert_int_eq(
	    send(fd, buf_data(&b), buf_len(&b), 0), (ssize_t)buf_len(&b));
	buf_free(&b);
	return fd;
}

/* Was the session made? The acceptor serves until the relay has answered, or
 * has closed the connection. */
static bool
is_answered(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	const uint64_t until = clock_now_ns() + PATIENCE_NS;
	uint8_t reply[8 + 12];

	while (poll(&p, 1, 1) == 0) {
		ck_assert_uint_lt(clock_now_ns(), until);
		turn();
	}
	return recv(fd, reply, sizeof(reply), MSG_WAITALL) == sizeof(reply) &&
	       reply[8 + 11] == RELAY_OK;
}

/* Sessions at the same time: the acceptor has space for N. A moment
 * after a session's end it knows that it is gone. */
static void
serve(unsigned n)
{
	const uint64_t until = clock_now_ns() + PATIENCE_NS;
	int fds[SESSIONS];

	for (unsigned i = 0; i < n; i++) {
		fds[i] = ask();
		while (!is_answered(fds[i])) {
			ck_assert_uint_lt(clock_now_ns(), until);
			close(fds[i]);
			fds[i] = ask();
		}
	}
	while (n > 0)
		close(fds[--n]);
}

/* The N-th allocation of the acceptor fails for a peer that asks for a session.
 */
static void
drop(unsigned n)
{
	const int fd = ask();

	fault_arm(n);
	for (int i = 0; i < 4; i++)
		turn();
	(void)fault_disarm();
	close(fd);
	turn();
}

TEST(a_connection_dropped_for_lack_of_memory_is_not_counted)
{
	struct acceptor_disk disk = { .registry = one_registry() };
	struct acceptor_udp no_udp = { 0 };

	scratch_open();
	snprintf(
	    options.output, sizeof(options.output), "%s", scratch_path("out"));
	ck_assert_int_eq(mkdir(options.output, 0700), 0);
	disk.base_fd = open(options.output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(disk.base_fd, 0);
	ck_assert_int_eq(acceptor_create(&acceptor, &options, &no_udp), OK);
	ck_assert_int_eq(acceptor_prepare(acceptor, &disk), OK);
	ck_assert_int_eq(acceptor_start(acceptor), OK);
	for (unsigned i = 0; i < ROUNDS * ALLOCATIONS; i++) {
		serve(1);
		drop(i % ALLOCATIONS + 1);
	}
	serve(SESSIONS);
	acceptor_destroy(acceptor);
	close(disk.base_fd);
	scratch_close();
}

int
main(void)
{
	/* The event library is not linked with FAULT_LDFLAGS. */
	event_set_mem_functions(malloc, realloc, free);
	return unit_run();
}
