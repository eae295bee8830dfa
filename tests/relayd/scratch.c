/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tests/relayd/scratch.h"

#include <check.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/lib/temp_dir.h"

static char dir[256];

void
scratch_open(void)
{
	ck_assert(temp_dir(dir, sizeof(dir), "check_relayd"));
}

static int
remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void
scratch_remove(const char *name)
{
	ck_assert_int_eq(
	    nftw(scratch_path(name), remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

void
scratch_close(void)
{
	if (dir[0] != '\0')
		scratch_remove("");
	dir[0] = '\0';
}

const char *
scratch_path(const char *name)
{
	static char paths[8][PATH_MAX];
	static unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, PATH_MAX, "%s/%s", dir, name);
	return path;
}

bool
scratch_exists(const char *name)
{
	return access(scratch_path(name), F_OK) == 0;
}

const char *
scratch_read(const char *name)
{
	static char text[4096];
	int fd = open(scratch_path(name), O_RDONLY | O_CLOEXEC);
	ssize_t n;

	ck_assert_msg(fd >= 0, "%s does not exist", name);
	n = read(fd, text, sizeof(text) - 1);
	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	close(fd);
	return text;
}

void
scratch_write(const char *name, const char *text)
{
	int fd = open(
	    scratch_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (int)strlen(text));
	close(fd);
}

int
scratch_notify_socket(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", scratch_path("n"));
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

const char *
scratch_receive(int fd)
{
	static char text[256];
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;

	ck_assert_int_eq(poll(&p, 1, 30000), 1);
	n = recv(fd, text, sizeof(text) - 1, 0);
	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	return text;
}
