/* SPDX-License-Identifier: MIT */
/* A host with two addresses, of which the first answers nothing at all. */
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/lib/unit.h"
#include "tools/client/client_internal.h"

#define CONNECT_MS 50
/* More than a listener with a backlog of 0 takes. */
#define CROWD 4

struct silent {
	int listener, crowd[CROWD];
	uint16_t port;
};

static int
bind_any(struct sockaddr_in *a)
{
	socklen_t len = sizeof(*a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	*a = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	ck_assert_int_eq(bind(fd, (struct sockaddr *)a, len), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)a, &len), 0);
	return fd;
}

/* Whose backlog is full: the kernel drops what else would connect. */
static void
fall_silent(struct silent *s)
{
	struct sockaddr_in a;

	s->listener = bind_any(&a);
	s->port = ntohs(a.sin_port);
	ck_assert_int_eq(listen(s->listener, 0), 0);
	for (int i = 0; i < CROWD; i++) {
		s->crowd[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)connect(s->crowd[i], (struct sockaddr *)&a, sizeof(a));
	}
}

static void
end_silence(struct silent *s)
{
	for (int i = 0; i < CROWD; i++)
		close(s->crowd[i]);
	close(s->listener);
}

/* Connecting to S; OTHER: the port at the second address, 0: there is none. */
static struct client *
start(const struct silent *s, uint16_t other)
{
	const struct client_config config = {
		.url = { .family = AF_INET,
		    .host = "127.0.0.1",
		    .control = s->port },
		.session_name = "s",
		.hostname = "h",
		.connect_ms = CONNECT_MS,
	};
	struct client *c;

	ck_assert_int_eq(client_create(&c, &config), OK);
	ck_assert_int_eq(client_start(c), OK);
	if (other != 0)
		c->addresses[c->n_addresses++] = url_with_port(
		    &c->addresses[0], other);
	return c;
}

START_TEST(a_silent_address_is_left_in_time)
{
	struct sockaddr_in a;
	struct silent s;
	struct client *c;
	int other = bind_any(&a);

	ck_assert_int_eq(listen(other, 1), 0);
	fall_silent(&s);
	c = start(&s, ntohs(a.sin_port));
	ck_assert_int_eq(client_connect_elsewhere(
			     c, c->moved_ns + CONNECT_MS * NS_PER_MS - 1),
	    OK);
	ck_assert_uint_eq(c->address, 0);
	ck_assert_int_eq(
	    client_connect_elsewhere(c, c->moved_ns + CONNECT_MS * NS_PER_MS),
	    OK);
	ck_assert_uint_eq(c->address, 1);
	for (int i = 0; i < 1000 && c->phase == CLIENT_CONNECT; i++)
		ck_assert_int_eq(client_work(c, 1), OK);
	ck_assert_int_eq(c->phase, CLIENT_VERSION);
	client_destroy(c);
	end_silence(&s);
	close(other);
}
END_TEST

START_TEST(the_last_address_is_waited_for)
{
	struct silent s;
	struct client *c;

	fall_silent(&s);
	c = start(&s, 0);
	ck_assert_int_eq(
	    client_connect_elsewhere(c, c->moved_ns + NS_PER_S), OK);
	ck_assert_uint_eq(c->address, 0);
	ck_assert_int_ge(c->control, 0);
	client_destroy(c);
	end_silence(&s);
}
END_TEST

START_TEST(who_waits_goes_on_by_itself)
{
	struct sockaddr_in a;
	struct silent s;
	struct client *c;
	int other = bind_any(&a); /* does not listen */

	fall_silent(&s);
	c = start(&s, ntohs(a.sin_port));
	ck_assert_int_eq(client_open(c), E_IO);
	ck_assert_ptr_nonnull(strstr(client_error(c), "refused"));
	client_destroy(c);
	end_silence(&s);
	close(other);
}
END_TEST

int
main(void)
{
	const struct unit units[] = {
		{ a_silent_address_is_left_in_time, 0, 0 },
		{ the_last_address_is_waited_for, 0, 0 },
		{ who_waits_goes_on_by_itself, 0, 0 },
	};

	return unit_run("client/connect", units, ARRAY_LEN(units));
}
