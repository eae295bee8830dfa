/* SPDX-License-Identifier: MIT */
#include "common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log_text.h"
#include "common/publish.h"

#define LOG_JOURNAL_SOCKET "/run/systemd/journal/socket"

static struct published max_level = { LOG_WARN }, abort_on_error;

/* Bits of sink.look. */
#define LOOK_PRIORITY 1
#define LOOK_TIME 2

/* A destination of lines, and the lines that it did not take. */
struct log_output {
	struct published fd; /* descriptor + 1; 0: not in use */
	struct published look;
	struct published waited_ns, lost;
	struct published is_torn; /* the last line has no newline */
	const char *name;
};

static struct log_output standard_error = {
	.fd = { STDERR_FILENO + 1 },
	.name = "standard error",
};
static struct log_output file = { .name = "the log file" };
static struct published is_json;

static struct published journal_fd; /* descriptor + 1; 0: none */
static const char *journal_path = LOG_JOURNAL_SOCKET;

/* Lines about peers of each level: LINES in the second that began at BEGAN_NS,
 * and the number SUPPRESSED since the last report. */
static struct {
	struct published began_ns, lines, suppressed;
} peers[LOG_DEBUG + 1];

/* One event, as it is sent to all sinks. */
struct line {
	enum log_level level;
	const char *detail;
	const struct log_source *source;
	int error; /* errno; 0: none */
};

