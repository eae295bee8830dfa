/* SPDX-License-Identifier: MIT */
/*
 * The control connection as its peer sees it: requests go out, replies come
 * back in the same order (streaming 1.2). Bytes in, bytes out; knows no
 * sockets. Requests may be pipelined, as many as dialog_init() was told.
 *
 * Single owner. Depends on: common/, proto/.
 */
#ifndef TOOLS_CLIENT_DIALOG_H
#define TOOLS_CLIENT_DIALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/reader.h"
#include "common/status.h"

struct dialog_asked;

struct dialog {
	struct buf in;	/* what was received */
	struct buf out; /* what is to be sent */
	unsigned minor; /* what both sides speak; the caller's wish until the
			   reply to VERSION is taken */
	struct dialog_asked *asked; /* ring */
	unsigned cap, first, n;
};

/* One reply, decoded as far as all of them are alike. */
struct dialog_reply {
	uint32_t cmd;	/* of the request */
	uint32_t tag;	/* what the request was given */
	uint64_t at_ns; /* when it was made, clock_now_ns() */
	uint32_t code;	/* of enum relay_code; RELAY_OK where there is none */
	/* VERSION: the relay's minor. CREATE_SESSION: its id. ADD_STREAM: the
	 * handle. GET_CONFIGURATION: flags. (END_)DATA_PENDING: the answer.
	 * TRACE_CHUNK_EXISTS: 0 or 1. */
	uint64_t value;
	struct span path;   /* CREATE_SESSION, CLOSE_TRACE_CHUNK; not ended by
			       a NUL; valid until the next call */
	struct reader body; /* the whole reply; valid as long */
};

enum status dialog_init(
    struct dialog *d, unsigned minor, unsigned most) MUST_CHECK;
void dialog_free(struct dialog *d); /* one that was never filled, too */

/* How many requests may be made now? */
static inline unsigned
dialog_room(const struct dialog *d)
{
	return d->cap - d->n;
}

/*
 * Where to encode a request (relay_request_*()) of that command, which is then
 * expected to be answered. There must be room. Failures to append are
 * d->out.bad. SEND_METADATA has no reply: append it to d->out directly.
 */
struct buf *dialog_ask(struct dialog *d, uint32_t cmd, uint32_t tag);

/*
 * The next reply in d->in. E_MORE: it is not whole. E_PROTOCOL: bytes that no
 * request asked for, another major version, or a reply that cannot be.
 */
enum status dialog_next(struct dialog *d, struct dialog_reply *out) MUST_CHECK;

#endif
