/* SPDX-License-Identifier: MIT */
#include "common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/publish.h"

static _Atomic int max_level = LOG_WARN;
static _Atomic bool abort_on_error;

/* Lines that standard error did not take. */
static struct {
	struct published waited_ns, lost, telling;
} writer;

/* Lines about peers, of the second that began at BEGAN_NS. */
static struct {
	struct published began_ns, lines, turning;
} peers;

enum log_level
log_level_of(enum status st)
{
	switch (status_blame(st)) {
	case BLAME_NOBODY:
		return LOG_INFO;
	case BLAME_PEER:
		return LOG_WARN;
	case BLAME_US:
		break;
	}
	return LOG_ERROR;
}

void
log_set_level(enum log_level level)
{
	atomic_store_explicit(&max_level, (int)level, memory_order_relaxed);
}

void
log_set_abort_on_error(bool on)
{
	atomic_store_explicit(&abort_on_error, on, memory_order_relaxed);
}

bool
log_wants(enum log_level level)
{
	return (int)level <=
	       atomic_load_explicit(&max_level, memory_order_relaxed);
}

static const char *
level_name(enum log_level level)
{
	switch (level) {
	case LOG_ERROR:
		return "error";
	case LOG_WARN:
		return "warning";
	case LOG_INFO:
		return "info";
	case LOG_DEBUG:
		return "debug";
	}
	return "error";
}

/* Set COUNT to 0 and return what it was. Return 0 if another thread does this
 * now; BUSY counts the threads that do. */
static uint64_t
take_count(struct published *count, struct published *busy)
{
	uint64_t n = 0;

	if (published(count) == 0)
		return 0;
	if (published_add(busy, 1) == 1) {
		n = published(count);
		published_sub(count, n);
	}
	published_sub(busy, 1);
	return n;
}

static bool
in_range(unsigned char c, unsigned char low, unsigned char high)
{
	return low <= c && c <= high;
}

/*
 * The length of the printable character at S, which ends with a NUL; 0 when
 * it must be escaped. The table of well-formed UTF-8 (Unicode, table 3-7);
 * c2 80 to c2 9f are control characters.
 */
static size_t
printable_len(const unsigned char *s)
{
	static const struct {
		unsigned char first, last; /* of the first byte */
		unsigned char low, high;   /* of the second */
		size_t len;
	} rows[] = {
		{ 0xc2, 0xc2, 0xa0, 0xbf, 2 },
		{ 0xc3, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	if (s[0] < 0x80)
		return in_range(s[0], 0x20, 0x7e) ? 1 : 0;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = 2;

		if (!in_range(s[0], rows[i].first, rows[i].last))
			continue;
		if (!in_range(s[1], rows[i].low, rows[i].high))
			return 0;
		while (n < rows[i].len && in_range(s[n], 0x80, 0xbf))
			n++;
		return n == rows[i].len ? n : 0;
	}
	return 0;
}

/* Write TEXT into the N bytes at OUT, never half a character. Returns the
 * length. */
static size_t
escape(char *out, size_t n, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t len = 0;

	while (*s != '\0') {
		size_t k = printable_len(s);

		if (len + (k > 0 ? k : strlen("\\xNN")) >= n)
			break;
		if (k > 0) {
			memcpy(out + len, s, k);
			len += k;
			s += k;
		} else {
			len += (size_t)snprintf(
			    out + len, n - len, "\\x%02x", (unsigned)*s++);
		}
	}
	return len;
}

/* Has stderr room? True also where poll(2) fails: there write(2) does not block
 * either. */
static bool
has_room(int timeout_ms)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };
	int n;

	do
		n = poll(&p, 1, timeout_ms);
	while (n < 0 && errno == EINTR);
	return n != 0;
}

static bool
wait_for_room(void)
{
	const uint64_t now = clock_now_ns();

	if (has_room(0))
		return true;
	if (now - published(&writer.waited_ns) < NS_PER_S)
		return false;
	publish(&writer.waited_ns, now);
	return has_room(LOG_WAIT_MS);
}

