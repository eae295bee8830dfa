/* SPDX-License-Identifier: MIT */
#include "tools/client/dialog.h"

#include <assert.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/relpath.h"
#include "proto/relay.h"
#include "proto/udp.h"

struct dialog_asked {
	uint32_t cmd;
	uint64_t tag, at_ns;
};

enum status
dialog_init(struct dialog *d, unsigned minor, unsigned most)
{
	*d = (struct dialog){ .minor = minor, .cap = most };
	d->asked = calloc(most, sizeof(*d->asked));
	return d->asked == NULL ? E_NOMEM : OK;
}

void
dialog_free(struct dialog *d)
{
	buf_free(&d->in);
	buf_free(&d->out);
	free(d->asked);
	*d = (struct dialog){ 0 };
}

struct buf *
dialog_ask(struct dialog *d, uint32_t cmd, uint64_t tag)
{
	assert(dialog_space(d) > 0);
	d->asked[(d->first + d->n++) % d->cap] = (struct dialog_asked){ cmd,
		tag, clock_now_ns() };
	return &d->out;
}

/* A path of N bytes, its NUL included. */
static struct span
take_path(struct reader *r, uint32_t n)
{
	if (n >= RELPATH_MAX)
		r->bad = true;
	return n == 0 ? (struct span){ "", 0 } : reader_cstr(r, n);
}

/* Find only the length of the reply. */
static void
take_udp_status(struct reader *r, struct dialog_reply *out)
{
	struct udp_status s;
	uint32_t streams;

	if (udp_status_head_decode(r, &out->code, &streams) != OK)
		return;
	for (uint32_t i = 0; i < streams && !r->bad; i++)
		if (udp_status_decode(r, &s) == OK)
			reader_take(r, (uint64_t)s.ranges * UDP_RANGE_LEN);
}

static void
take_fields(struct dialog *d, struct reader *r, struct dialog_reply *out)
{
	switch (out->cmd) {
	case RELAY_CMD_version:
		if (reader_u32(r) != RELAY_MAJOR)
			out->code = RELAY_INVALID_PROTOCOL;
		out->value = reader_u32(r);
		break;
	case RELAY_CMD_create_session:
		out->value = reader_u64(r);
		out->code = reader_u32(r);
		if (d->minor >= 11)
			out->path = take_path(r, reader_u32(r));
		break;
	case RELAY_CMD_add_stream:
		out->value = reader_u64(r);
		out->code = reader_u32(r);
		break;
	case RELAY_CMD_get_configuration:
		out->code = reader_u32(r);
		out->value = reader_u64(r);
		break;
	case RELAY_CMD_data_pending:
	case RELAY_CMD_end_data_pending:
		out->value = reader_u32(r);
		break;
	case RELAY_CMD_close_trace_chunk:
		out->code = reader_u32(r);
		out->path = take_path(r, reader_u32(r));
		break;
	case RELAY_CMD_stream_written:
		out->code = reader_u32(r);
		reader_take(r, RELAY_WRITTEN_LEN);
		break;
	case RELAY_CMD_udp_open:
		out->code = reader_u32(r);
		reader_take(r, UDP_OPEN_REPLY_LEN - sizeof(uint32_t));
		break;
	case RELAY_CMD_udp_status:
		take_udp_status(r, out);
		break;
	default:
		out->code = reader_u32(r);
	}
}

/* A reader fails when bytes are missing or not valid. No reply is longer than
 * its numbers and one path, except that to UDP_STATUS, which has as many ranges
 * as there are streams with gaps. */
#define REPLY_MAX (16 + RELPATH_MAX)
#define STATUS_MAX (64 * 1024 * 1024)

static enum status
take_reply(struct dialog *d, struct dialog_reply *out)
{
	const size_t len = buf_len(&d->in);
	const size_t most = out->cmd == RELAY_CMD_udp_status ? STATUS_MAX
							     : REPLY_MAX;
	struct reader r = reader_over(buf_data(&d->in), len);

	take_fields(d, &r, out);
	if (r.bad)
		return len < most ? E_MORE : E_PROTOCOL;
	out->body = reader_over(
	    buf_data(&d->in), (size_t)(r.p - buf_data(&d->in)));
	return OK;
}

enum status
dialog_next(struct dialog *d, struct dialog_reply *out)
{
	const struct dialog_asked *asked = &d->asked[d->first];
	enum status st;

	if (buf_len(&d->in) == 0)
		return E_MORE;
	if (d->n == 0)
		return E_PROTOCOL;
	*out = (struct dialog_reply){ .cmd = asked->cmd,
		.tag = asked->tag,
		.at_ns = asked->at_ns,
		.code = RELAY_OK,
		.path = { "", 0 } };
	if ((st = take_reply(d, out)) != OK)
		return st;
	if (out->cmd == RELAY_CMD_version && out->value < d->minor)
		d->minor = (unsigned)out->value;
	/* Consumed bytes stay where they are until the next append. */
	buf_consume(&d->in, (size_t)(out->body.end - out->body.p));
	d->first = (d->first + 1) % d->cap;
	d->n--;
	return OK;
}
