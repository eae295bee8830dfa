/* SPDX-License-Identifier: MIT */
#include "proto/relay.h"

#include "common/buf.h"
#include "proto/frame.h"

const struct relay_row *
relay_row(uint32_t cmd)
{
	static const struct relay_row unknown = {
		.max_payload = RELAY_UNKNOWN_MAX,
	};

	switch (cmd) {
#define RELAY(wire, name, since, allowed, max)                               \
	case wire: {                                                         \
		static const struct relay_row row = { #name, since, allowed, \
			max };                                               \
		return &row;                                                 \
	}
#include "proto/relay.tbl.h"
#undef RELAY
	default:
		return &unknown;
	}
}

static struct relay_optional
optional_u64(struct reader *r)
{
	struct relay_optional o = { .is_set = reader_u8(r) != 0 };

	o.value = reader_u64(r);
	return o;
}

enum status
relay_version_decode(struct reader *r, struct relay_version *out)
{
	out->major = reader_u32(r);
	out->minor = reader_u32(r);
	return reader_done(r);
}

/* The names of CREATE_SESSION as they were received. */
struct session_names {
	struct span session, host, base;
};

static void
session_fields_old(struct reader *r, struct relay_create_session *out,
    struct session_names *names)
{
	names->session = reader_cstr_array(r, RELAY_SESSION_NAME_MAX);
	names->host = reader_cstr_array(r, RELAY_HOSTNAME_MAX_OLD);
	out->live_timer_us = reader_u32(r);
	out->is_snapshot = reader_u32(r) != 0;
}

/* A string of LEN bytes, at most MAX, both with its NUL. */
static struct span
counted(struct reader *r, uint32_t len, uint32_t max)
{
	if (len > max)
		r->bad = true;
	return reader_cstr(r, len);
}

bool
relay_uuid_is_nil(const struct relay_uuid *uuid)
{
	static const struct relay_uuid nil;

	return memcmp(uuid, &nil, sizeof(nil)) == 0;
}

static void
session_fields(struct reader *r, unsigned minor,
    struct relay_create_session *out, struct session_names *names)
{
	const uint32_t session_len = reader_u32(r);
	const uint32_t host_len = reader_u32(r);
	const uint32_t base_len = reader_u32(r);

	out->live_timer_us = reader_u32(r);
	out->is_snapshot = reader_u8(r) != 0;
	out->name_has_time = reader_u8(r) != 0;
	reader_copy(r, out->uuid.b, sizeof(out->uuid.b));
	out->has_peer_id = true;
	out->peer_session = reader_u64(r);
	out->creation_time = reader_u64(r);
	out->chunk = optional_u64(r);
	if (minor >= 15)
		out->trace_format = reader_u32(r);
	names->session = counted(r, session_len, RELAY_SESSION_NAME_MAX);
	names->host = counted(r, host_len, RELAY_HOSTNAME_MAX);
	if (base_len > 0)
		names->base = counted(r, base_len, RELAY_BASE_PATH_MAX);
	if (relay_uuid_is_nil(&out->uuid) || out->trace_format < 1 ||
	    out->trace_format > 2)
		r->bad = true;
}

/* A component that does not begin with '.': it becomes part of a directory's
 * name, which must not be hidden. */
static enum status
visible_name(struct relpath **out, struct span s)
{
	if (s.n > 0 && s.p[0] == '.')
		return E_MALFORMED;
	return relname_parse(out, s);
}

static bool
is_deep(const struct relpath *p)
{
	unsigned folders = 1;

	for (const char *s = p->s; (s = strchr(s, '/')) != NULL; s++)
		folders++;
	return folders > RELAY_BASE_DEPTH_MAX;
}

static enum status
base_path(struct relpath **out, struct span s)
{
	enum status st;

	if (s.n == 0)
		return OK;
	if (s.p[0] == '/')
		return E_MALFORMED;
	st = relpath_parse(out, s);
	if (st == OK && is_deep(*out))
		st = E_MALFORMED; /* the caller clears it */
	return st;
}

enum status
relay_create_session_decode(
    struct reader *r, unsigned minor, struct relay_create_session *out)
{
	struct session_names names = { .base = { "", 0 } };
	enum status st;

