/* SPDX-License-Identifier: MIT */
#include "tests/lib/relay_echo.h"

#include <assert.h>
#include <stdlib.h>

#include "common/buf.h"
#include "proto/frame.h"
#include "proto/relay.h"
#include "proto/udp.h"

static enum status
echo_version(struct reader *r, unsigned minor, struct buf *out)
{
	struct relay_version v;
	enum status st = relay_version_decode(r, &v);

	if (st == OK)
		relay_request_version(out, v.major, v.minor);
	return st;
}

static const char *
text_of(const struct relpath *name)
{
	return name == NULL ? "" : name->s;
}

static enum status
echo_create_session(struct reader *r, unsigned minor, struct buf *out)
{
	struct relay_create_session c;
	enum status st = relay_create_session_decode(r, minor, &c);
	struct relay_session_request q;

	assert(st == OK || (!c.session_name && !c.hostname && !c.base_path));
	if (st != OK)
		return st;
	q = (struct relay_session_request){
		.session_name = text_of(c.session_name),
		.hostname = text_of(c.hostname),
		.base_path = text_of(c.base_path),
		.live_timer_us = c.live_timer_us,
		.is_snapshot = c.is_snapshot,
		.name_has_time = c.name_has_time,
		.uuid = c.uuid,
		.peer_session = c.peer_session,
		.creation_time = c.creation_time,
		.chunk = c.chunk,
		.trace_format = c.trace_format,
	};
	relay_request_create_session(out, minor, &q);
	relay_create_session_clear(&c);
	return OK;
}

static enum status
echo_add_stream(struct reader *r, unsigned minor, struct buf *out)
{
	struct relay_add_stream a;
	struct reader peek = *r;
	uint64_t chunk = 0;
	enum status st;

	/* The decoder ignores the chunk; it follows two lengths and the
	 * two limits. */
	if (minor >= 11) {
		(void)reader_take(&peek, 24);
		chunk = reader_u64(&peek);
	}
	st = relay_add_stream_decode(r, minor, &a);
	assert(st == OK || (!a.channel && !a.path));
	if (st != OK)
		return st;
	relay_request_add_stream(out, minor, a.channel->s, a.path->s,
	    a.tracefile_size, a.tracefile_count, chunk);
	relay_add_stream_clear(&a);
	return OK;
}

static enum status
echo_empty(enum relay_cmd cmd, struct buf *out)
{
	frame_relay_encode(out, cmd, 0);
	return OK;
}

static enum status
echo_start_data(struct reader *r, unsigned minor, struct buf *out)
{
	return echo_empty(RELAY_CMD_start_data, out);
}

static enum status
echo_streams_sent(struct reader *r, unsigned minor, struct buf *out)
{
	return echo_empty(RELAY_CMD_streams_sent, out);
}

static enum status
echo_send_metadata(struct reader *r, unsigned minor, struct buf *out)
{
	struct relay_send_metadata m;
	enum status st = relay_send_metadata_decode(r, &m);

	if (st == OK)
		relay_request_metadata(
		    out, m.stream, m.data, (size_t)m.size, m.padding);
	return st;
}

static enum status
echo_stream_seq(enum relay_cmd cmd, struct reader *r, struct buf *out)
{
	struct relay_stream_seq s;
	enum status st = relay_stream_seq_decode(r, &s);

	if (st == OK)
		relay_request_stream_seq(out, cmd, s.stream, s.last_net_seq);
	return st;
}

static enum status
echo_close_stream(struct reader *r, unsigned minor, struct buf *out)
{
	return echo_stream_seq(RELAY_CMD_close_stream, r, out);
}

static enum status
echo_data_pending(struct reader *r, unsigned minor, struct buf *out)
{
	return echo_stream_seq(RELAY_CMD_data_pending, r, out);
}

static enum status
echo_reset_metadata(struct reader *r, unsigned minor, struct buf *out)
{
	return echo_stream_seq(RELAY_CMD_reset_metadata, r, out);
}

