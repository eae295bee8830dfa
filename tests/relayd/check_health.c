/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "relayd/net/health.h"
#include "relayd/process/unix_socket.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/lib/unit.h"

#define MASK UINT64_C(0x8000000000000021)
#define SENDS_AT_NS (3 * NS_PER_S)

static char dir[] = "/tmp/check_health.XXXXXX";
static char path[sizeof(dir) + 8];
static struct event_base *base;
static struct health *health;
static int asked;

static uint64_t
mask(void *arg)
{
	asked++;
	return *(uint64_t *)arg;
}

static uint64_t mask_value = MASK;

static enum status
create(struct health **out)
{
	const struct health_config config = {
		.path = path,
		.group = geteuid() == 0 ? 0 : HEALTH_NO_GROUP,
		.mask = mask,
		.arg = &mask_value,
	};

	return health_create(out, base, &config);
}

static void
open_health(void)
{
	/* It may have been opened and closed before. */
	memset(dir + sizeof(dir) - sizeof("XXXXXX"), 'X', 6);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/health", dir);
	base = event_base_new();
	ck_assert_ptr_nonnull(base);
	ck_assert_int_eq(create(&health), OK);
}

static void
close_health(void)
{
	if (base == NULL)
		return;
	health_destroy(health);
	event_base_free(base);
	base = NULL;
	ck_assert_int_eq(access(path, F_OK), -1);
	ck_assert_int_eq(rmdir(dir), 0);
}

static int
dial(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static void
turn(void)
{
	for (int i = 0; i < 10; i++)
		ck_assert_int_ge(event_base_loop(base, EVLOOP_NONBLOCK), 0);
}

/* Bytes of the answer; 0: closed without an answer; -1: nothing yet. */
static int
answer(int fd, uint64_t *value)
{
	unsigned char buf[64];
	ssize_t n;

	turn();
	n = recv(fd, buf, sizeof(buf), 0);
	if (n == sizeof(*value))
		memcpy(value, buf, sizeof(*value));
	if (n < 0 && errno == ECONNRESET)
		return 0;
	return (int)n;
}

static void
ask(int fd)
{
	const uint32_t command = 0;

	ck_assert_int_eq(send(fd, &command, 4, 0), 4);
}

static void
check_honest_client(void)
{
	uint64_t value = 0;
	int fd = dial();

	ask(fd);
	ck_assert_int_eq(answer(fd, &value), 8);
	ck_assert_uint_eq(value, MASK);
	ck_assert_int_eq(answer(fd, &value), 0);
	close(fd);
}

EACH_TEST(NULL, close_health)

TEST(a_client_gets_the_mask_and_is_closed)
{
	open_health();
	check_honest_client();
	mask_value = 0;
	{
		uint64_t value = 1;
		int fd = dial();

		ask(fd);
		ck_assert_int_eq(answer(fd, &value), 8);
		ck_assert_uint_eq(value, 0);
		close(fd);
	}
	ck_assert_int_eq(asked, 2);
}

TEST(a_request_may_come_byte_by_byte)
{
	uint64_t value = 0;
	int fd;

	open_health();
	fd = dial();
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(answer(fd, &value), -1);
		ck_assert_int_eq(send(fd, "", 1, 0), 1);
	}
	ck_assert_int_eq(answer(fd, &value), 8);
	ck_assert_uint_eq(value, MASK);
	close(fd);
}

/* Sends, then closes one side or both; what comes back is nothing. */
static const struct {
	const char *bytes;
	size_t n;
	bool shut;
} hostile[] = {
	{ "\1\0\0\0", 4, false },
	{ "\0\0\0\1", 4, false },
	{ "\377\377\377\377", 4, false },
	{ "GET / HTTP/1.1\r\n\r\n", 18, false },
	{ "", 0, true },
	{ "\0\0\0", 3, true },
};

TEST_ROWS(hostile_clients_are_closed_without_an_answer, ARRAY_LEN(hostile))
{
	uint64_t value;
	int fd;

	open_health();
	fd = dial();
	ck_assert_int_eq(
	    send(fd, hostile[_i].bytes, hostile[_i].n, MSG_NOSIGNAL),
	    (int)hostile[_i].n);
	if (hostile[_i].shut)
		ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
	ck_assert_int_eq(answer(fd, &value), 0);
	ck_assert_int_eq(asked, 0);
	close(fd);
	check_honest_client();
}

TEST(a_client_that_leaves_before_the_answer_does_no_harm)
{
	int fd;

	open_health();
	fd = dial();
	ask(fd);
	close(fd);
	turn();
	ck_assert_int_eq(asked, 1);
	check_honest_client();
}

