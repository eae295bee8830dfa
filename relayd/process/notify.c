/* SPDX-License-Identifier: MIT */
#include "relayd/process/notify.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/log.h"

/* The length of *ADDR, or 0 when NAME is no address. */
static socklen_t
make_address(struct sockaddr_un *addr, const char *name)
{
	size_t n = strlen(name);

	if ((name[0] != '/' && name[0] != '@') || n < 2 ||
	    n >= sizeof(addr->sun_path))
		return 0;
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(addr->sun_path, name, n);
	if (name[0] == '@')
		addr->sun_path[0] = '\0';
	/* An abstract name has no NUL at its end: a NUL would be part of the
	 * name. */
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n +
			   (name[0] == '/'));
}

enum status
notify_send(const char *address, const char *state)
{
	const struct timeval patience = { .tv_sec = 1 };
	struct sockaddr_un addr;
	socklen_t len;
	ssize_t n;
	int fd;

	if (address == NULL || *address == '\0')
		return OK;
	len = make_address(&addr, address);
	if (len == 0) {
		log_warn("NOTIFY_SOCKET=%s: not an address", address);
		return E_MALFORMED;
	}
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		log_errno(LOG_WARN, "NOTIFY_SOCKET: socket");
		return E_IO;
	}
	(void)setsockopt(
	    fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	do
		n = sendto(fd, state, strlen(state), MSG_NOSIGNAL,
		    (const struct sockaddr *)&addr, len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		log_errno(LOG_WARN, "NOTIFY_SOCKET=%s", address);
	close(fd);
	return n < 0 ? E_IO : OK;
}
