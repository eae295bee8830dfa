/* SPDX-License-Identifier: MIT */
#include "relayd/process/open_sessions.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/log.h"
#include "common/parse.h"

static uint64_t
read_number(int fd)
{
	char text[24] = "";
	uint64_t n;

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	return parse_u64(text, 0, UINT64_MAX, &n) == OK ? n : 0;
}

uint64_t
open_sessions_take(struct open_sessions *s, const char *run_dir)
{
	s->fd = -1;
	if (snprintf(s->path, sizeof(s->path), "%s/relayd/sessions", run_dir) >=
	    (int)sizeof(s->path))
		return 0;
	s->fd = open(s->path,
	    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (s->fd < 0) {
		log_errno(LOG_WARN, "%s", s->path);
		return 0;
	}
	if (flock(s->fd, LOCK_EX | LOCK_NB) != 0) {
		close(s->fd);
		s->fd = -1;
		return 0;
	}
	s->written = read_number(s->fd);
	return s->written;
}

void
open_sessions_set(struct open_sessions *s, uint64_t n)
{
	char text[24];
	int len;

	if (s->fd < 0 || n == s->written)
		return;
	len = snprintf(text, sizeof(text), "%" PRIu64 "\n", n);
	/* A number that is not true for a moment does no harm. */
	if (ftruncate(s->fd, 0) == 0 &&
	    pwrite(s->fd, text, (size_t)len, 0) == len)
		s->written = n;
	else
		log_peer_errno(LOG_WARN, "%s", s->path);
}

void
open_sessions_end(struct open_sessions *s, uint64_t n)
{
	if (s->fd < 0)
		return;
	if (n == 0)
		(void)unlink(s->path);
	else
		open_sessions_set(s, n);
	close(s->fd);
	s->fd = -1;
}