TEST(extra_bytes_do_not_spoil_the_answer)
{
	uint64_t value = 0;
	int fd;

	open_health();
	fd = dial();
	ck_assert_int_eq(send(fd, "\0\0\0\0more", 8, 0), 8);
	ck_assert_int_eq(answer(fd, &value), 8);
	ck_assert_uint_eq(value, MASK);
	close(fd);
}

/* When a client is dropped that sends one byte after SENDS_AT_NS; UINT64_MAX:
 * it could not send it before. */
static uint64_t
drop_silent(void)
{
	const uint64_t start = clock_now_ns();
	uint64_t value, took;
	bool has_sent = false;
	int fd;

	open_health();
	fd = dial();
	while (answer(fd, &value) == -1) {
		took = clock_now_ns() - start;
		ck_assert_uint_lt(took, 30 * NS_PER_S);
		if (took > SENDS_AT_NS && !has_sent) {
			ck_assert_int_eq(send(fd, "", 1, 0), 1);
			has_sent = true;
		}
		usleep(20 * 1000);
	}
	took = clock_now_ns() - start;
	ck_assert_uint_ge(took, HEALTH_TIMEOUT_S * NS_PER_S - NS_PER_S / 10);
	ck_assert_int_eq(asked, 0);
	close(fd);
	close_health();
	return has_sent ? took : UINT64_MAX;
}

/* One byte in between does not buy more time. A busy machine may be late by
 * itself, but not each time. */
TEST(a_silent_client_is_dropped_after_five_seconds)
{
	const uint64_t limit = SENDS_AT_NS + HEALTH_TIMEOUT_S * NS_PER_S;
	uint64_t took = drop_silent();

	for (int tries = 1; tries < 5 && took >= limit; tries++)
		took = drop_silent();
	ck_assert_uint_lt(took, limit);
}

TEST(the_oldest_silent_client_is_dropped_first)
{
	int fds[HEALTH_CLIENTS_MAX];
	uint64_t value;

	open_health();
	for (int i = 0; i < HEALTH_CLIENTS_MAX; i++) {
		fds[i] = dial();
		turn();
	}
	check_honest_client();
	ck_assert_int_eq(answer(fds[0], &value), 0);
	for (int i = 1; i < HEALTH_CLIENTS_MAX; i++) {
		ck_assert_int_eq(answer(fds[i], &value), -1);
		ask(fds[i]);
		ck_assert_int_eq(answer(fds[i], &value), 8);
	}
	for (int i = 0; i < HEALTH_CLIENTS_MAX; i++)
		close(fds[i]);
}

TEST(out_of_descriptors_it_accepts_again_later)
{
	struct rlimit limit;
	const uint64_t start = clock_now_ns();
	uint64_t value = 0;
	int fd, answered;

	open_health();
	fd = dial();
	ask(fd);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(answer(fd, &value), -1);
	limit.rlim_cur = limit.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	while ((answered = answer(fd, &value)) == -1) {
		ck_assert_uint_lt(clock_now_ns() - start, 30 * NS_PER_S);
		usleep(20 * 1000);
	}
	ck_assert_int_eq(answered, 8);
	close(fd);
}

TEST(the_group_may_connect)
{
	struct stat st;

	open_health();
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert(S_ISSOCK(st.st_mode));
	if (geteuid() == 0)
		ck_assert_uint_eq(st.st_mode & 07777, 0660);
}

TEST(a_dead_socket_is_replaced_a_live_one_is_not)
{
	struct health *second;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	open_health();
	ck_assert_int_eq(create(&second), E_EXISTS);
	ck_assert_ptr_null(second);
	check_honest_client();
	health_destroy(health);

	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	close(fd);
	ck_assert_int_eq(create(&health), OK);
	check_honest_client();
}

TEST(a_file_that_is_not_a_socket_is_left_alone)
{
	struct health *second;
	int fd;

	open_health();
	health_destroy(health);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert(!unix_socket_remove_stale(path));
	ck_assert_int_eq(create(&second), E_EXISTS);
	ck_assert_int_eq(unlink(path), 0);
	health = NULL;
}

TEST(the_socket_of_a_successor_is_not_removed)
{
	struct health *second;

	open_health();
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(create(&second), OK);
	health_destroy(health);
	ck_assert_int_eq(access(path, F_OK), 0);
	health = second;
	check_honest_client();
}

TEST(a_path_that_does_not_fit_is_refused)
{
	struct health *h;
	char long_path[200];
	struct health_config config = { .path = long_path, .mask = mask };

	base = event_base_new();
	memset(long_path, 'x', sizeof(long_path));
	long_path[0] = '/';
	long_path[108] = '\0';
	ck_assert_int_eq(health_create(&h, base, &config), E_LIMIT);
	ck_assert_ptr_null(h);
	event_base_free(base);
	base = NULL;
}
