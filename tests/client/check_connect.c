/* SPDX-License-Identifier: MIT */
/* A host with several addresses, of which some answer nothing at all. */
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

/* Connecting to the first of these ports; the others stand for further
 * addresses of the host. */
static struct client *
start(const uint16_t *ports, unsigned n, unsigned timeout_ms)
{
	const struct client_config config = {
		.url = { .family = AF_INET,
		    .host = "127.0.0.1",
		    .control = ports[0] },
		.session_name = "s",
		.hostname = "h",
		.connect_ms = CONNECT_MS,
		.timeout_ms = timeout_ms,
	};
	struct client *c;

	ck_assert_int_eq(client_create(&c, &config), OK);
	ck_assert_int_eq(client_open(c), OK);
	while (c->n_addresses < n) {
		c->addresses[c->n_addresses] = url_with_port(
		    &c->addresses[0], ports[c->n_addresses]);
		c->n_addresses++;
	}
	return c;
}

/* AFTER_NS since it began with the address at hand. */
static void
look(struct client *c, uint64_t after_ns)
{
	ck_assert_int_eq(
	    client_connect_elsewhere(c, c->moved_ns + after_ns), OK);
}

/* Until it is no longer connecting to ADDRESS. */
static void
work(struct client *c, unsigned address)
{
	for (int i = 0;
	     i < 1000 && c->phase == CLIENT_CONNECT && c->address == address;
	     i++)
		ck_assert_int_eq(client_work(c, 1), OK);
}

TEST(silent_addresses_are_left_in_time)
{
	const uint64_t patience = CONNECT_MS * NS_PER_MS;
	struct sockaddr_in a;
	struct silent s[2];
	struct client *c;
	int fd, other = bind_any(&a);

	ck_assert_int_eq(listen(other, 1), 0);
	fall_silent(&s[0]);
	fall_silent(&s[1]);
	c = start(
	    (uint16_t[]){ s[0].port, s[1].port, ntohs(a.sin_port) }, 3, 0);
	fd = c->control;
	for (unsigned i = 0; i < 2; i++) {
		look(c, patience - 1);
		ck_assert_uint_eq(c->address, i);
		look(c, patience);
		ck_assert_uint_eq(c->address, i + 1);
		/* the one before is closed */
		ck_assert_int_eq(c->control, fd);
	}
	work(c, 2);
	ck_assert_int_eq(c->phase, CLIENT_VERSION);
	client_destroy(c);
	end_silence(&s[0]);
	end_silence(&s[1]);
	close(other);
}

/* A router may need seconds to say that there is no way. */
TEST(a_late_refusal_takes_nothing_from_the_next)
{
	struct sockaddr_in a;
	struct silent s;
	struct client *c;
	int refusing = bind_any(&a); /* does not listen */
	uint64_t then;

	fall_silent(&s);
	c = start((uint16_t[]){ ntohs(a.sin_port), s.port }, 2, 0);
	c->moved_ns -= NS_PER_S;
	then = clock_now_ns();
	work(c, 0);
	ck_assert_uint_eq(c->address, 1);
	ck_assert_uint_ge(c->moved_ns, then);
	client_destroy(c);
	end_silence(&s);
	close(refusing);
}

TEST(a_silent_address_is_the_last_hope)
{
	struct sockaddr_in a;
	struct silent s;
	struct client *c;
	int refusing = bind_any(&a);

	fall_silent(&s);
	c = start((uint16_t[]){ s.port, ntohs(a.sin_port) }, 2, 0);
	look(c, CONNECT_MS * NS_PER_MS);
	work(c, 1);
	ck_assert_uint_eq(c->address, 0);
	look(c, NS_PER_S);
	ck_assert_uint_eq(c->address, 0);
	ck_assert_int_ge(c->control, 0);
	client_destroy(c);
	end_silence(&s);
	close(refusing);
}

TEST(who_waits_goes_on_by_itself)
{
	struct silent s[2];
	struct client *c;

	fall_silent(&s[0]);
	fall_silent(&s[1]);
	c = start((uint16_t[]){ s[0].port, s[1].port }, 2, 5000);
	client_set_waits(c, true);
	ck_assert_int_eq(client_open(c), E_IO);
	ck_assert_uint_eq(c->address, 1);
	ck_assert_ptr_nonnull(strstr(client_error(c), "no progress"));
	client_destroy(c);
	end_silence(&s[0]);
	end_silence(&s[1]);
}
