/* SPDX-License-Identifier: MIT */
/*
 * The yardstick: what receiving bytes and writing them to a file costs when
 * nothing else is done. One connection after the other, one thread, one buffer.
 *
 * usage: sink PORT FILE      listens on 127.0.0.1; 0 takes a free port. Says
 *                            the port on standard output; until SIGTERM.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIECE (1024 * 1024)

static _Noreturn void
fail(const char *what)
{
	fprintf(stderr, "sink: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int
listen_on(in_port_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	const int one = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fail("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0 ||
	    listen(fd, 8) != 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) != 0)
		fail("listen");
	printf("%u\n", ntohs(a.sin_port));
	if (fflush(stdout) != 0)
		fail("standard output");
	return fd;
}

static void
write_all(int fd, const uint8_t *p, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, p, n);

		if (done < 0)
			fail("write");
		p += done;
		n -= (size_t)done;
	}
}

static void
drain(int from, int to, uint8_t *piece)
{
	ssize_t n;

	while ((n = read(from, piece, PIECE)) > 0)
		write_all(to, piece, (size_t)n);
	if (n < 0)
		fail("read");
}

int
main(int argc, char **argv)
{
	uint8_t *piece = malloc(PIECE);
	int listener, from, to;

	if (argc != 3 || piece == NULL) {
		fputs("usage: sink PORT FILE\n", stderr);
		return 2;
	}
	listener = listen_on((in_port_t)atoi(argv[1]));
	for (;;) {
		from = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (from < 0)
			fail("accept");
		to = open(
		    argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (to < 0)
			fail(argv[2]);
		drain(from, to, piece);
		close(to);
		close(from);
	}
}