/* Returns a socket that is connected to PATH and never blocks, or -1. */
static int
open_journal(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = -1;

	if (strlen(path) < sizeof(addr.sun_path)) {
		memcpy(addr.sun_path, path, strlen(path) + 1);
		fd = socket(
		    AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	}
	if (fd >= 0 &&
	    connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* An entry of the journal: the message, and fields of which no value is longer
 * than it. */
struct journal_entry {
	char text[4 * LOG_JSON_MAX];
	size_t len;
};

/* NAME=VALUE and a newline; nothing if it does not fit. */
static void
put_field(
    struct journal_entry *e, const char *name, const char *value, size_t len)
{
	const size_t name_len = strlen(name);
	char *out = e->text + e->len;

	if (len == 0 || name_len + len + 2 > sizeof(e->text) - e->len)
		return;
	memcpy(out, name, name_len);
	out[name_len] = '=';
	memcpy(out + name_len + 1, value, len);
	out[name_len + 1 + len] = '\n';
	e->len += name_len + len + 2;
}

static void
put_string(struct journal_entry *e, const char *name, const char *value)
{
	put_field(e, name, value, strlen(value));
}

static void
put_number(struct journal_entry *e, const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	put_string(e, name, text);
}

/* A value from a peer is escaped as in the text of a line: a newline would
 * begin another field. */
static void
put_escaped(
    struct journal_entry *e, const char *name, const char *value, size_t len)
{
	char text[LOG_LINE_MAX];

	len = log_escape(text, sizeof(text), value, value + len, false);
	put_field(e, name, text, len);
}

static void
put_tags(struct journal_entry *e, const char *detail)
{
	static const struct {
		const char *tag, *field;
	} tags[] = { { "peer", "TRACEPULSE_PEER" },
		{ "host", "TRACEPULSE_HOST" },
		{ "session", "TRACEPULSE_SESSION" },
		{ "stream", "TRACEPULSE_STREAM" } };

	for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
		const char *value, *slash;
		size_t len = log_take_tag(tags[i].tag, &detail, &value);

		slash = memchr(value, '/', len);
		/* "session=7/NAME": a reader wants to ask for a name. */
		if (strcmp(tags[i].tag, "session") == 0 && slash != NULL) {
			put_escaped(e, "TRACEPULSE_SESSION_ID", value,
			    (size_t)(slash - value));
			len -= (size_t)(slash + 1 - value);
			value = slash + 1;
		}
		put_escaped(e, tags[i].field, value, len);
	}
}

/* Send L to the journal of systemd, by its native protocol
 * (systemd.io/JOURNAL_NATIVE_PROTOCOL). The library's sd_journal_sendv() is not
 * used: it blocks while the journal is busy, and its memfd_create(2) is refused
 * by the sandbox. E_BUSY: its queue is full. E_IO: it cannot be reached. */
static enum status
send_entry(int fd, const struct line *l)
{
	const struct log_look look = { .is_json = published(&is_json) != 0 };
	const char *path = l->source->file;
	char message[LOG_JSON_MAX];
	struct journal_entry e;
	ssize_t sent;

	e.len = 0;
	/* Without the newline. */
	put_field(&e, "MESSAGE", message,
	    log_text(message, look, l->level, l->detail) - 1);
	put_number(&e, "PRIORITY", log_priority(l->level));
	put_string(&e, "SYSLOG_IDENTIFIER", program_invocation_short_name);
	put_tags(&e, l->detail);
	/* A build in a directory of its own names files "../../FILE". */
	while (strncmp(path, "../", 3) == 0)
		path += 3;
	put_string(&e, "CODE_FILE", path);
	put_number(&e, "CODE_LINE", l->source->line);
	put_string(&e, "CODE_FUNC", l->source->function);
	if (l->error != 0)
		put_number(&e, "ERRNO", l->error);
	do
		sent = send(fd, e.text, e.len, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent >= 0)
		return OK;
	return errno == EAGAIN || errno == ENOBUFS ? E_BUSY : E_IO;
}

enum log_level
log_level_of(enum status st)
{
	static const enum log_level levels[] = { [BLAME_NOBODY] = LOG_INFO,
		[BLAME_PEER] = LOG_WARN,
		[BLAME_US] = LOG_ERROR };

	return levels[status_blame(st)];
}

void
log_set_level(enum log_level level)
{
	publish(&max_level, level);
}

void
log_set_abort_on_error(bool on)
{
	publish(&abort_on_error, on);
}

void
log_set_json(bool on)
{
	publish(&is_json, on);
}

/* Is standard error the socket named by systemd? (systemd.exec(5)) */
static bool
is_journal(const struct stat *sb)
{
	const char *s = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;

	return s != NULL && sscanf(s, "%llu:%llu", &dev, &ino) == 2 &&
	       dev == sb->st_dev && ino == sb->st_ino;
}

void
log_set_journal(const char *path)
{
	journal_path = path;
}

bool
log_look_at_stderr(bool has_times)
{
	const bool is_terminal = isatty(STDERR_FILENO);
	struct stat sb;
	uint64_t look = 0;

	if (fstat(STDERR_FILENO, &sb) != 0)
		return false;
	if (is_journal(&sb))
		look = LOOK_PRIORITY;
	else if (has_times && (is_terminal || S_ISREG(sb.st_mode)))
		look = LOOK_TIME;
	if (look != LOOK_PRIORITY)
		publish(&journal_fd, 0);
	publish(&standard_error.look, look);
	return is_terminal || look != 0;
}

void
log_open_journal(void)
{
	if (published(&standard_error.look) == LOOK_PRIORITY &&
	    published(&journal_fd) == 0)
		publish(
		    &journal_fd, (uint64_t)(open_journal(journal_path) + 1));
}

enum status
log_open(const char *path)
{
	const int old = (int)published(&file.fd) - 1;
	int fd = open(path,
	    O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC,
	    0640);
	int kept;

	if (fd < 0) {
		log_errno(LOG_ERROR, "log file %s", path);
		return E_IO;
	}
	/* The descriptor number stays, as other threads use it. It is not that
	 * of a standard stream, which may be closed. */
	kept = old >= 0 ? dup3(fd, old, O_CLOEXEC)
			: fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	if (kept < 0) {
		log_errno(LOG_ERROR, "log file %s", path);
		return E_IO;
	}
	publish(&file.look, LOOK_TIME);
	publish(&file.is_torn, 0);
	publish(&file.fd, (uint64_t)kept + 1);
	return OK;
}

void
log_leave_stderr(void)
{
	if (published(&file.fd) != 0)
		publish(&standard_error.fd, 0);
}

bool
log_wants(enum log_level level)
{
	return level <= published(&max_level);
}

/* Can FD be written to? True also if poll(2) fails: write(2) does not block
 * then. */
static bool
is_writable(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int n;

	do
		n = poll(&p, 1, timeout_ms);
	while (n < 0 && errno == EINTR);
	return n != 0;
}

static bool
wait_until_writable(struct log_output *s, int fd)
{
	const uint64_t now = clock_now_ns();

	if (is_writable(fd, 0))
		return true;
	if (now - published(&s->waited_ns) < NS_PER_S)
		return false;
	publish(&s->waited_ns, now);
	return is_writable(fd, LOG_WAIT_MS);
}

/*
 * Write the whole text or nothing; returns how much was written. O_NONBLOCK
 * must not be set: other processes may share the open file. Another thread may
 * fill the pipe after poll(2); kernels before 6.4 then block here. A terminal
 * may take less than a line, so it is opened a second time, with O_NONBLOCK.
 */
static ssize_t
write_out(int fd, char *text, size_t n)
{
	const struct iovec iov = { .iov_base = text, .iov_len = n };
	char path[32];
	ssize_t written;
	struct stat sb;
	int own = -1;

	if (fstat(fd, &sb) == 0 && !S_ISREG(sb.st_mode)) {
		written = pwritev2(fd, &iov, 1, -1, RWF_NOWAIT);
		if (written >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS &&
					errno != EINVAL && errno != EINTR))
			return written;
	}
	if (isatty(fd)) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	}
	do
		written = write(own >= 0 ? own : fd, text, n);
	while (written < 0 && errno == EINTR);
	if (own >= 0)
		close(own);
	return written;
}

