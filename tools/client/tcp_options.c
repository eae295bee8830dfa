/* SPDX-License-Identifier: MIT */
#include "tools/client/tcp_options.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/compiler.h"

const struct tcp_keepalive tcp_keepalive_two_minutes = { 60, 15, 4 };

bool
tcp_options_set(int fd, const struct tcp_keepalive *k)
{
	const struct {
		int level, name, value;
	} options[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, k->idle_s },
		{ IPPROTO_TCP, TCP_KEEPINTVL, k->interval_s },
		{ IPPROTO_TCP, TCP_KEEPCNT, k->count },
	};
	int err = 0;

	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (setsockopt(fd, options[i].level, options[i].name,
			&options[i].value, sizeof(options[i].value)) != 0)
			err = errno;
	errno = err;
	return err == 0;
}

int
tcp_connect(const struct url_address *to)
{
	int fd = socket(
	    to->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int err;

	if (fd < 0)
		return -1;
	/* Requests are small: without TCP_NODELAY each would wait for the
	 * answer to the one before. No TCP_USER_TIMEOUT: it would also end a
	 * connection to a relay that hangs, and goes on later. */
	(void)tcp_options_set(fd, &tcp_keepalive_two_minutes);
	/* Within one machine there is no network to protect. Where the system's
	 * default algorithm paces (BBR), each send would start a timer, which
	 * costs half of the sender's CPU time. Every kernel has the algorithm
	 * of RFC 5681. */
	if (url_is_loopback(to))
		(void)setsockopt(
		    fd, IPPROTO_TCP, TCP_CONGESTION, "reno", strlen("reno"));
	if (connect(fd, (const struct sockaddr *)&to->sa, to->len) == 0 ||
	    errno == EINPROGRESS)
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}
