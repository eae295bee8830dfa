/* SPDX-License-Identifier: MIT */
/*
 * The sockets of a link's streams, at either end of it: bytes of a socket
 * become frames, and frames bytes. A slow reader anywhere makes its source
 * wait. libevent; the loop's thread.
 */
#ifndef TOOLS_FTRACE_STREAMS_H
#define TOOLS_FTRACE_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/ftrace/link.h"
#include "tools/ftrace/message.h"

/* Bytes before an agent's TRACE_RESP, at most. */
#define RESP_WAITING_MAX (64 << 10)

struct streams;

struct streams_stream {
	struct streams *all;
	struct bufferevent *bev; /* NULL: there is none */
	bool is_closing;	 /* once all has been written */
};

struct streams {
	struct event_base *base;
	struct link *link;
	struct streams_stream streams[LINK_STREAMS_MAX];
	/* The socket of stream 0 is gone. */
	void (*over)(void *arg);
	/* Bytes of stream 0, from its socket; borrowed. NULL: not wanted. */
	void (*control)(void *arg, const uint8_t *p, size_t n);
	void *arg;
};

/* FD is given away. */
enum status streams_add(
    struct streams *s, uint32_t stream, int take_fd) MUST_CHECK;
bool streams_has(const struct streams *s, uint32_t stream);
/* Bytes came in a frame. */
void streams_write(struct streams *s, uint32_t stream, const void *p, size_t n);
/* Close it when all has been written. */
void streams_close(struct streams *s, uint32_t stream);
/* All, at once. */
void streams_reset(struct streams *s);
/* The link has sent what waited. */
void streams_go_on(struct streams *s);

/* An agent's TRACE_RESP within what it says first. */
struct resp_finder {
	struct buf in;
	bool is_done; /* found, or nobody looks any more */
};

/* More bytes. OK: *OUT is it, and it began at *AT of f->in with *SIZE bytes.
 * E_MORE: not yet. Else there will be none. */
enum status resp_find(struct resp_finder *f, const uint8_t *p, size_t n,
    struct message_resp *out, size_t *at, size_t *size) MUST_CHECK;

#endif
