/* SPDX-License-Identifier: MIT */
#include "proto/live.h"

#include <string.h>

#include "common/buf.h"
#include "common/state.h"

#define PATH_LEN 4096
#define CHANNEL_LEN 255
#define HOST_LEN 64
#define NAME_LEN 255
#define LISTED_LEN_OLD UINT64_C(339) /* below LIVE_MINOR_FORMATS */

static const struct live_row rows[] = {
	[0] = { .status_at = -1 }, /* no such command */
#define LIVE(wire, name, allowed, size, status_at) \
	[wire] = { #name, allowed, size, status_at },
#include "proto/live.tbl.h"
#undef LIVE
};

const struct live_row *
live_row(uint32_t cmd)
{
	return cmd < ARRAY_LEN(rows) ? &rows[cmd] : &rows[0];
}

enum status
live_request_decode(
    const uint8_t *p, size_t n, struct live_request *out, size_t *used)
{
	struct reader r = reader_over(p, n);

	*out = (struct live_request){ 0 };
	(void)reader_u64(&r); /* data_size is often wrong (live 1.2) */
	out->cmd = reader_u32(&r);
	(void)reader_u32(&r); /* cmd_version */
	switch ((enum live_cmd)out->cmd) {
	case LIVE_CMD_connect:
		(void)reader_u64(&r); /* viewer_session_id */
		out->major = reader_u32(&r);
		out->minor = reader_u32(&r);
		out->type = reader_u32(&r);
		break;
	case LIVE_CMD_attach_session:
		out->id = reader_u64(&r);
		(void)reader_u64(&r); /* offset has no defined use */
		out->seek = reader_u32(&r);
		break;
	case LIVE_CMD_get_packet:
		out->id = reader_u64(&r);
		out->offset = reader_u64(&r);
		out->length = reader_u32(&r);
		break;
	case LIVE_CMD_get_next_index:
	case LIVE_CMD_get_metadata:
	case LIVE_CMD_get_new_streams:
	case LIVE_CMD_detach_session:
		out->id = reader_u64(&r);
		break;
	case LIVE_CMD_list_sessions:
	case LIVE_CMD_create_session:
		break;
	}
	if (reader_done(&r) != OK)
		return E_MORE;
	*used = (size_t)(r.p - p);
	return OK;
}

void
live_request_encode(struct buf *b, const struct live_request *q)
{
	const struct live_row *row = live_row(q->cmd);

	buf_u64(b, row->payload);
	buf_u32(b, q->cmd);
	buf_u32(b, 0);
	if (row->payload == 0)
		return;
	if (q->cmd == LIVE_CMD_connect) {
		buf_u64(b, UINT64_MAX);
		buf_u32(b, q->major);
		buf_u32(b, q->minor);
		buf_u32(b, q->type);
		return;
	}
	buf_u64(b, q->id);
	if (q->cmd == LIVE_CMD_attach_session) {
		buf_u64(b, 0);
		buf_u32(b, q->seek);
	} else if (q->cmd == LIVE_CMD_get_packet) {
		buf_u64(b, q->offset);
		buf_u32(b, q->length);
	}
}

/* A string in an array of N bytes: the rest is filled with zeros, and the last
 * byte is always zero. */
static void
array(struct buf *b, const char *s, size_t n)
{
	size_t len = strnlen(s, n - 1);

	buf_bytes(b, s, len);
	buf_zero(b, n - len);
}

void
live_reply_u32(struct buf *b, uint32_t value)
{
	buf_u32(b, value);
}

void
live_reply_connect(
    struct buf *b, uint64_t viewer_session, uint32_t major, uint32_t minor)
{
	buf_u64(b, viewer_session);
	buf_u32(b, major);
	buf_u32(b, minor);
	buf_u32(b, 0); /* type: never the request's (live 1.5.1) */
}

void
live_reply_session(
    struct buf *b, unsigned minor, const struct live_session_record *s)
{
	buf_u64(b, s->id);
	buf_u32(b, s->live_timer_us);
	buf_u32(b, s->clients);
	buf_u32(b, s->streams);
	if (minor < LIVE_MINOR_FORMATS) {
		array(b, s->hostname, HOST_LEN);
		array(b, s->name, NAME_LEN);
		return;
	}
	buf_u32(b, (uint32_t)strlen(s->hostname));
	buf_u32(b, (uint32_t)strlen(s->name));
	buf_u32(b, s->trace_format);
	buf_bytes(b, s->hostname, strlen(s->hostname));
	buf_bytes(b, s->name, strlen(s->name));
}

void
live_reply_stream(struct buf *b, const struct live_stream_record *s)
{
	buf_u64(b, s->id);
	buf_u64(b, s->trace_id);
	buf_u32(b, s->is_metadata ? 1 : 0);
	array(b, s->path, PATH_LEN);
	array(b, s->channel, CHANNEL_LEN);
}

void
live_reply_index(struct buf *b, const struct live_index *i)
{
	buf_u64(b, i->offset);
	buf_u64(b, i->packet_size);
	buf_u64(b, i->content_size);
	buf_u64(b, i->timestamp_begin);
	buf_u64(b, i->timestamp_end);
	buf_u64(b, i->events_discarded);
	buf_u64(b, i->ctf_stream);
	buf_u32(b, i->status);
	buf_u32(b, i->flags);
}

void
live_reply_packet(
    struct buf *b, uint32_t status, uint32_t length, uint32_t flags)
{
	buf_u32(b, status);
	buf_u32(b, length);
	buf_u32(b, flags);
}

void
live_reply_metadata(struct buf *b, uint64_t length, uint32_t status)
{
	buf_u64(b, length);
	buf_u32(b, status);
}

void
live_listed_decode(struct reader *r, unsigned minor, struct live_listed *out)
{
	const bool has_lengths = minor >= LIVE_MINOR_FORMATS;

	out->id = reader_u64(r);
	out->live_timer_us = reader_u32(r);
	out->clients = reader_u32(r);
	out->streams = reader_u32(r);
	out->trace_format = 0;
	if (!has_lengths) {
		out->hostname = reader_cstr_array(r, HOST_LEN);
		out->name = reader_cstr_array(r, NAME_LEN);
		return;
	}
	out->hostname.n = reader_u32(r);
	out->name.n = reader_u32(r);
	out->trace_format = reader_u32(r);
	out->hostname.p = (const char *)reader_take(r, out->hostname.n);
	out->name.p = (const char *)reader_take(r, out->name.n);
}

void
live_announced_decode(struct reader *r, struct live_announced *out)
{
	out->id = reader_u64(r);
	out->trace_id = reader_u64(r);
	out->is_metadata = reader_u32(r) != 0;
	out->path = reader_cstr_array(r, PATH_LEN);
	out->channel = reader_cstr_array(r, CHANNEL_LEN);
}

void
live_index_decode(struct reader *r, struct live_index *out)
{
	out->offset = reader_u64(r);
	out->packet_size = reader_u64(r);
	out->content_size = reader_u64(r);
	out->timestamp_begin = reader_u64(r);
	out->timestamp_end = reader_u64(r);
	out->events_discarded = reader_u64(r);
	out->ctf_stream = reader_u64(r);
	out->status = reader_u32(r);
	out->flags = reader_u32(r);
}

static uint64_t
list_size(unsigned minor, struct reader *r)
{
	const uint8_t *begin = r->p;
	const uint32_t n = reader_u32(r);
	struct live_listed s;

	if (minor < LIVE_MINOR_FORMATS)
		return r->bad ? 0 : 4 + n * LISTED_LEN_OLD;
	for (uint32_t i = 0; i < n && !r->bad; i++)
		live_listed_decode(r, minor, &s);
	return r->bad ? 0 : (uint64_t)(r->p - begin);
}

uint64_t
live_reply_size(uint32_t cmd, unsigned minor, const uint8_t *p, size_t n)
{
	struct reader r = reader_over(p, n);
	uint64_t length;
	uint32_t status;

	switch ((enum live_cmd)cmd) {
	case LIVE_CMD_connect:
		return 20;
	case LIVE_CMD_list_sessions:
		return list_size(minor, &r);
	case LIVE_CMD_attach_session:
	case LIVE_CMD_get_new_streams:
		(void)reader_u32(&r); /* status */
		length = reader_u32(&r);
		return r.bad ? 0 : 8 + length * LIVE_STREAM_RECORD_LEN;
	case LIVE_CMD_get_next_index:
		return 64;
	case LIVE_CMD_get_packet:
		status = reader_u32(&r);
		length = reader_u32(&r);
		return r.bad ? 0 : 12 + (status == LIVE_PACKET_OK ? length : 0);
	case LIVE_CMD_get_metadata:
		length = reader_u64(&r);
		return r.bad ? 0 : 12 + length;
	case LIVE_CMD_create_session:
	case LIVE_CMD_detach_session:
		return 4;
	}
	return 4; /* LIVE_UNKNOWN_COMMAND */
}

uint32_t
live_reply_status(uint32_t cmd, const uint8_t *p, size_t n)
{
	const int at = live_row(cmd)->status_at;
	struct reader r;

	if (at < 0 || n < (size_t)at + 4)
		return 0;
	r = reader_over(p + at, 4);
	return reader_u32(&r);
}

const char *
live_status_name(uint32_t cmd, uint32_t status)
{
	static const char *const names[][8] = {
		[LIVE_CMD_connect] = { "none" },
		[LIVE_CMD_list_sessions] = { "none" },
		[LIVE_CMD_attach_session] = { "none", "ok", "already",
		    "unknown", "not_live", "seek_error", "no_session" },
		[LIVE_CMD_get_next_index] = { "none", "ok", "retry", "hup",
		    "error", "inactive" },
		[LIVE_CMD_get_packet] = { "none", "ok", "retry", "error" },
		[LIVE_CMD_get_metadata] = { "none", "ok", "no_new", "error" },
		[LIVE_CMD_get_new_streams] = { "none", "ok", "no_new", "error",
		    "hup" },
		[LIVE_CMD_create_session] = { "none", "ok", "error" },
		[LIVE_CMD_detach_session] = { "none", "ok", "unknown",
		    "error" },
	};

	return cmd < ARRAY_LEN(names) && status < ARRAY_LEN(names[0])
		   ? names[cmd][status]
		   : NULL;
}

static const struct state_member request_members[] = {
	STATE_KEEP(struct live_request, cmd),
	STATE_KEEP(struct live_request, major),
	STATE_KEEP(struct live_request, minor),
	STATE_KEEP(struct live_request, type),
	STATE_KEEP(struct live_request, id),
	STATE_KEEP(struct live_request, seek),
	STATE_KEEP(struct live_request, offset),
	STATE_KEEP(struct live_request, length),
};
STATE_TABLE(live_request_state, struct live_request, request_members);
