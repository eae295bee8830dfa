/* SPDX-License-Identifier: MIT */
/*
 * The control connection as seen by the tracer: requests go out, replies come
 * back in the same order (streaming 1.2). A dialog consumes and produces bytes;
 * it has no sockets. Requests may be pipelined, as many as MOST of
 * dialog_init().
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
	unsigned minor; /* what both sides speak; what the caller asked for
			   until the reply to VERSION is taken */
	struct dialog_asked *asked; /* ring */
	unsigned cap, first, n;
};

/* One reply. The fields that all replies have are decoded. */
struct dialog_reply {
	uint32_t cmd;	/* that of the request */
	uint64_t tag;	/* that of the request */
	uint64_t at_ns; /* when the request was made, clock_now_ns() */
	uint32_t code;	/* of enum relay_code; RELAY_OK if the reply has none */
	/* VERSION: the relay's minor. CREATE_SESSION: its id. ADD_STREAM: the
	 * handle. GET_CONFIGURATION: flags. (END_)DATA_PENDING: the
	 * answer. */
	uint64_t value;
	struct span path;   /* CREATE_SESSION, CLOSE_TRACE_CHUNK; not ended by
			       a NUL; valid until the next call */
	struct reader body; /* the whole reply; valid until the next call */
};

enum status dialog_init(
    struct dialog *d, unsigned minor, unsigned most) MUST_CHECK;
void dialog_free(struct dialog *d); /* also if all is zero */

/* How many requests may be made now? */
static inline unsigned
dialog_space(const struct dialog *d)
{
	return d->cap - d->n;
}

/*
 * The buffer for a request of command CMD: the caller appends it by
 * relay_request_*(). A reply is then expected. dialog_space() must not be 0.
 * When an append fails, d->out.bad is set. SEND_METADATA has no reply: append
 * it to d->out directly.
 */
struct buf *dialog_ask(struct dialog *d, uint32_t cmd, uint64_t tag);

/*
 * The next reply in d->in. E_MORE: it is not whole. E_PROTOCOL: bytes that no
 * request asked for, another major version, or a reply that is not valid.
 */
enum status dialog_next(struct dialog *d, struct dialog_reply *out) MUST_CHECK;

#endif
