/* SPDX-License-Identifier: MIT */
#include "relayd/process/unix_socket.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
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

union fds_message {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(UNIX_SOCKET_FDS * sizeof(int))];
};

bool
unix_socket_send(int fd, const void *p, size_t n, const struct sockaddr_un *to,
    socklen_t len, const int *fds, unsigned n_fds, int flags)
{
	union fds_message control = { .bytes = "" };
	struct iovec iov = { (void *)(uintptr_t)p, n };
	struct msghdr m = {
		.msg_name = (void *)(uintptr_t)to,
		.msg_namelen = len,
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};
	struct cmsghdr *c;
	ssize_t sent;

	assert(n_fds <= UNIX_SOCKET_FDS);
	if (n_fds > 0) {
		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
	}
	do
		sent = sendmsg(fd, &m, MSG_NOSIGNAL | flags);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)n;
}

bool
unix_socket_receive(
    int fd, void *p, size_t n, int *fds, unsigned *n_fds, int flags)
{
	union fds_message control = { .bytes = "" };
	struct iovec iov = { p, n };
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control),
	};
	const unsigned most = *n_fds;
	struct cmsghdr *c;
	size_t n_came = 0;
	ssize_t got;

	*n_fds = 0;
	do
		got = recvmsg(fd, &m, MSG_CMSG_CLOEXEC | flags);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return false;
	c = CMSG_FIRSTHDR(&m);
	if (c != NULL && c->cmsg_level == SOL_SOCKET &&
	    c->cmsg_type == SCM_RIGHTS)
		n_came = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	if (got == (ssize_t)n && n_came <= most &&
	    (m.msg_flags & MSG_CTRUNC) == 0) {
		if (n_came > 0)
			memcpy(fds, CMSG_DATA(c), n_came * sizeof(int));
		*n_fds = (unsigned)n_came;
		return true;
	}
	for (size_t i = 0; i < n_came; i++)
		close(((const int *)(const void *)CMSG_DATA(c))[i]);
	errno = EPROTO;
	return false;
}
