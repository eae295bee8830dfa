/* SPDX-License-Identifier: MIT */
#include "tools/client/outbox.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/lib/unit.h"

#define PACKETS 40

static uint8_t bytes[PACKETS * 1000];

/* Sizes of every kind, of packets and of heads; packet N begins at byte N *
 * 1000. */
static struct client_packet
packet(unsigned n)
{
	const uint8_t *at = bytes + n * (size_t)1000;
	struct client_packet p = { .size = n * 37 % 900,
		.padding = n,
		.index = { .stream = 100 + n % 3, .net_seq = n / 3 } };

	p.head_size = n * 5 % (PACKET_HEAD_MAX + 1);
	if (p.head_size > p.size)
		p.head_size = p.size;
	memcpy(p.head, at, p.head_size);
	p.data = at + p.head_size;
	return p;
}

static void
expect_packet(struct reader *r, unsigned n)
{
	const struct client_packet want = packet(n);
	struct data_header h;
	const uint8_t *p;

	ck_assert_int_eq(data_header_decode(r, &h), OK);
	ck_assert_uint_eq(h.stream, want.index.stream);
	ck_assert_uint_eq(h.net_seq, want.index.net_seq);
	ck_assert_uint_eq(h.size, want.size);
	ck_assert_uint_eq(h.padding, want.padding);
	p = reader_take(r, h.size);
	ck_assert_ptr_nonnull(p);
	ck_assert_mem_eq(p, bytes + n * (size_t)1000, want.size);
}

/* Row: so many bytes leave with one call. */
START_TEST(the_relay_decodes_what_was_put)
{
	static uint8_t got[sizeof(bytes) * 2];
	struct outbox o;
	struct reader r;
	size_t n = 0;
	unsigned put = 0, taken = 0;
	int fds[2];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + i / 251);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	ck_assert_int_eq(outbox_init(&o, 5), OK);
	while (taken < PACKETS) {
		const struct outbox_item *item;
		ssize_t sent;

		while (put < PACKETS && !outbox_is_full(&o)) {
			const struct client_packet p = packet(put);

			outbox_put(&o, put % 3, &p);
			put++;
		}
		sent = outbox_send(&o, fds[0], (size_t)_i * 97 + 1);
		ck_assert_int_gt(sent, 0);
		ck_assert_int_eq(read(fds[1], got + n, sizeof(got) - n), sent);
		n += (size_t)sent;
		while ((item = outbox_take(&o)) != NULL) {
			ck_assert_ptr_eq(item->packet.data, packet(taken).data);
			ck_assert_uint_eq(item->stream, taken % 3);
			taken++;
		}
	}
	ck_assert_uint_eq(o.waiting, 0);
	ck_assert_int_eq(outbox_send(&o, fds[0], 1), 0);
	r = reader_over(got, n);
	for (unsigned i = 0; i < PACKETS; i++)
		expect_packet(&r, i);
	ck_assert_uint_eq(reader_left(&r), 0);
	outbox_free(&o);
	close(fds[0]);
	close(fds[1]);
}
END_TEST

static void
count(void *arg)
{
	++*(unsigned *)arg;
}

START_TEST(packets_that_are_left_are_done)
{
	struct outbox o;
	unsigned done = 0;

	ck_assert_int_eq(outbox_init(&o, 5), OK);
	for (unsigned i = 0; i < 5; i++) {
		struct client_packet p = packet(i);

		p.done = count;
		p.arg = &done;
		outbox_put(&o, 0, &p);
	}
	ck_assert(outbox_is_full(&o));
	outbox_free(&o);
	ck_assert_uint_eq(done, 5);
}
END_TEST

START_TEST(a_closed_socket_is_an_error_and_no_signal)
{
	struct outbox o;
	const struct client_packet p = packet(3);
	int fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	ck_assert_int_eq(outbox_init(&o, 5), OK);
	outbox_put(&o, 0, &p);
	close(fds[1]);
	ck_assert_int_eq(outbox_send(&o, fds[0], SIZE_MAX), -1);
	ck_assert_int_eq(errno, EPIPE);
	ck_assert_ptr_null(outbox_take(&o));
	outbox_free(&o);
	close(fds[0]);
}
END_TEST

int
main(void)
{
	const struct unit units[] = {
		{ the_relay_decodes_what_was_put, 30, 0 },
		{ packets_that_are_left_are_done, 0, 0 },
		{ a_closed_socket_is_an_error_and_no_signal, 0, 0 },
	};

	return unit_run("client/outbox", units, ARRAY_LEN(units));
}
