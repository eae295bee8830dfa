/* SPDX-License-Identifier: MIT */
/*
 * The listener's side of a recorder's control connection, without the socket:
 * bytes in, calls and replies out. Protocol V3, and V1 of trace-cmd up to 2.6.
 *
 *	greeting    "tracecmd", the recorder's version, ours
 *	begin       the recorder states its CPUs
 *	ports       it gets one for each
 *	metadata    the first part of a trace.dat
 *	running     the pages come over other sockets
 *	closed      the recorder has closed in order
 *
 * V1 does not mark the end of the metadata: the owner detects it, and the
 * session ends with the connection. One owner.
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

/* The most bytes of a string in the greeting: versions, decimal numbers. */
#define GREETING_BYTES_MAX 32
/* The most bytes of a V1 option, as in stock; the only option is "TCP". */
#define V1_OPTION_BYTES_MAX 4096
/* The most V1 options. */
#define V1_OPTIONS_MAX 16
/* The most unsent replies, for a recorder that does not read them. */
#define DIALOG_REPLY_BYTES_MAX (64 << 10)

enum dialog_state {
	DIALOG_VERSION,	  /* the recorder's version is expected */
	DIALOG_MAGIC,	  /* V3: the number that confirms it */
	DIALOG_OPTIONS,	  /* V3: "0" after it */
	DIALOG_TINIT,	  /* V3 */
	DIALOG_V1_NUMBER, /* V1: page size, then number of options */
	DIALOG_V1_SIZE,	  /* V1: size of the next option */
	DIALOG_V1_OPTION, /* V1: its bytes */
	DIALOG_PORTS,	  /* it waits for recorder_dialog_ports() */
	DIALOG_METADATA,
	DIALOG_RUNNING,
	DIALOG_CLOSED,
};

/* What a recorder states at the beginning. */
struct recorder_dialog_begin {
	uint32_t cpus, page_size;
	bool is_tcp; /* data over TCP or vsock, not UDP */
	bool is_vsock;
	bool is_v1;
	unsigned unknown; /* options that are not known */
};

struct recorder_dialog_ops {
	/* The recorder has stated its CPUs. Open a data socket for each, then
	 * call recorder_dialog_ports(), not from here. On failure the
	 * connection is closed. */
	enum status (*begin)(
	    void *arg, const struct recorder_dialog_begin *begin);
	enum status (*metadata)(void *arg, const uint8_t *p, size_t n);
	/* V3: the metadata is whole. */
	enum status (*metadata_end)(void *arg);
};

struct recorder_dialog {
	const struct recorder_dialog_ops *ops;
	void *arg;
	enum dialog_state state;
	struct recorder_dialog_begin begin;
	struct buf in;	/* an incomplete string or message */
	struct buf out; /* replies; the owner sends and consumes them */
	char
	    refused[GREETING_BYTES_MAX]; /* the last version that was refused */
	uint32_t v1_numbers, v1_options, v1_size; /* stated by V1 */
	unsigned not_supported; /* messages that came at the wrong time */
	const char *why;	/* set when recorder_dialog_input() fails */
};

void recorder_dialog_init(struct recorder_dialog *d,
    const struct recorder_dialog_ops *ops, void *arg);
void recorder_dialog_free(struct recorder_dialog *d);
/* Handles received bytes. On failure close the connection. Bytes after CLOSE
 * are ignored, those in DIALOG_PORTS wait. */
enum status recorder_dialog_input(
    struct recorder_dialog *d, const uint8_t *p, size_t n) MUST_CHECK;
/* In DIALOG_PORTS: replies with the port of each CPU, and handles bytes that
 * have waited. On failure close the connection. */
enum status recorder_dialog_ports(
    struct recorder_dialog *d, const uint16_t *ports) MUST_CHECK;
/* Has the recorder stated its CPUs? */
static inline bool
recorder_dialog_has_begun(const struct recorder_dialog *d)
{
	return d->state >= DIALOG_PORTS;
}

#endif
