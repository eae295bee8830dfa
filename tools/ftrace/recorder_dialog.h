/* SPDX-License-Identifier: MIT */
/*
 * A listener's side of a recorder's control connection, without its socket:
 * bytes in, calls and replies out. Protocol V3, and V1 of trace-cmd up to 2.6.
 *
 *	greeting    "tracecmd", the recorder's version, ours
 *	begin       what the recorder has: its CPUs; we answer with ports
 *	metadata    the first part of a trace.dat
 *	running     the recorder's pages come over other sockets
 *	closed      it has closed in order
 *
 * With V1, nothing says where the metadata ends: whoever takes it finds out,
 *and the session ends with the connection. One owner.
 */
#ifndef TOOLS_FTRACE_RECORDER_DIALOG_H
#define TOOLS_FTRACE_RECORDER_DIALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/status.h"
#include "tools/ftrace/message.h"

/* Bytes of a string of the greeting: versions and decimal numbers. */
#define GREETING_BYTES_MAX 32
/* Bytes of an option of V1; stock takes no more, and the only one is "TCP". */
#define V1_OPTION_BYTES_MAX 4096
/* Options of V1. */
#define V1_OPTIONS_MAX 16
/* Replies that wait to be sent: a recorder that asks and never reads. */
#define DIALOG_REPLY_BYTES_MAX (64 << 10)

enum dialog_state {
	DIALOG_VERSION,	  /* which one does it speak? */
	DIALOG_MAGIC,	  /* V3: the number that confirms it */
	DIALOG_OPTIONS,	  /* V3: "0" behind it */
	DIALOG_TINIT,	  /* V3 */
	DIALOG_V1_NUMBER, /* V1: page size, then number of options */
	DIALOG_V1_SIZE,	  /* V1: the size of the next option */
	DIALOG_V1_OPTION, /* V1: its bytes */
	DIALOG_METADATA,
	DIALOG_RUNNING,
	DIALOG_CLOSED,
};

/* What a session begins with. */
struct recorder_dialog_begin {
	uint32_t cpus, page_size;
	bool is_tcp; /* data over TCP, not UDP */
	bool is_v1;
	unsigned unknown; /* options that we do not know; ignored */
};

struct recorder_dialog_ops {
	/* Open a data socket for each CPU, and say their ports. Not OK: the
	 * connection is closed. */
	enum status (*begin)(void *arg,
	    const struct recorder_dialog_begin *begin,
	    uint16_t ports[MESSAGE_CPUS_MAX]);
	enum status (*metadata)(void *arg, const uint8_t *p, size_t n);
	/* V3: the metadata is whole. */
	enum status (*metadata_end)(void *arg);
};

struct recorder_dialog {
	const struct recorder_dialog_ops *ops;
	void *arg;
	enum dialog_state state;
	struct recorder_dialog_begin begin;
	struct buf in;	/* a string or message that is not whole yet */
	struct buf out; /* replies; the owner sends and consumes them */
	char refused[GREETING_BYTES_MAX]; /* the last version that we refused */
	uint32_t v1_numbers, v1_options, v1_size; /* what V1 has said */
	unsigned not_supported; /* messages that came at the wrong time */
	const char
	    *why; /* what was wrong, once recorder_dialog_input() failed */
};

void recorder_dialog_init(struct recorder_dialog *d,
    const struct recorder_dialog_ops *ops, void *arg);
void recorder_dialog_free(struct recorder_dialog *d);
/* Bytes came. Not OK: close. Once it is closed, bytes are ignored. */
enum status recorder_dialog_input(
    struct recorder_dialog *d, const uint8_t *p, size_t n) MUST_CHECK;
/* Has it come to the point where nothing is waited for but pages? */
static inline bool
recorder_dialog_has_begun(const struct recorder_dialog *d)
{
	return d->state >= DIALOG_METADATA;
}

#endif
