/* SPDX-License-Identifier: MIT */
#include "relayd/record/control.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/log.h"
#include "proto/frame.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"

enum status
control_create(
    struct control **out, const struct control_config *config, char *peer)
{
	struct control *c = calloc(1, sizeof(*c));

	*out = c;
	if (c == NULL)
		return E_NOMEM;
	c->config = config;
	c->peer = peer;
	return OK;
}

void
control_destroy(struct control *c, bool aborted)
{
	if (c == NULL)
		return;
	if (c->session != NULL)
		session_end(c->session, aborted);
	free(c);
}

/* Refuse a request whose header claims too many bytes. */
static enum status
refuse_size(struct control *c, const struct relay_header *hdr, struct buf *out)
{
	const struct relay_row *row = relay_row(hdr->cmd);

	log_peer(LOG_WARN,
	    "peer=%s connection closed: %s (%" PRIu32 ") of %" PRIu64 " bytes",
	    c->peer, row->name == NULL ? "unknown command" : row->name,
	    hdr->cmd, hdr->size);
	c->has_told = true;
	if (row->name != NULL || hdr->size > RELAY_PAYLOAD_MAX)
		return E_LIMIT;
	relay_reply_code(out, RELAY_UNKNOWN_ERROR);
	return E_REFUSED_CLOSE;
}

/* A payload is on its way: wait for it only if the command is allowed now. */
static enum status
expect(struct control *c, const struct relay_header *hdr)
{
	const struct relay_row *row = relay_row(hdr->cmd);
	unsigned state = c->session == NULL ? IN_NEW : IN_SESSION;

	if (row->name == NULL || (row->allowed & state) != 0)
		return OK;
	log_peer(LOG_WARN, "peer=%s connection closed: %s before a session",
	    c->peer, row->name);
	c->has_told = true;
	return E_PROTOCOL;
}

/* Must the next requests wait for a later turn? The lobby has only short
 * ones. */
static bool
is_late(const struct control *c)
{
	return c->shard != NULL && shard_is_late(c->shard);
}

enum status
control_input(struct control *c, const uint8_t *p, size_t n, size_t *used,
    struct buf *out)
{
	struct relay_header hdr;
	struct reader body;
	enum status st;

	c->is_waiting = false;
	for (*used = 0;; *used += RELAY_HEADER_LEN + (size_t)hdr.size) {
		if (buf_len(out) >= CONTROL_OUT_MAX)
			return OK;
		st = frame_relay(p + *used, n - *used, &hdr, &body);
		if (st == E_MORE)
			return n - *used < RELAY_HEADER_LEN ? OK
							    : expect(c, &hdr);
		if (st == E_LIMIT)
			return refuse_size(c, &hdr, out);
		c->is_waiting = *used > 0 && is_late(c);
		if (c->is_waiting)
			return OK;
		st = control_serve(c, &hdr, &body, out);
		c->is_waiting = st == E_LATER;
		if (c->is_waiting)
			return OK;
		c->done = 0;
		/* E_REFUSED: the reply is an error, but the connection goes
		 * on. */
		if (st != OK && st != E_REFUSED)
			return st;
		if (out->bad)
			return E_NOMEM;
	}
}