/*
 * Write the whole text or nothing. We must not set O_NONBLOCK: other processes
 * may share the open file. Another thread may take the room after poll(2); then
 * kernels before 6.4 block here. A terminal may have room for less than a line;
 * so it is opened a second time, with O_NONBLOCK.
 */
static bool
write_out(char *text, size_t n)
{
	const struct iovec iov = { .iov_base = text, .iov_len = n };
	ssize_t written;
	struct stat sb;
	bool is_full;
	int fd = -1;

	if (fstat(STDERR_FILENO, &sb) == 0 && !S_ISREG(sb.st_mode)) {
		written = pwritev2(STDERR_FILENO, &iov, 1, -1, RWF_NOWAIT);
		if (written >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS &&
					errno != EINVAL && errno != EINTR))
			return written >= 0 || errno != EAGAIN;
	}
	if (isatty(STDERR_FILENO))
		fd = open("/proc/self/fd/2",
		    O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	do
		written = write(fd >= 0 ? fd : STDERR_FILENO, text, n);
	while (written < 0 && errno == EINTR);
	is_full = written < 0 ? errno == EAGAIN : (size_t)written < n;
	if (fd >= 0)
		close(fd);
	return !is_full;
}

static void
write_line(const char *line, size_t len)
{
	char out[LOG_LINE_MAX + 128];
	uint64_t lost;
	size_t n = 0;

	_Static_assert(sizeof(out) <= PIPE_BUF, "a pipe takes it at once");
	if (!wait_for_room()) {
		published_add(&writer.lost, 1);
		return;
	}
	lost = take_count(&writer.lost, &writer.telling);
	if (lost > 0)
		n = (size_t)snprintf(out, sizeof(out),
		    "warning %" PRIu64 " lines are missing here: standard "
		    "error took no more\n",
		    lost);
	memcpy(out + n, line, len);
	if (!write_out(out, n + len))
		published_add(&writer.lost, lost + 1);
}

static void
put_line(enum log_level level, const char *detail)
{
	char line[LOG_LINE_MAX];
	size_t n;

	n = (size_t)snprintf(line, sizeof(line), "%s ", level_name(level));
	n += escape(line + n, sizeof(line) - n, detail);
	line[n++] = '\n';
	write_line(line, n);
	if (level == LOG_ERROR &&
	    atomic_load_explicit(&abort_on_error, memory_order_relaxed))
		abort();
}

void
log_line(enum log_level level, const char *fmt, ...)
{
	const int saved = errno;
	char detail[LOG_LINE_MAX];
	va_list ap;

	if (!log_wants(level))
		return;
	va_start(ap, fmt);
	if (vsnprintf(detail, sizeof(detail), fmt, ap) < 0)
		detail[0] = '\0';
	va_end(ap);
	put_line(level, detail);
	errno = saved;
}

void
log_errno(enum log_level level, const char *fmt, ...)
{
	const int saved = errno;
	char detail[LOG_LINE_MAX];
	va_list ap;
	size_t n;

	if (!log_wants(level))
		return;
	va_start(ap, fmt);
	if (vsnprintf(detail, sizeof(detail), fmt, ap) < 0)
		detail[0] = '\0';
	va_end(ap);
	n = strlen(detail);
	errno = saved;
	(void)snprintf(detail + n, sizeof(detail) - n, ": %m");
	put_line(level, detail);
	errno = saved;
}

bool
log_wants_peer(enum log_level level)
{
	const uint64_t now = clock_now_ns();
	uint64_t n = 0;

	if (!log_wants(level))
		return false;
	if (now - published(&peers.began_ns) >= NS_PER_S) {
		n = take_count(&peers.lines, &peers.turning);
		publish(&peers.began_ns, now);
	}
	if (n > LOG_PEER_LINES)
		log_line(LOG_WARN,
		    "%" PRIu64 " more lines about peers were left out",
		    n - LOG_PEER_LINES);
	return published_add(&peers.lines, 1) <= LOG_PEER_LINES;
}

bool
log_ratelimit(uint64_t *last_ns, uint64_t interval_ns)
{
	const uint64_t now = clock_now_ns();

	if (*last_ns != 0 && now - *last_ns < interval_ns)
		return false;
	*last_ns = now == 0 ? 1 : now;
	return true;
}
