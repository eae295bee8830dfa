/* SPDX-License-Identifier: MIT */
/*
 * One connection that carries many, between broker, connect and reach: a line
 * of text each way, then frames. A frame is a 32-bit length of what follows, a
 * byte that says its kind, a 32-bit stream, and bytes; big-endian. Streams are
 * made by who reaches for a guest: stream 0 goes to its agent's port, others to
 * ports that the agent has named. libevent; the loop's thread.
 */
#ifndef TOOLS_FTRACE_LINK_H
#define TOOLS_FTRACE_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

/* Bytes of a frame, and of a line. */
#define FRAME_BYTES_MAX (64 << 10)
#define HELLO_BYTES_MAX 512
/* Streams of a session: one for each CPU, control, time synchronisation. */
#define LINK_STREAMS_MAX 1602
/* Bytes that wait for a slow reader; then its source is not read. */
#define LINK_WAITING_MAX (1 << 20)

enum frame_kind {
	FRAME_OPEN, /* its bytes: 16-bit port; 0: the agent's own */
	FRAME_DATA,
	FRAME_CLOSE, /* nothing more comes in this stream */
	/* All streams are closed: the session is over. The broker says so to a
	 * guest, which answers the same, behind the last of that session. */
	FRAME_RESET,
	FRAME_KINDS
};

struct bufferevent;
struct event_base;
struct link;

/* Each may destroy the link, and then returns at once. */
struct link_ops {
	/* The other side's line, without its end. */
	void (*line)(void *arg, char *line);
	void (*frame)(void *arg, enum frame_kind kind, uint32_t stream,
	    const uint8_t *p, size_t n);
	/* What waited has been sent. */
	void (*drained)(void *arg);
	/* The connection is gone, or has broken a rule. */
	void (*ended)(void *arg);
};

enum status link_create(struct link **out, struct event_base *base, int take_fd,
    const struct link_ops *ops, void *arg) MUST_CHECK;
void link_destroy(struct link *l); /* NULL is fine */
/* Destroy it when all has been sent; it is not heard any more. */
void link_finish(struct link *l);
void link_line(struct link *l, const char *fmt, ...) PRINTF_LIKE(2, 3);
void link_frame(struct link *l, enum frame_kind kind, uint32_t stream,
    const void *p, size_t n);
/* Does so much wait that its source should not be read? */
bool link_is_full(const struct link *l);
/* Hear it, or not for now. */
void link_hear(struct link *l, bool is_heard);
/* Who says nothing for so long is gone; 0: may be silent. */
void link_set_silence(struct link *l, unsigned seconds);

/* "a-Z0-9._-", at most LINK_NAME_MAX - 1 of them: the name of a guest. */
#define LINK_NAME_MAX 64
bool link_is_name(const char *s);

/* A word of the file PATH, which nobody else may read: 16 to 126 characters.
 * Failures are logged. */
#define TOKEN_BYTES 128
enum status link_read_token(char out[TOKEN_BYTES], const char *path) MUST_CHECK;
/* The same, in a time that does not tell where they differ. */
bool link_is_token(const char *a, const char *b);

/* HOST:PORT, connected; waits. -1: it is logged. */
int link_dial(const char *address);

#endif
