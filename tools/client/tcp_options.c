/* SPDX-License-Identifier: MIT */
#include "tools/client/tcp_options.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/socket.h>

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
