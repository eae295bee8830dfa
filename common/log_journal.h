/* SPDX-License-Identifier: MIT */
/*
 * Entries with fields for the journal of systemd, by its native protocol
 * (systemd.io/JOURNAL_NATIVE_PROTOCOL). The library's sd_journal_sendv() is not
 * used: it blocks while the journal is busy, and its memfd_create(2) is refused
 * by the sandbox. Any thread.
 */
#ifndef COMMON_LOG_JOURNAL_H
#define COMMON_LOG_JOURNAL_H

#include <stddef.h>

#include "common/log.h"
#include "common/status.h"

#define LOG_JOURNAL_SOCKET "/run/systemd/journal/socket"

struct log_entry {
	enum log_level level;
	const char *message; /* one line, without control characters */
	size_t message_len;
	/* Its tags become TRACEPULSE_PEER, _HOST, _SESSION_ID, _SESSION and
	 * _STREAM. */
	const char *detail;
	const struct log_source *source; /* CODE_FILE, CODE_LINE, CODE_FUNC */
	int error;			 /* ERRNO; 0: none */
};

/* Returns a socket that is connected to PATH and never blocks; -1: there is no
 * journal. */
int log_journal_open(const char *path);
/* E_BUSY: its queue is full. E_IO: it cannot be reached. */
enum status log_journal_send(int fd, const struct log_entry *e);

#endif