/* The line that reports LOST lines, without its newline. */
static void
lost_text(char out[128], const struct log_output *s, uint64_t lost)
{
	snprintf(out, 128,
	    "%" PRIu64 " log lines lost: %s did not accept them in time", lost,
	    s->name);
}

/* Write a line, after a report of lost lines. */
static void
sink_put(struct log_output *s, const struct line *l)
{
	const int fd = (int)published(&s->fd) - 1;
	const uint64_t bits = published(&s->look);
	const struct log_look look = {
		.has_priority = (bits & LOOK_PRIORITY) != 0,
		.has_time = (bits & LOOK_TIME) != 0,
		.is_json = published(&is_json) != 0,
	};
	char out[2 * LOG_JSON_MAX], text[128];
	uint64_t lost;
	ssize_t written;
	size_t n = 0;

	_Static_assert(sizeof(out) <= PIPE_BUF, "a pipe takes it at once");
	if (fd < 0)
		return;
	if (!wait_until_writable(s, fd)) {
		published_add(&s->lost, 1);
		return;
	}
	if (published(&s->is_torn) != 0)
		out[n++] = '\n';
	lost = published_take_bits(&s->lost);
	if (lost > 0) {
		lost_text(text, s, lost);
		n += log_text(out + n, look, LOG_WARN, text);
	}
	n += log_text(out + n, look, l->level, l->detail);
	written = write_out(fd, out, n);
	if (written != (ssize_t)n)
		published_add(&s->lost, lost + 1);
	/* A full disk may take a part. */
	if (written > 0)
		publish(&s->is_torn, (size_t)written < n);
}

/* Send an entry with fields instead of a line on standard error. Returns false
 * if the line should be written to standard error. */
static bool
journal_put(struct log_output *s, const struct line *l)
{
	const int fd = (int)published(&journal_fd) - 1;
	struct line missing = { .level = LOG_WARN, .source = LOG_HERE };
	enum status st;
	uint64_t lost;
	char text[128];

	if (fd < 0 || published(&s->fd) == 0)
		return false;
	if (!wait_until_writable(s, fd)) {
		published_add(&s->lost, 1);
		return true;
	}
	lost = published_take_bits(&s->lost);
	if (lost > 0) {
		lost_text(text, s, lost);
		missing.detail = text;
		if (send_entry(fd, &missing) != OK)
			published_add(&s->lost, lost);
	}
	st = send_entry(fd, l);
	if (st == E_BUSY)
		published_add(&s->lost, 1);
	return st == OK || st == E_BUSY;
}

static void
put_line(const struct line *l)
{
	sink_put(&file, l);
	if ((published(&file.fd) == 0 || l->level <= LOG_WARN) &&
	    !journal_put(&standard_error, l))
		sink_put(&standard_error, l);
	if (l->level == LOG_ERROR && published(&abort_on_error) != 0)
		abort();
}

void
log_line_at(const struct log_source *source, enum log_level level, int error,
    const char *fmt, ...)
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
	errno = error;
	if (error != 0)
		(void)snprintf(detail + n, sizeof(detail) - n, ": %m");
	put_line(&(struct line){ level, detail, source, error });
	errno = saved;
}

static void
report_suppressed(enum log_level level)
{
	const uint64_t n = published_take_bits(&peers[level].suppressed);

	if (n > 0)
		log_line(level,
		    "lines about peers suppressed: %" PRIu64
		    " (more than %d in a second)",
		    n, LOG_PEER_LINES);
}

void
log_report_suppressed(void)
{
	for (int level = LOG_ERROR; level <= LOG_DEBUG; level++)
		report_suppressed((enum log_level)level);
}

bool
log_wants_peer(enum log_level level)
{
	const uint64_t now = clock_now_ns();

	if (!log_wants(level))
		return false;
	if (now - published(&peers[level].began_ns) >= NS_PER_S) {
		publish(&peers[level].began_ns, now);
		publish(&peers[level].lines, 0);
		report_suppressed(level);
	}
	if (published_add(&peers[level].lines, 1) <= LOG_PEER_LINES)
		return true;
	published_add(&peers[level].suppressed, 1);
	return false;
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
