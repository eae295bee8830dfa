/* SPDX-License-Identifier: MIT */
#include "tools/kafka/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/parse.h"
#include "common/relpath.h"

#define UUID_DIGITS 32
#define KEY_PARTS 4

static const struct kind {
	const char *name; /* NULL: there is no such kind */
	bool has_stream;
} kinds[] = {
#define RECORD(wire, id, text, stream) \
	[wire] = { .name = text, .has_stream = stream },
#include "tools/kafka/record.tbl.h"
#undef RECORD
};

const char *
record_kind_name(enum record_kind kind)
{
	return kinds[kind].name;
}

static void
put_span(struct buf *b, struct span s)
{
	buf_bytes(b, s.p, s.n);
}

static void
put_text(struct buf *b, const char *s)
{
	buf_bytes(b, s, strlen(s));
}

static void
put_number(struct buf *b, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, v);
	put_text(b, text);
}

void
record_key_encode(struct buf *b, const struct record_key *k)
{
	char hex[3];

	put_span(b, k->hostname);
	put_text(b, "/");
	put_span(b, k->session_name);
	put_text(b, "/");
	put_number(b, k->begin_s);
	put_text(b, "/");
	for (unsigned i = 0; i < sizeof(k->uuid); i++) {
		snprintf(hex, sizeof(hex), "%02x", k->uuid[i]);
		put_text(b, hex);
	}
}

void
record_table_key_encode(
    struct buf *b, const struct record_key *k, const struct record *r)
{
	record_key_encode(b, k);
	put_text(b, "/");
	put_text(b, kinds[r->kind].name);
	if (r->kind == RECORD_METADATA) {
		put_text(b, "/");
		put_number(b, r->metadata_offset);
	}
	if (kinds[r->kind].has_stream) {
		put_text(b, "/");
		put_span(b, r->stream);
	}
}

/* What stands in TEXT before the next slash; TEXT is then what follows it. */
static struct span
take_part(struct span *text)
{
	const char *slash = memchr(text->p, '/', text->n);
	const size_t n = slash == NULL ? text->n : (size_t)(slash - text->p);
	const struct span part = { text->p, n };
	const size_t used = slash == NULL ? n : n + 1;

	text->p += used;
	text->n -= used;
	return part;
}

struct span
record_key_session(struct span key)
{
	struct span rest = key;
	size_t n = 0;

	for (unsigned i = 0; i < KEY_PARTS; i++)
		n += take_part(&rest).n;
	return (struct span){ key.p,
		n + KEY_PARTS - 1 < key.n ? n + KEY_PARTS - 1 : key.n };
}

/* One component, as our sender writes it; shorter than MOST with its NUL. */
static enum status
check_name(struct span s, size_t most)
{
	struct relpath *path;
	enum status st;

	if (s.n >= most)
		return E_MALFORMED;
	st = relname_parse(&path, s);
	relpath_free(path);
	return st;
}

static enum status
number_decode(struct span s, uint64_t *out)
{
	char text[24];

	if (s.n >= sizeof(text))
		return E_MALFORMED;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	return parse_u64(text, 0, UINT64_MAX, out) == OK ? OK : E_MALFORMED;
}

static enum status
uuid_decode(struct span s, uint8_t out[16])
{
	static const char digits[] = "0123456789abcdef";

	if (s.n != UUID_DIGITS)
		return E_MALFORMED;
	memset(out, 0, UUID_DIGITS / 2);
	for (unsigned i = 0; i < UUID_DIGITS; i++) {
		const char *d = memchr(digits, s.p[i], sizeof(digits) - 1);

		if (d == NULL)
			return E_MALFORMED;
		out[i / 2] = (uint8_t)(out[i / 2] << 4 | (d - digits));
	}
	return OK;
}

enum status
record_key_decode(struct record_key *out, struct span key)
{
	struct span rest = key;
	enum status st;

	if (key.n > RECORD_TABLE_KEY_MAX)
		return E_MALFORMED;
	out->hostname = take_part(&rest);
	out->session_name = take_part(&rest);
	st = check_name(out->hostname, RELAY_HOSTNAME_MAX);
	if (st == OK)
		st = check_name(out->session_name, RELAY_SESSION_NAME_MAX);
	if (st == OK)
		st = number_decode(take_part(&rest), &out->begin_s);
	return st == OK ? uuid_decode(take_part(&rest), out->uuid) : st;
}

static size_t
channel_at(struct span stream)
{
	const char *slash = memrchr(stream.p, '/', stream.n);

	return slash == NULL ? 0 : (size_t)(slash - stream.p) + 1;
}

struct span
record_stream_path(struct span stream)
{
	return (struct span){ stream.p, channel_at(stream) - 1 };
}

struct span
record_stream_channel(struct span stream)
{
	const size_t at = channel_at(stream);

	return (struct span){ stream.p + at, stream.n - at };
}

enum status
record_stream_check(struct span s)
{
	struct relpath *path;
	enum status st;

	if (s.n > RECORD_STREAM_MAX || channel_at(s) < 2)
		return E_MALFORMED;
	st = relpath_parse(&path, s);
	if (st == OK && path->len != s.n)
		st = E_MALFORMED;
	relpath_free(path);
	return st;
}

