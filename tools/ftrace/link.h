/* SPDX-License-Identifier: MIT */
/*
 * A connection between broker, connect and reach that carries streams: a line
 * of text each way, then frames. A frame is a 32-bit length of the rest, a byte
 * with its kind, a 32-bit stream, and bytes; big-endian. The side that reaches
 * for a guest creates the streams: stream 0 goes to the agent's port, others to
 * ports that the agent has named. libevent; the loop's thread.
 */
#ifndef TOOLS_FTRACE_LINK_H
#define TOOLS_FTRACE_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

/* The most bytes of a frame, and of a line. */
#define FRAME_BYTES_MAX (64 << 10)
#define HELLO_BYTES_MAX 512
/* Streams of a session: one for each CPU, control, time synchronisation. */
#define LINK_STREAMS_MAX 1602
/* Bytes of a stream that its reader has not taken. More bytes close the stream.
 * So no stream blocks another. */
#define LINK_WINDOW (256 << 10)
/* Bytes of all streams waiting for the connection; beyond it no source is
 * read. */
#define LINK_WAITING_MAX (1 << 20)
/* The same, with replies; beyond it the connection ends. */
#define LINK_WAITING_LAST (4 << 20)
/* The time until the peer's line has arrived, from the beginning. */
#define LINK_HELLO_S 5
/* The time after which a peer that takes no bytes is gone. */
#define LINK_STALL_S 30

enum frame_kind {
	FRAME_OPEN, /* bytes: a 16-bit port; 0: the agent's own */
	FRAME_DATA,
	FRAME_CLOSE, /* nothing more comes in this stream */
	/* The session is over, and all its streams are closed. The broker sends
	 * it to a guest, which answers with the same after the last frame of
	 * that session. */
	FRAME_RESET,
	FRAME_TAKEN, /* bytes: 32 bits, how many more may be sent */
	FRAME_KINDS
};

struct bufferevent;
struct event_base;
struct link;
struct command_loop;

/* Each may destroy the link, and then returns at once. */
struct link_ops {
	/* The peer's line, without its end. */
	void (*line)(void *arg, char *line);
	void (*frame)(void *arg, enum frame_kind kind, uint32_t stream,
	    const uint8_t *p, size_t n);
	/* Waiting bytes have been sent. */
	void (*drained)(void *arg);
	/* The connection is gone, too slow, or broke a rule. */
	void (*ended)(void *arg);
};

enum status link_create(struct link **out, struct event_base *base, int take_fd,
    const struct link_ops *ops, void *arg) MUST_CHECK;
/* Connects to ADDRESS (dial_create()); what is sent before that waits. If the
 * connection fails, which is logged, or the line is late, ended() is called. */
enum status link_dial(struct link **out, struct command_loop *loop,
    const char *address, const struct link_ops *ops, void *arg) MUST_CHECK;
/* Waiting bytes are not sent. NULL is fine. */
void link_destroy(struct link *l);
/* Stops reading; calls ended() when all is sent, at the latest after
 * LINK_HELLO_S. */
void link_finish(struct link *l);
/* False: the connection was never made. */
bool link_is_connected(const struct link *l);
/* The reason in a line that is not "ok". */
const char *link_why(const char *line);
/* The peer sends only lines, all within LINK_HELLO_S. */
void link_expect_lines(struct link *l);
void link_line(struct link *l, const char *fmt, ...) PRINTF_LIKE(2, 3);
void link_frame(struct link *l, enum frame_kind kind, uint32_t stream,
    const void *p, size_t n);
/* Do so many bytes wait that sources should not be read? */
bool link_is_full(const struct link *l);
/* Starts or pauses reading. */
void link_set_reading(struct link *l, bool is_on);
/* Tells the peer that N bytes of the stream were taken. */
void link_taken(struct link *l, uint32_t stream, uint32_t n);
/* Adds the number in a FRAME_TAKEN to WINDOW, what may still be sent. */
uint32_t link_grow_window(uint32_t window, const uint8_t *p, size_t n);

#endif
