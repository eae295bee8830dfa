/* SPDX-License-Identifier: MIT */
/* What leaves as datagrams, decoded as the relay does. */
#include "tools/client/datagrams.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/lib/unit.h"

static uint8_t payload[70000];

static void
open_pair(int fds[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct timeval patience = { .tv_sec = 20 };
	socklen_t len = sizeof(a);

	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 13 + i / 255);
	fds[1] = socket(AF_INET, SOCK_DGRAM, 0);
	ck_assert_int_eq(bind(fds[1], (struct sockaddr *)&a, len), 0);
	ck_assert_int_eq(getsockname(fds[1], (struct sockaddr *)&a, &len), 0);
	ck_assert_int_eq(setsockopt(fds[1], SOL_SOCKET, SO_RCVTIMEO, &patience,
			     sizeof(patience)),
	    0);
	fds[0] = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(connect(fds[0], (struct sockaddr *)&a, len), 0);
}

/* Packets of N bytes in fragments: those of the same size, shorter ones at
 * their ends, and an empty one. The front of each packet stands elsewhere. */
static unsigned
put_fragments(
    struct datagrams *d, uint64_t seq, uint32_t size, uint32_t fragment)
{
	unsigned n = 0;

	for (uint32_t at = 0; at == 0 || at < size; at += fragment, n++) {
		const uint32_t len = size - at < fragment ? size - at
							  : fragment;
		const uint32_t front = (uint32_t)(seq % 3) * 16;
		const uint32_t head = at == 0 && len >= front ? front : 0;
		const struct udp_header h = { .stream = 5,
			.head = payload,
			.head_len = head,
			.net_seq = seq,
			.size = size,
			.padding = 3,
			.offset = at,
			.token = { { 9 } },
			.payload = payload + at + head,
			.payload_len = len - head };

		datagrams_put(d, &h);
	}
	return n;
}

static void
expect_datagram(int fd, uint64_t *seq, uint32_t *offset)
{
	static uint8_t got[65536];
	struct udp_header h;
	/* A busy kernel may deliver it a moment later. */
	ssize_t n = recv(fd, got, sizeof(got), 0);

	ck_assert_int_ge(n, UDP_HEADER_LEN);
	ck_assert(udp_crc_matches(got, (size_t)n));
	ck_assert_int_eq(udp_header_decode(got, (size_t)n, &h), OK);
	ck_assert_uint_eq(h.stream, 5);
	ck_assert_uint_eq(h.token.b[0], 9);
	if (h.net_seq != *seq) {
		ck_assert_uint_eq(h.net_seq, *seq + 1);
		*offset = 0;
	}
	*seq = h.net_seq;
	ck_assert_uint_eq(h.offset, *offset);
	ck_assert_mem_eq(h.payload, payload + h.offset, h.payload_len);
	*offset += h.payload_len;
}

static const struct {
	uint32_t size, fragment;
} cases[] = {
	{ 10000, 1392 },
	{ 1392, 1392 },
	{ 100, 512 },
	{ 0, 512 },
	{ 65000, 65000 },
	{ 5120, 512 },
};

/* Row: a case, with and without segments made by the kernel. */
TEST_ROWS(the_relay_decodes_every_fragment, 2 * ARRAY_LEN(cases))
{
	const unsigned row = (unsigned)_i / 2;
	struct datagrams d;
	uint64_t seq = 0;
	uint32_t offset = 0;
	unsigned n = 0;
	int fds[2];

	open_pair(fds);
	datagrams_init(&d, fds[0], NULL);
	d.has_gso = d.has_gso && _i % 2 == 0;
	for (uint64_t s = 0; s < 3; s++)
		n += put_fragments(&d, s, cases[row].size, cases[row].fragment);
	ck_assert_int_eq(datagrams_send(&d), OK);
	ck_assert_uint_eq(d.n, 0);
	ck_assert_uint_eq(d.count, n);
	for (unsigned i = 0; i < n; i++)
		expect_datagram(fds[1], &seq, &offset);
	ck_assert_uint_eq(seq, 2);
	ck_assert_uint_eq(offset, cases[row].size);
	ck_assert_int_lt(recv(fds[1], payload, 1, MSG_DONTWAIT), 0);
	close(fds[0]);
	close(fds[1]);
}

TEST(nobody_listening_is_no_error)
{
	struct datagrams d;
	int fds[2];

	open_pair(fds);
	close(fds[1]);
	datagrams_init(&d, fds[0], NULL);
	for (unsigned i = 0; i < 5; i++) {
		(void)put_fragments(&d, i, 100, 512);
		ck_assert_int_eq(datagrams_send(&d), OK);
	}
	ck_assert_uint_eq(d.count, 5);
	close(fds[0]);
}
