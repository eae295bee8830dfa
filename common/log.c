/* SPDX-License-Identifier: MIT */
#include "common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"

static _Atomic int max_level = LOG_WARN;
static _Atomic bool abort_on_error;

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

/* Write S into the N bytes at OUT, never half a character; the length. */
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

static void
put_line(enum log_level level, const char *detail)
{
	char line[LOG_LINE_MAX];
	ssize_t written;
	size_t n;

	n = (size_t)snprintf(line, sizeof(line), "%s ", level_name(level));
	n += escape(line + n, sizeof(line) - n, detail);
	line[n++] = '\n';
	do
		written = write(STDERR_FILENO, line, n);
	while (written < 0 && errno == EINTR);
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
log_ratelimit(uint64_t *last_ns, uint64_t interval_ns)
{
	const uint64_t now = clock_now_ns();

	if (*last_ns != 0 && now - *last_ns < interval_ns)
		return false;
	*last_ns = now == 0 ? 1 : now;
	return true;
}
