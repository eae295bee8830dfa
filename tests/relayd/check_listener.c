/* SPDX-License-Identifier: MIT */
#include "relayd/net/listener.h"

#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/compiler.h"
#include "relayd/net/udp_bind.h"
#include "relayd/process/listen_url.h"
#include "relayd/process/options.h"
#include "tests/lib/unit.h"

static int accepted = -1;

static void
on_accepted(int take_fd, const struct sockaddr *peer, void *arg)
{
	accepted = take_fd;
}

static int
number_of(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int value = -1;

	ck_assert_int_eq(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

static int
tcp(int name)
{
	return number_of(accepted, IPPROTO_TCP, name);
}

/* Accept a socket with the settings K. */
static void
accept_with(const struct keepalive *k)
{
	const struct listen_url url = { .family = AF_INET,
		.host = "127.0.0.1" };
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct listener *l;
	struct event_base *base = event_base_new();
	int listener = listener_open(&url, "test", LOG_ERROR);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_ptr_nonnull(base);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(
	    listener_create(&l, base, listener, "test", k, on_accepted, NULL),
	    OK);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	to.sin_port = htons(listen_url_port(listener));
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	while (accepted < 0)
		ck_assert_int_ge(event_base_loop(base, EVLOOP_ONCE), 0);
	close(fd);
	listener_destroy(l);
	event_base_free(base);
}

static const struct {
	struct keepalive k;
	int user_timeout; /* ms; -1: depends on the system */
} cases[] = {
	{ { .on = false, .idle = 3, .interval = 2, .count = 2 }, 0 },
	{ { .on = true, .idle = 3, .interval = 2, .count = 2 }, 7000 },
	{ { .on = true, .idle = 1, .interval = 1, .count = 1 }, 2000 },
	/* Sooner than the kernel gives up by itself, or not. */
	{ { .on = true, .idle = 900, .interval = 1, .count = 23 }, 923000 },
	{ { .on = true, .idle = 900, .interval = 1, .count = 24 }, 0 },
	{ { .on = true, .idle = 32767, .interval = 32767, .count = 127 }, 0 },
	/* The rest as the system has it. */
	{ { .on = true, .interval = 1, .count = 1 }, -1 },
	{ { .on = true, .idle = 1, .count = 1 }, -1 },
	{ { .on = true, .idle = 1, .interval = 1 }, -1 },
	{ { .on = true }, -1 },
};

TEST_ROWS(a_silent_peer_is_given_up_in_time, ARRAY_LEN(cases))
{
	const struct keepalive *k = &cases[_i].k;
	int wanted = cases[_i].user_timeout, s;

	accept_with(k);
	ck_assert_int_eq(
	    number_of(accepted, SOL_SOCKET, SO_KEEPALIVE) != 0, k->on);
	if (k->on && k->idle > 0)
		ck_assert_int_eq(tcp(TCP_KEEPIDLE), k->idle);
	if (k->on && k->interval > 0)
		ck_assert_int_eq(tcp(TCP_KEEPINTVL), k->interval);
	if (k->on && k->count > 0)
		ck_assert_int_eq(tcp(TCP_KEEPCNT), k->count);
	s = tcp(TCP_KEEPIDLE) + tcp(TCP_KEEPINTVL) * tcp(TCP_KEEPCNT);
	if (wanted < 0)
		wanted = s < LISTENER_RETRANSMISSION_S ? s * 1000 : 0;
	ck_assert_int_eq(tcp(TCP_USER_TIMEOUT), wanted);
	close(accepted);
}

TEST(the_viewers_port_knows_no_keep_alive)
{
	accept_with(NULL);
	ck_assert_int_eq(number_of(accepted, SOL_SOCKET, SO_KEEPALIVE), 0);
	ck_assert_int_eq(tcp(TCP_USER_TIMEOUT), 0);
	ck_assert_int_ne(tcp(TCP_NODELAY), 0);
	close(accepted);
}

/* All sockets, or none: numbers that were closed may be others' by now. */
TEST(udp_sockets_that_were_closed_are_forgotten)
{
	const struct listen_url url = { .family = AF_INET,
		.host = "127.0.0.1" };
	struct rlimit before, few;
	int fds[3] = { -1, -1, -1 };
	uint16_t port;
	int lowest = dup(0);

	ck_assert_int_ge(lowest, 0);
	close(lowest);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = (rlim_t)lowest + 2;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	ck_assert_int_eq(udp_bind(fds, 3, &url, 0, &port), E_IO);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	for (unsigned i = 0; i < ARRAY_LEN(fds); i++)
		ck_assert_int_eq(fds[i], -1);
}