static enum status
echo_id(enum relay_cmd cmd, struct reader *r, struct buf *out)
{
	uint64_t id;
	enum status st = relay_id_decode(r, &id);

	if (st == OK)
		relay_request_id(out, cmd, id);
	return st;
}

static enum status
echo_get_configuration(struct reader *r, unsigned minor, struct buf *out)
{
	return echo_id(RELAY_CMD_get_configuration, r, out);
}

static enum status
echo_quiescent_control(struct reader *r, unsigned minor, struct buf *out)
{
	return echo_id(RELAY_CMD_quiescent_control, r, out);
}

static enum status
echo_begin_data_pending(struct reader *r, unsigned minor, struct buf *out)
{
	return echo_id(RELAY_CMD_begin_data_pending, r, out);
}

static enum status
echo_end_data_pending(struct reader *r, unsigned minor, struct buf *out)
{
	return echo_id(RELAY_CMD_end_data_pending, r, out);
}

static enum status
echo_trace_chunk_exists(struct reader *r, unsigned minor, struct buf *out)
{
	return echo_id(RELAY_CMD_trace_chunk_exists, r, out);
}

static enum status
echo_send_index(struct reader *r, unsigned minor, struct buf *out)
{
	struct relay_index i;
	enum status st = relay_index_decode(r, minor, &i);

	if (st == OK)
		relay_request_index(out, minor, &i);
	return st;
}

static enum status
echo_rotate_streams(struct reader *r, unsigned minor, struct buf *out)
{
	struct relay_position *positions;
	struct relay_rotate rot;
	enum status st = relay_rotate_decode(r, &rot);

	if (st != OK)
		return st;
	assert(reader_left(&rot.positions) == UINT64_C(16) * rot.count);
	positions = calloc((size_t)rot.count + 1, sizeof(*positions));
	if (positions == NULL)
		return E_NOMEM;
	for (uint32_t i = 0; i < rot.count; i++)
		positions[i] = relay_rotate_next(&rot);
	assert(reader_done(&rot.positions) == OK);
	relay_request_rotate(out, rot.chunk, positions, rot.count);
	free(positions);
	return OK;
}

static enum status
echo_create_trace_chunk(struct reader *r, unsigned minor, struct buf *out)
{
	struct relay_create_chunk c;
	enum status st = relay_create_chunk_decode(r, &c);

	assert(st == OK || !c.override_name);
	if (st != OK)
		return st;
	relay_request_create_chunk(out, c.id, c.creation_time,
	    c.override_name == NULL ? NULL : c.override_name->s);
	relay_create_chunk_clear(&c);
	return OK;
}

static enum status
echo_close_trace_chunk(struct reader *r, unsigned minor, struct buf *out)
{
	struct relay_close_chunk c;
	enum status st = relay_close_chunk_decode(r, &c);

	if (st == OK)
		relay_request_close_chunk(out, c.id, c.close_time,
		    (struct relay_optional){ c.has_command, c.command });
	return st;
}

static enum status
echo_udp_open(struct reader *r, unsigned minor, struct buf *out)
{
	struct udp_open o;
	enum status st = udp_open_decode(r, &o);

	if (st == OK)
		udp_open_request(out, &o);
	return st;
}

static enum status
echo_udp_status(struct reader *r, unsigned minor, struct buf *out)
{
	return echo_id(RELAY_CMD_udp_status, r, out);
}

static enum status
echo_resume(struct reader *r, unsigned minor, struct buf *out)
{
	struct secret key;
	enum status st = relay_resume_decode(r, &key);

	if (st == OK)
		relay_request_resume(out, &key);
	return st;
}

static enum status
echo_stream_written(struct reader *r, unsigned minor, struct buf *out)
{
	return echo_id(RELAY_CMD_stream_written, r, out);
}

enum status
relay_echo(uint32_t cmd, struct reader body, unsigned minor, struct buf *out)
{
	switch (cmd) {
#define RELAY(wire, name, since, allowed, max) \
	case wire:                             \
		return echo_##name(&body, minor, out);
#include "proto/relay.tbl.h"
#undef RELAY
	}
	return E_PROTOCOL;
}