	*out = (struct relay_create_session){ .trace_format = 1 };
	if (minor < 1)
		return E_MALFORMED;
	/* The command has no payload before 2.4. */
	if (minor < 4)
		return OK;
	if (minor < 11)
		session_fields_old(r, out, &names);
	else
		session_fields(r, minor, out, &names);
	st = reader_done(r);
	if (st == OK)
		st = visible_name(&out->session_name, names.session);
	if (st == OK)
		st = visible_name(&out->hostname, names.host);
	if (st == OK)
		st = base_path(&out->base_path, names.base);
	if (st != OK)
		relay_create_session_clear(out);
	return st;
}

enum status
relay_add_stream_decode(
    struct reader *r, unsigned minor, struct relay_add_stream *out)
{
	struct span channel, path;
	enum status st;

	*out = (struct relay_add_stream){ 0 };
	if (minor >= 11) {
		const uint32_t channel_len = reader_u32(r);
		const uint32_t path_len = reader_u32(r);

		out->tracefile_size = reader_u64(r);
		out->tracefile_count = reader_u64(r);
		(void)reader_u64(r); /* chunk: the current one is used */
		channel = counted(r, channel_len, RELAY_CHANNEL_MAX);
		path = counted(r, path_len, RELAY_PATH_MAX);
	} else {
		channel = reader_cstr_array(r, RELAY_CHANNEL_MAX);
		path = reader_cstr_array(r, RELAY_PATH_FIELD_OLD);
		if (path.n >= RELAY_PATH_MAX)
			r->bad = true;
		if (minor >= 2) {
			out->tracefile_size = reader_u64(r);
			out->tracefile_count = reader_u64(r);
		}
	}
	st = reader_done(r);
	if (st == OK)
		st = relname_parse(&out->channel, channel);
	if (st != OK)
		return st;
	st = relpath_parse(&out->path, path);
	if (st != OK)
		relay_add_stream_clear(out);
	return st == E_MALFORMED ? E_REFUSED : st;
}

enum status
relay_stream_seq_decode(struct reader *r, struct relay_stream_seq *out)
{
	out->stream = reader_u64(r);
	out->last_net_seq = reader_u64(r);
	return reader_done(r);
}

enum status
relay_id_decode(struct reader *r, uint64_t *out)
{
	*out = reader_u64(r);
	return reader_done(r);
}

enum status
relay_send_metadata_decode(struct reader *r, struct relay_send_metadata *out)
{
	out->stream = reader_u64(r);
	out->padding = reader_u32(r);
	out->size = reader_left(r);
	out->data = reader_take(r, out->size);
	return reader_done(r);
}

enum status
relay_index_decode(struct reader *r, unsigned minor, struct relay_index *out)
{
	*out = (struct relay_index){ 0 };
	out->stream = reader_u64(r);
	out->net_seq = reader_u64(r);
	out->packet_size = reader_u64(r);
	out->content_size = reader_u64(r);
	out->timestamp_begin = reader_u64(r);
	out->timestamp_end = reader_u64(r);
	out->events_discarded = reader_u64(r);
	out->ctf_stream = reader_u64(r);
	if (minor >= 8) {
		out->ctf_instance = reader_u64(r);
		out->packet_seq_num = reader_u64(r);
	}
	return reader_done(r);
}

#define ROTATE_POSITION_LEN UINT64_C(16)

/* Find the bytes of padding between is_set and the chunk id: 0, 3 or 7, as the
 * peer's ABI aligns the chunk id. Their content is undefined. Returns false if
 * no such padding makes COUNT positions fill LEFT bytes. */
static bool
rotate_padding(uint64_t left, uint32_t count, unsigned *padding)
{
	static const unsigned sizes[] = { 0, 3, 7 };
	const uint64_t rest = sizeof(uint64_t) + ROTATE_POSITION_LEN * count;

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		*padding = sizes[i];
		if (left == sizes[i] + rest)
			return true;
	}
	return false;
}

enum status
relay_rotate_decode(struct reader *r, struct relay_rotate *out)
{
	unsigned padding;

	*out = (struct relay_rotate){ 0 };
	out->count = reader_u32(r);
	out->chunk.is_set = reader_u8(r) != 0;
	if (!rotate_padding(reader_left(r), out->count, &padding))
		return E_MALFORMED;
	(void)reader_take(r, padding);
	out->chunk.value = reader_u64(r);
	out->positions = *r;
	(void)reader_take(r, reader_left(r));
	return reader_done(r);
}

struct relay_position
relay_rotate_next(struct relay_rotate *rot)
{
	struct relay_position pos;

	pos.stream = reader_u64(&rot->positions);
	pos.rotate_at = reader_u64(&rot->positions);
	return pos;
}