static void
put_packet(struct buf *b, const struct record_packet *p)
{
	relay_index_encode(b, RELAY_MINOR, &p->index);
	buf_u32(b, p->size);
	buf_u32(b, p->padding);
	buf_u32(b, p->offset);
}

static void
put_state(struct buf *b, const struct record_state *s)
{
	buf_u8(b, s->is_ended);
	buf_u64(b, s->time_ns);
	buf_u64(b, s->packets);
	buf_u64(b, s->bytes);
	buf_u64(b, s->lost);
}

void
record_encode(struct buf *b, const struct record *r)
{
	buf_u8(b, RECORD_VERSION);
	buf_u8(b, (uint8_t)r->kind);
	if (kinds[r->kind].has_stream) {
		buf_u16(b, (uint16_t)r->stream.n);
		put_span(b, r->stream);
	}
	switch (r->kind) {
	case RECORD_SESSION:
		buf_u32(b, r->session.live_timer_us);
		buf_u8(b, r->session.name_has_time);
		break;
	case RECORD_STREAM:
	case RECORD_SESSION_END:
		break;
	case RECORD_METADATA:
		buf_u64(b, r->metadata_offset);
		buf_bytes(b, r->data, r->size);
		break;
	case RECORD_PACKET:
		put_packet(b, &r->packet);
		buf_bytes(b, r->data, r->size);
		break;
	case RECORD_BEACON:
		buf_u64(b, r->beacon.timestamp);
		buf_u64(b, r->beacon.ctf_stream);
		break;
	case RECORD_LOSS:
		buf_u64(b, r->loss.first_seq);
		buf_u64(b, r->loss.count);
		break;
	case RECORD_STREAM_END:
		buf_u64(b, r->next_seq);
		break;
	case RECORD_STATE:
		put_state(b, &r->state);
		break;
	}
}

static bool
read_bool(struct reader *r)
{
	const uint8_t v = reader_u8(r);

	r->bad |= v > 1;
	return v != 0;
}

static void
read_data(struct reader *r, struct record *out)
{
	out->size = (size_t)reader_left(r);
	out->data = reader_take(r, out->size);
}

static void
read_packet(struct reader *r, struct record *out)
{
	struct record_packet *p = &out->packet;

	if (relay_index_decode(r, RELAY_MINOR, &p->index) != OK)
		r->bad = true;
	p->size = reader_u32(r);
	p->padding = reader_u32(r);
	p->offset = reader_u32(r);
	read_data(r, out);
	r->bad |= p->size > RECORD_PACKET_MAX ||
		  p->padding > RECORD_PACKET_MAX || p->offset > p->size ||
		  out->size > p->size - p->offset ||
		  (out->size == 0 && p->size > 0);
}

static void
read_state(struct reader *r, struct record_state *s)
{
	s->is_ended = read_bool(r);
	s->time_ns = reader_u64(r);
	s->packets = reader_u64(r);
	s->bytes = reader_u64(r);
	s->lost = reader_u64(r);
}

static void
read_fields(struct reader *r, struct record *out)
{
	switch (out->kind) {
	case RECORD_SESSION:
		out->session.live_timer_us = reader_u32(r);
		out->session.name_has_time = read_bool(r);
		break;
	case RECORD_STREAM:
	case RECORD_SESSION_END:
		break;
	case RECORD_METADATA:
		out->metadata_offset = reader_u64(r);
		read_data(r, out);
		r->bad |= out->size > UINT64_MAX - out->metadata_offset;
		break;
	case RECORD_PACKET:
		read_packet(r, out);
		break;
	case RECORD_BEACON:
		out->beacon.timestamp = reader_u64(r);
		out->beacon.ctf_stream = reader_u64(r);
		break;
	case RECORD_LOSS:
		out->loss.first_seq = reader_u64(r);
		out->loss.count = reader_u64(r);
		break;
	case RECORD_STREAM_END:
		out->next_seq = reader_u64(r);
		break;
	case RECORD_STATE:
		read_state(r, &out->state);
		break;
	}
}

enum status
record_decode(struct record *out, const void *p, size_t n)
{
	struct reader r = reader_over(p, n);
	const uint8_t version = reader_u8(&r), kind = reader_u8(&r);
	enum status st = reader_done(&r);

	*out = (struct record){ .stream = { "", 0 } };
	if (st != OK)
		return st;
	if (version != RECORD_VERSION || kind >= ARRAY_LEN(kinds) ||
	    kinds[kind].name == NULL)
		return E_PROTOCOL;
	out->kind = kind;
	if (kinds[kind].has_stream) {
		out->stream.n = reader_u16(&r);
		out->stream.p = (const char *)reader_take(&r, out->stream.n);
		st = reader_done(&r) == OK ? record_stream_check(out->stream)
					   : E_MALFORMED;
	}
	if (st == OK) {
		read_fields(&r, out);
		st = reader_done(&r);
	}
	return st;
}
