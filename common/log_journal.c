/* SPDX-License-Identifier: MIT */
#include "common/log_journal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/compiler.h"
#include "common/log_text.h"

int
log_journal_open(const char *path)
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

/* NAME=VALUE and a newline; nothing if it does not fit. */
static size_t
put_field(char *out, size_t n, const char *name, const char *value, size_t len)
{
	const size_t name_len = strlen(name);

	if (len == 0 || name_len + len + 2 > n)
		return 0;
	memcpy(out, name, name_len);
	out[name_len] = '=';
	memcpy(out + name_len + 1, value, len);
	out[name_len + 1 + len] = '\n';
	return name_len + len + 2;
}

static size_t
put_number(char *out, size_t n, const char *name, int value)
{
	char text[16];

	return put_field(out, n, name, text,
	    (size_t)snprintf(text, sizeof(text), "%d", value));
}

/* A value from a peer is escaped as in the text of a line: a newline would
 * begin another field. */
static size_t
put_text(char *out, size_t n, const char *name, const char *value, size_t len)
{
	char text[LOG_LINE_MAX];

	len = log_escape(text, sizeof(text), value, value + len, false);
	return put_field(out, n, name, text, len);
}

static size_t
put_tags(char *out, size_t n, const char *detail)
{
	static const struct {
		const char *tag, *field;
	} tags[] = { { "peer", "TRACEPULSE_PEER" },
		{ "host", "TRACEPULSE_HOST" },
		{ "session", "TRACEPULSE_SESSION" },
		{ "stream", "TRACEPULSE_STREAM" } };
	size_t len = 0, value_len;
	const char *value, *slash;

	for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
		value_len = log_take_tag(tags[i].tag, &detail, &value);
		slash = memchr(value, '/', value_len);
		/* "session=7/NAME": a reader wants to ask for a name. */
		if (strcmp(tags[i].tag, "session") == 0 && slash != NULL) {
			len += put_text(out + len, n - len,
			    "TRACEPULSE_SESSION_ID", value,
			    (size_t)(slash - value));
			value_len -= (size_t)(slash + 1 - value);
			value = slash + 1;
		}
		len += put_text(
		    out + len, n - len, tags[i].field, value, value_len);
	}
	return len;
}

static size_t
put_source(char *out, size_t n, const struct log_source *p)
{
	const char *file = p->file;
	size_t len;

	/* A build in a directory of its own names files "../../FILE". */
	while (strncmp(file, "../", 3) == 0)
		file += 3;
	len = put_field(out, n, "CODE_FILE", file, strlen(file));
	len += put_number(out + len, n - len, "CODE_LINE", p->line);
	return len + put_field(out + len, n - len, "CODE_FUNC", p->function,
			 strlen(p->function));
}

enum status
log_journal_send(int fd, const struct log_entry *e)
{
	const char *name = program_invocation_short_name;
	/* The message, and fields of which no value is longer than it. */
	char out[4 * LOG_JSON_MAX];
	const size_t n = sizeof(out);
	ssize_t sent;
	size_t len;

	len = put_field(out, n, "MESSAGE", e->message, e->message_len);
	len += put_number(
	    out + len, n - len, "PRIORITY", log_priority(e->level));
	len += put_field(
	    out + len, n - len, "SYSLOG_IDENTIFIER", name, strlen(name));
	len += put_tags(out + len, n - len, e->detail);
	len += put_source(out + len, n - len, e->source);
	if (e->error != 0)
		len += put_number(out + len, n - len, "ERRNO", e->error);
	do
		sent = send(fd, out, len, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent >= 0)
		return OK;
	return errno == EAGAIN || errno == ENOBUFS ? E_BUSY : E_IO;
}