enum status
relay_resume_decode(struct reader *r, struct secret *out)
{
	static const struct secret nil;

	reader_copy(r, out->b, sizeof(out->b));
	if (r->bad)
		return E_MALFORMED;
	return secret_equal(out, &nil) ? E_REFUSED : OK;
}

enum status
relay_written_decode(struct reader *r, struct relay_written *out)
{
	out->bytes = reader_u64(r);
	out->packets = reader_u64(r);
	out->packet_seq_num = reader_u64(r);
	return reader_done(r);
}

/* One component without any dot (streaming 7.3). */
static enum status
override_name(struct relpath **out, struct span s)
{
	enum status st = E_MALFORMED;

	if (memchr(s.p, '.', s.n) == NULL)
		st = relname_parse(out, s);
	return st == E_MALFORMED ? E_REFUSED : st;
}

enum status
relay_create_chunk_decode(struct reader *r, struct relay_create_chunk *out)
{
	const char *name;
	uint32_t len;

	*out = (struct relay_create_chunk){ 0 };
	out->id = reader_u64(r);
	out->creation_time = reader_u64(r);
	len = reader_u32(r);
	if (len == 0)
		return reader_done(r);
	if (len > RELAY_OVERRIDE_NAME_MAX)
		return E_REFUSED;
	name = (const char *)reader_take(r, len);
	if (name == NULL)
		return E_MALFORMED;
	/* The only NUL is at the end. */
	if (memchr(name, '\0', len) != name + len - 1)
		return E_REFUSED;
	return override_name(
	    &out->override_name, (struct span){ name, len - 1 });
}

enum status
relay_close_chunk_decode(struct reader *r, struct relay_close_chunk *out)
{
	out->id = reader_u64(r);
	out->close_time = reader_u64(r);
	out->has_command = reader_u8(r) != 0;
	out->command = reader_u32(r);
	return reader_done(r);
}

void
relay_create_session_clear(struct relay_create_session *c)
{
	relpath_free(c->session_name);
	relpath_free(c->hostname);
	relpath_free(c->base_path);
	c->session_name = c->hostname = c->base_path = NULL;
}

void
relay_add_stream_clear(struct relay_add_stream *a)
{
	relpath_free(a->channel);
	relpath_free(a->path);
	a->channel = a->path = NULL;
}

void
relay_create_chunk_clear(struct relay_create_chunk *c)
{
	relpath_free(c->override_name);
	c->override_name = NULL;
}

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
		frame_relay_encode(b, RELAY_CMD_create_session, 0);
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
relay_request_resume(struct buf *b, const struct secret *key)
{
	frame_relay_encode(b, RELAY_CMD_resume, sizeof(key->b));
	buf_bytes(b, key->b, sizeof(key->b));
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
relay_index_encode(struct buf *b, unsigned minor, const struct relay_index *i)
{
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
relay_request_index(struct buf *b, unsigned minor, const struct relay_index *i)
{
	frame_relay_encode(b, RELAY_CMD_send_index, minor >= 8 ? 80 : 64);
	relay_index_encode(b, minor, i);
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

void
relay_reply_version(struct buf *b, uint32_t major, uint32_t minor)
{
	buf_u32(b, major);
	buf_u32(b, minor);
}

void
relay_reply_configuration(struct buf *b, uint32_t code, uint64_t flags)
{
	buf_u32(b, code);
	buf_u64(b, flags);
}

/* The length counts the NUL; without a path it is 0. */
static void
put_path(struct buf *b, const char *path)
{
	const size_t n = path == NULL ? 0 : strlen(path) + 1;

	buf_u32(b, (uint32_t)n);
	buf_bytes(b, path, n);
}

void
relay_reply_session(
    struct buf *b, unsigned minor, uint64_t id, uint32_t code, const char *path)
{
	buf_u64(b, id);
	buf_u32(b, code);
	if (minor >= 11)
		put_path(b, path);
}

void
relay_reply_stream(struct buf *b, uint64_t handle, uint32_t code)
{
	buf_u64(b, handle);
	buf_u32(b, code);
}

void
relay_reply_close_chunk(struct buf *b, uint32_t code, const char *path)
{
	buf_u32(b, code);
	put_path(b, path);
}

void
relay_reply_exists(struct buf *b, uint32_t code, bool exists)
{
	buf_u32(b, code);
	buf_u8(b, exists);
}

void
relay_reply_written(struct buf *b, uint32_t code, const struct relay_written *w)
{
	buf_u32(b, code);
	buf_u64(b, w->bytes);
	buf_u64(b, w->packets);
	buf_u64(b, w->packet_seq_num);
}
