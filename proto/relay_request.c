/* SPDX-License-Identifier: MIT */
#include "proto/relay.h"

#include "common/buf.h"
#include "proto/frame.h"

/* A NUL-terminated string in a field of N bytes. */
static void
put_array(struct buf *b, const char *s, size_t n)
{
	const size_t len = strnlen(s, n - 1);

	buf_bytes(b, s, len);
	buf_zero(b, n - len);
}

static void
put_optional(struct buf *b, struct relay_optional o)
{
	buf_u8(b, o.is_set);
	buf_u64(b, o.value);
}

void
relay_request_version(struct buf *b, uint32_t major, uint32_t minor)
{
	frame_relay_encode(b, RELAY_CMD_version, 8);
	buf_u32(b, major);
	buf_u32(b, minor);
}

void
relay_request_get_configuration(struct buf *b, uint64_t query_flags)
{
	relay_request_id(b, RELAY_CMD_get_configuration, query_flags);
}

static void
create_session_old(struct buf *b, const struct relay_session_request *q)
{
	frame_relay_encode(b, RELAY_CMD_create_session,
	    RELAY_SESSION_NAME_MAX + RELAY_HOSTNAME_MAX_OLD + 8);
	put_array(b, q->session_name, RELAY_SESSION_NAME_MAX);
	put_array(b, q->hostname, RELAY_HOSTNAME_MAX_OLD);
	buf_u32(b, q->live_timer_us);
	buf_u32(b, q->is_snapshot);
}

static void
create_session(
    struct buf *b, unsigned minor, const struct relay_session_request *q)
{
	const size_t session_len = strlen(q->session_name) + 1;
	const size_t host_len = strlen(q->hostname) + 1;
	const size_t base_len = strlen(q->base_path) + 1;

	frame_relay_encode(b, RELAY_CMD_create_session,
	    (minor >= 15 ? 63 : 59) + session_len + host_len + base_len);
	buf_u32(b, (uint32_t)session_len);
	buf_u32(b, (uint32_t)host_len);
	buf_u32(b, (uint32_t)base_len);
	buf_u32(b, q->live_timer_us);
	buf_u8(b, q->is_snapshot);
	buf_u8(b, q->name_has_time);
	buf_bytes(b, q->uuid.b, sizeof(q->uuid.b));
	buf_u64(b, q->peer_session);
	buf_u64(b, q->creation_time);
	put_optional(b, q->chunk);
	if (minor >= 15)
		buf_u32(b, q->trace_format);
	buf_bytes(b, q->session_name, session_len);
	buf_bytes(b, q->hostname, host_len);
	buf_bytes(b, q->base_path, base_len);
}

void
relay_request_create_session(
    struct buf *b, unsigned minor, const struct relay_session_request *q)
{
	if (minor >= 11)
		create_session(b, minor, q);
	else if (minor >= 4)
		create_session_old(b, q);
	else
		relay_request_empty(b, RELAY_CMD_create_session);
}

static void
add_stream_old(struct buf *b, unsigned minor, const char *channel,
    const char *path, uint64_t tracefile_size, uint64_t tracefile_count)
{
	frame_relay_encode(b, RELAY_CMD_add_stream,
	    RELAY_CHANNEL_MAX + RELAY_PATH_FIELD_OLD + (minor >= 2 ? 16 : 0));
	put_array(b, channel, RELAY_CHANNEL_MAX);
	put_array(b, path, RELAY_PATH_FIELD_OLD);
	if (minor >= 2) {
		buf_u64(b, tracefile_size);
		buf_u64(b, tracefile_count);
	}
}

void
relay_request_add_stream(struct buf *b, unsigned minor, const char *channel,
    const char *path, uint64_t tracefile_size, uint64_t tracefile_count,
    uint64_t chunk)
{
	const size_t channel_len = strlen(channel) + 1;
	const size_t path_len = strlen(path) + 1;

	if (minor < 11) {
		add_stream_old(
		    b, minor, channel, path, tracefile_size, tracefile_count);
		return;
	}
	frame_relay_encode(
	    b, RELAY_CMD_add_stream, 32 + channel_len + path_len);
	buf_u32(b, (uint32_t)channel_len);
	buf_u32(b, (uint32_t)path_len);
	buf_u64(b, tracefile_size);
	buf_u64(b, tracefile_count);
	buf_u64(b, chunk);
	buf_bytes(b, channel, channel_len);
	buf_bytes(b, path, path_len);
}

void
relay_request_empty(struct buf *b, enum relay_cmd cmd)
{
	frame_relay_encode(b, cmd, 0);
}

void
relay_request_id(struct buf *b, enum relay_cmd cmd, uint64_t id)
{
	frame_relay_encode(b, cmd, 8);
	buf_u64(b, id);
}

void
relay_request_stream_seq(
    struct buf *b, enum relay_cmd cmd, uint64_t stream, uint64_t seq)
{
	frame_relay_encode(b, cmd, 16);
	buf_u64(b, stream);
	buf_u64(b, seq);
}

void
relay_request_metadata(struct buf *b, uint64_t stream, const void *data,
    size_t size, uint32_t padding)
{
	frame_relay_encode(b, RELAY_CMD_send_metadata, 12 + (uint64_t)size);
	buf_u64(b, stream);
	buf_u32(b, padding);
	buf_bytes(b, data, size);
}

void
relay_request_index(struct buf *b, unsigned minor, const struct relay_index *i)
{
	frame_relay_encode(b, RELAY_CMD_send_index, minor >= 8 ? 80 : 64);
	buf_u64(b, i->stream);
	buf_u64(b, i->net_seq);
	buf_u64(b, i->packet_size);
	buf_u64(b, i->content_size);
	buf_u64(b, i->timestamp_begin);
	buf_u64(b, i->timestamp_end);
	buf_u64(b, i->events_discarded);
	buf_u64(b, i->ctf_stream);
	if (minor >= 8) {
		buf_u64(b, i->ctf_instance);
		buf_u64(b, i->packet_seq_num);
	}
}

void
relay_request_rotate(struct buf *b, struct relay_optional chunk,
    const struct relay_position *positions, uint32_t count)
{
	frame_relay_encode(
	    b, RELAY_CMD_rotate_streams, 20 + UINT64_C(16) * count);
	buf_u32(b, count);
	buf_u8(b, chunk.is_set);
	buf_zero(b, 7); /* x86-64 aligns the chunk id on 8 */
	buf_u64(b, chunk.value);
	for (uint32_t i = 0; i < count; i++) {
		buf_u64(b, positions[i].stream);
		buf_u64(b, positions[i].rotate_at);
	}
}

void
relay_request_create_chunk(
    struct buf *b, uint64_t id, uint64_t creation, const char *override_name)
{
	const size_t len = override_name == NULL ? 0
						 : strlen(override_name) + 1;

	frame_relay_encode(b, RELAY_CMD_create_trace_chunk, 20 + len);
	buf_u64(b, id);
	buf_u64(b, creation);
	buf_u32(b, (uint32_t)len);
	buf_bytes(b, override_name, len);
}

void
relay_request_close_chunk(struct buf *b, uint64_t id, uint64_t close_time,
    struct relay_optional command)
{
	frame_relay_encode(b, RELAY_CMD_close_trace_chunk, 21);
	buf_u64(b, id);
	buf_u64(b, close_time);
	buf_u8(b, command.is_set);
	buf_u32(b, (uint32_t)command.value);
}
