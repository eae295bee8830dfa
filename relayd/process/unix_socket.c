/* SPDX-License-Identifier: MIT */
#include "relayd/process/unix_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum status
unix_socket_address(struct sockaddr_un *addr, const char *path)
{
	size_t n = strlen(path);

	if (n == 0 || n >= sizeof(addr->sun_path))
		return E_LIMIT;
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(addr->sun_path, path, n);
	return OK;
}

bool
unix_socket_remove_stale(const char *path)
{
	struct sockaddr_un addr;
	struct stat st;
	bool is_dead;
	int fd;

	if (unix_socket_address(&addr, path) != OK || lstat(path, &st) != 0 ||
	    !S_ISSOCK(st.st_mode))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	/* Only a refused connection means that no process listens; a full
	 * backlog does not. */
	is_dead = connect(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0 &&
		  errno == ECONNREFUSED;
	close(fd);
	return is_dead && unlink(path) == 0;
}
