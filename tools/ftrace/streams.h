/* SPDX-License-Identifier: MIT */
/*
 * The sockets of a link's streams, at either end of it: bytes of a socket
 * become frames, and frames bytes. Who reads slowly makes the source of its
 * stream wait, and no other: LINK_WINDOW. libevent; the loop's thread.
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
	struct dial *dial;	 /* until it is connected */
	bool is_closing;	 /* once all has been written */
	bool is_ended;		 /* by its peer; what that sent is not gone */
	uint32_t room;		 /* how much more the other end takes */
	uint32_t owed;		 /* came, and was not told as taken */
};

struct streams {
	struct event_base *base;
	struct background *names; /* of streams_dial(): dial_create() */
	struct link *link;
	struct streams_stream streams[LINK_STREAMS_MAX];
	unsigned n;
	bool is_held;	 /* some wait for room in the link */
	bool is_closing; /* stream 0, behind all others */
	/* The socket of stream 0 is gone. */
	void (*over)(void *arg);
	/* Bytes of stream 0, from its socket; borrowed. NULL: not wanted. */
	void (*control)(void *arg, const uint8_t *p, size_t n);
	void *arg;
};

/* A socket that is connected. */
enum status streams_add(
    struct streams *s, uint32_t stream, int take_fd) MUST_CHECK;
/* One that will be, to ADDRESS; if not, its stream is closed. */
enum status streams_dial(
    struct streams *s, uint32_t stream, const char *address) MUST_CHECK;
bool streams_has(const struct streams *s, uint32_t stream);
/* N bytes came in a frame: may they? False: they are for nobody, and if there
 * was no room for them, the stream is closed. */
bool streams_took(struct streams *s, uint32_t stream, size_t n);
/* Write them, or what stands for them. */
void streams_write(struct streams *s, uint32_t stream, const void *p, size_t n);
/* A FRAME_TAKEN came. */
void streams_more_room(
    struct streams *s, uint32_t stream, const uint8_t *p, size_t n);
/* Close it when all has been written; stream 0 when it is the only one, so that
 * pages under way are not lost when an agent says that it has ended. */
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
