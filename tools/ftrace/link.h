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
/* Bytes of one stream that its reader has not taken: who sends more than there
 * is room for loses the stream. So no stream holds up another. */
#define LINK_WINDOW (256 << 10)
/* Bytes of all streams that wait for the connection; then no source is read. */
#define LINK_WAITING_MAX (1 << 20)
/* With answers to what came; then the connection ends. */
#define LINK_WAITING_LAST (4 << 20)
/* Until the other side has said its line, from its first moment on. */
#define LINK_HELLO_S 5
/* Who takes nothing of what waits for so long is gone. */
#define LINK_STALL_S 30

enum frame_kind {
	FRAME_OPEN, /* its bytes: 16-bit port; 0: the agent's own */
	FRAME_DATA,
	FRAME_CLOSE, /* nothing more comes in this stream */
	/* All streams are closed: the session is over. The broker says so to a
	 * guest, which answers the same, behind the last of that session. */
	FRAME_RESET,
	FRAME_TAKEN, /* its bytes: 32 bits, how many more may be sent */
	FRAME_KINDS
};

struct background;
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
	/* The connection is gone, is too slow, or has broken a rule. */
	void (*ended)(void *arg);
};

enum status link_create(struct link **out, struct event_base *base, int take_fd,
    const struct link_ops *ops, void *arg) MUST_CHECK;
/* To ADDRESS, as dial_create(); what is sent meanwhile waits. When it cannot be
 * reached, which is logged, or says no line in time, it has ended. */
enum status link_dial(struct link **out, struct event_base *base,
    struct background *names, const char *address, const struct link_ops *ops,
    void *arg) MUST_CHECK;
/* What waits is not sent. NULL is fine. */
void link_destroy(struct link *l);
/* It is not heard any more, and has ended when all has been sent, or
 * LINK_HELLO_S later. */
void link_finish(struct link *l);
/* False: what it was to be connected to could not be reached. */
bool link_is_connected(const struct link *l);
/* The reason in a line that is not "ok". */
const char *link_why(const char *line);
/* All that comes is lines, and all of them within LINK_HELLO_S. */
void link_hear_lines(struct link *l);
void link_line(struct link *l, const char *fmt, ...) PRINTF_LIKE(2, 3);
void link_frame(struct link *l, enum frame_kind kind, uint32_t stream,
    const void *p, size_t n);
/* Does so much wait that its source should not be read? */
bool link_is_full(const struct link *l);
/* Hear it, or not for now. */
void link_hear(struct link *l, bool is_heard);
/* "So many bytes of this stream were taken." */
void link_taken(struct link *l, uint32_t stream, uint32_t n);
/* What a FRAME_TAKEN adds to the room that a sender has. */
uint32_t link_more_room(uint32_t room, const uint8_t *p, size_t n);

#endif
