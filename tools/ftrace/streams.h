/* SPDX-License-Identifier: MIT */
/*
 * The sockets of a link's streams, at either end: bytes of a socket become
 * frames, and frames become bytes. A slow reader blocks the source of its own
 * stream only (LINK_WINDOW). libevent; the loop's thread.
 */
#ifndef TOOLS_FTRACE_STREAMS_H
#define TOOLS_FTRACE_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/ftrace/link.h"
#include "tools/ftrace/message.h"

/* The most bytes before an agent's TRACE_RESP. */
#define RESP_WAITING_MAX (64 << 10)

struct streams;

struct streams_stream {
	struct streams *all;
	struct bufferevent *bev; /* NULL: none */
	struct dial *dial;	 /* until it is connected */
	bool is_closing;	 /* when all is written */
	bool is_ended;		 /* by its peer; its bytes may still wait */
	uint32_t window;	 /* bytes that may still be sent */
	uint32_t
	    unreported; /* bytes that came, and were not reported as taken */
};

struct streams {
	struct command_loop *loop;
	struct link *link;
	struct streams_stream streams[LINK_STREAMS_MAX];
	unsigned n;
	bool is_blocked; /* some wait until the link is less full */
	bool is_closing; /* stream 0, after all others */
	/* The socket of stream 0 is gone. */
	void (*over)(void *arg);
	/* Bytes from the socket of stream 0 that are sent; borrowed. NULL: not
	 * used. */
	void (*sent)(void *arg, const uint8_t *p, size_t n);
	/* Gets the bytes for the socket of stream 0. NULL: it gets them. */
	void (*received)(void *arg, const uint8_t *p, size_t n);
	void *arg;
};

/* Adds a connected socket. */
enum status streams_add(
    struct streams *s, uint32_t stream, int take_fd) MUST_CHECK;
/* Connects to ADDRESS; if that fails, the stream is closed. */
enum status streams_dial(
    struct streams *s, uint32_t stream, const char *address) MUST_CHECK;
bool streams_has(const struct streams *s, uint32_t stream);
/* Handles a frame of the link. False: it is none of DATA, TAKEN and CLOSE.
 * Bytes beyond the window close their stream. */
bool streams_frame(struct streams *s, enum frame_kind kind, uint32_t stream,
    const uint8_t *p, size_t n);
/* Writes bytes to the stream's socket. */
void streams_write(struct streams *s, uint32_t stream, const void *p, size_t n);
/* Closes all at once. */
void streams_reset(struct streams *s);
/* The link has sent what waited. */
void streams_resume(struct streams *s);

/* Searches the first bytes of an agent for its TRACE_RESP. */
struct resp_finder {
	struct buf in;
	bool is_done; /* found, or given up */
};

/* Adds bytes. OK: *OUT is the message, SIZE bytes at *AT in F->in. E_MORE: not
 * yet. Otherwise there is none. */
enum status resp_find(struct resp_finder *f, const uint8_t *p, size_t n,
    struct message_resp *out, size_t *at, size_t *size) MUST_CHECK;

#endif
