/* SPDX-License-Identifier: MIT */
/*
 * Sends small packets on an interface: packetgen INTERFACE RATE SECONDS. RATE
 * is packets per second. Each is of Ethernet, IPv4 and UDP, with 60 bytes.
 * Prints how many were sent.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "common/clock.h"

#define BATCH 64
#define PAUSE_NS (200 * 1000)

/* 02::2 to 02::1, 10.0.0.1 port 1000 to 10.0.0.2 port 7777. */
static uint8_t packet[60] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0,
	0, 46, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x03, 0xe8,
	0x1e, 0x61, 0, 26 };

static int
open_interface(const char *name)
{
	const struct sockaddr_ll a = { .sll_family = AF_PACKET,
		.sll_protocol = htons(ETHERTYPE_IP),
		.sll_ifindex = (int)if_nametoindex(name) };
	const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0 || a.sll_ifindex == 0 ||
	    bind(fd, (const struct sockaddr *)&a, sizeof(a)) != 0)
		err(EXIT_FAILURE, "%s", name);
	return fd;
}

/* Sends at most N packets; returns how many. */
static uint64_t
send_some(int fd, uint64_t n)
{
	struct iovec iov = { packet, sizeof(packet) };
	struct mmsghdr messages[BATCH];
	int sent;

	for (unsigned i = 0; i < BATCH; i++)
		messages[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &iov,
						    .msg_iovlen = 1 } };
	sent = sendmmsg(
	    fd, messages, n < BATCH ? (unsigned)n : (unsigned)BATCH, 0);
	if (sent < 0 && errno != ENOBUFS)
		err(EXIT_FAILURE, "send");
	return sent < 0 ? 0 : (uint64_t)sent;
}

int
main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	uint64_t rate, total, sent = 0, due, began;
	int fd;

	if (argc != 4)
		errx(EXIT_FAILURE, "usage: packetgen INTERFACE RATE SECONDS");
	rate = strtoull(argv[2], NULL, 10);
	total = rate * strtoull(argv[3], NULL, 10);
	fd = open_interface(argv[1]);
	began = clock_now_ns();
	while (sent < total) {
		due = (clock_now_ns() - began) / 1000 * rate / 1000000;
		if (due > total)
			due = total;
		if (due > sent)
			sent += send_some(fd, due - sent);
		else
			nanosleep(&pause, NULL);
	}
	printf("%" PRIu64 "\n", sent);
	return EXIT_SUCCESS;
}
