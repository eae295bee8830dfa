/* SPDX-License-Identifier: MIT */
#include "relayd/process/unix_socket.h"

#include <errno.h>
#include <fcntl.h>
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

int
unix_socket_listen(
    struct unix_socket *s, const char *path, mode_t mode, gid_t group)
{
	int fd, saved;

	*s = (struct unix_socket){ 0 };
	if (unix_socket_address(&s->address, path) != OK) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	(void)unix_socket_remove_stale(path);
	/* Does not follow a link that another user put in the file's place. */
	if (bind(fd, (struct sockaddr *)&s->address, sizeof(s->address)) == 0 &&
	    lstat(path, &s->file) == 0 &&
	    (group == (gid_t)-1 || lchown(path, (uid_t)-1, group) == 0) &&
	    (mode == 0 ||
		fchmodat(AT_FDCWD, path, mode, AT_SYMLINK_NOFOLLOW) == 0) &&
	    listen(fd, SOMAXCONN) == 0)
		return fd;
	saved = errno;
	unix_socket_remove(s);
	close(fd);
	errno = saved;
	return -1;
}

void
unix_socket_remove(const struct unix_socket *s)
{
	struct stat now;

	if (s->file.st_ino != 0 && lstat(s->address.sun_path, &now) == 0 &&
	    now.st_ino == s->file.st_ino && now.st_dev == s->file.st_dev)
		(void)unlink(s->address.sun_path);
}
