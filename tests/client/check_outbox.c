/* SPDX-License-Identifier: MIT */
#include "tools/client/outbox.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
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
TEST_ROWS(the_relay_decodes_what_was_put, 30)
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

static void
count(void *arg)
{
	++*(unsigned *)arg;
}

TEST(packets_that_are_left_are_done)
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

TEST(a_closed_socket_is_an_error_and_no_signal)
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

/* What is sent from the file differs from what is in memory. */
#define FILE_BYTES (2 * OUTBOX_FILE_MIN)

static int
make_file(void)
{
	static uint8_t in_file[FILE_BYTES];
	int fd = memfd_create("packets", MFD_CLOEXEC);

	memset(in_file, 'f', sizeof(in_file));
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, in_file, sizeof(in_file)), sizeof(in_file));
	return fd;
}

static struct client_packet
packet_in_file(int file, uint32_t head, uint32_t body)
{
	static uint8_t in_memory[FILE_BYTES];
	struct client_packet p = { .head_size = head,
		.data = in_memory,
		.size = head + body,
		.is_in_file = true,
		.file = file,
		.file_at = 100 };

	memset(in_memory, 'm', sizeof(in_memory));
	memset(p.head, 'h', head);
	return p;
}

static void
expect_bytes(struct reader *r, int c, size_t n)
{
	const uint8_t *p = reader_take(r, n);

	ck_assert_ptr_nonnull(p);
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(p[i], c);
}

static void
expect_from_file(struct reader *r, uint32_t head, uint32_t body, int c)
{
	struct data_header h;

	ck_assert_int_eq(data_header_decode(r, &h), OK);
	ck_assert_uint_eq(h.size, head + body);
	expect_bytes(r, 'h', head);
	expect_bytes(r, c, body);
}

/* Row: so many bytes leave with one call. */
TEST_ROWS(large_packets_leave_from_their_file, 3)
{
	static uint8_t got[4 * FILE_BYTES];
	const size_t most[] = { 1001, OUTBOX_FILE_MIN, SIZE_MAX };
	const uint32_t large = OUTBOX_FILE_MIN;
	const struct client_packet small = packet(7);
	struct client_packet p;
	const int file = make_file();
	struct outbox o;
	struct reader r;
	size_t n = 0;
	int fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	ck_assert_int_eq(outbox_init(&o, 5), OK);
	p = packet_in_file(file, 0, large);
	outbox_put(&o, 0, &p);
	outbox_put(&o, 0, &small);
	p = packet_in_file(file, 0, large - 1);
	outbox_put(&o, 0, &p);
	p = packet_in_file(file, 20, large + 5);
	outbox_put(&o, 0, &p);
	while (o.waiting > 0) {
		ssize_t sent = outbox_send(&o, fds[0], most[_i]);

		ck_assert_int_gt(sent, 0);
		ck_assert_uint_le(n + (size_t)sent, sizeof(got));
		for (ssize_t m = 0, k; m < sent; m += k) {
			k = read(fds[1], got + n, sizeof(got) - n);
			ck_assert_int_gt(k, 0);
			n += (size_t)k;
		}
	}
	ck_assert_uint_eq(o.sent, o.put);
	r = reader_over(got, n);
	expect_from_file(&r, 0, large, 'f');
	expect_packet(&r, 7);
	expect_from_file(&r, 0, large - 1, 'm');
	expect_from_file(&r, 20, large + 5, 'f');
	ck_assert_uint_eq(reader_left(&r), 0);
	outbox_free(&o);
	close(file);
	close(fds[0]);
	close(fds[1]);
}

TEST(a_file_that_was_cut_short_is_an_error)
{
	const int file = make_file();
	const struct client_packet p = packet_in_file(file, 0, OUTBOX_FILE_MIN);
	struct outbox o;
	ssize_t sent;
	int fds[2];

	ck_assert_int_eq(ftruncate(file, 200), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	ck_assert_int_eq(outbox_init(&o, 5), OK);
	outbox_put(&o, 0, &p);
	while ((sent = outbox_send(&o, fds[0], SIZE_MAX)) > 0)
		;
	ck_assert_int_eq(sent, -1);
	ck_assert_int_eq(errno, ENODATA);
	ck_assert_uint_eq(o.waiting, OUTBOX_FILE_MIN - 100);
	outbox_free(&o);
	close(file);
	close(fds[0]);
	close(fds[1]);
}
