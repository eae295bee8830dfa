/* SPDX-License-Identifier: MIT */
/* The records of one session, and its output. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "tools/send/from_kafka_internal.h"
#include "tools/send/trace.h"

struct source_session *
source_session(struct kafka_partition *p, struct span key, bool add)
{
	const struct span text = record_key_session(key);
	struct source_session *s;
	struct record_key ids;

	list_each (s, &p->sessions, struct source_session, node)
		if (strlen(s->key) == text.n &&
		    memcmp(s->key, text.p, text.n) == 0)
			return s;
	if (!add || record_key_decode(&ids, text) != OK)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	*s = (struct source_session){ .partition = p,
		.key = strndup(text.p, text.n),
		.host = strndup(ids.hostname.p, ids.hostname.n),
		.name = strndup(ids.session_name.p, ids.session_name.n),
		.ids = ids,
		.parts_offset = -1 };
	list_init(&s->streams);
	list_init(&s->metadata);
	list_append(&p->sessions, &s->node);
	if (s->key != NULL && s->host != NULL && s->name != NULL)
		return s;
	source_session_destroy(s);
	return NULL;
}

static void
drop_parts(struct source_session *s)
{
	buf_free(&s->parts);
	s->parts_offset = -1;
}

static void
drop_metadata(struct source_session *s)
{
	struct source_metadata *m, *next;

	list_each_safe (m, next, &s->metadata, struct source_metadata, node) {
		list_del(&m->node);
		buf_free(&m->bytes);
		free(m->stream);
		free(m);
	}
}

void
source_session_close(struct source_session *s)
{
	struct source_stream *t, *next;

	if (s->out != NULL) {
		report_session(
		    s->partition->from->report, s->out, &(struct traces){ 0 });
		s->out->ops->destroy(s->out);
	}
	s->out = NULL;
	s->is_new = s->is_asked = false;
	list_each_safe (t, next, &s->streams, struct source_stream, node) {
		list_del(&t->node);
		free(t->name);
		free(t);
	}
	drop_parts(s);
}

void
source_session_destroy(struct source_session *s)
{
	source_session_close(s);
	drop_metadata(s);
	list_del(&s->node);
	free(s->key);
	free(s->host);
	free(s->name);
	free(s);
}

static struct source_stream *
stream(struct source_session *s, struct span name)
{
	struct source_stream *t;

	list_each (t, &s->streams, struct source_stream, node)
		if (strlen(t->name) == name.n &&
		    memcmp(t->name, name.p, name.n) == 0)
			return t;
	t = calloc(1, sizeof(*t));
	if (t == NULL || (t->name = strndup(name.p, name.n)) == NULL) {
		free(t);
		return NULL;
	}
	t->channel = t->name + (name.n - record_stream_channel(name).n);
	t->is_metadata = strcmp(t->channel, "metadata") == 0;
	list_append(&s->streams, &t->node);
	return t;
}

/* The stream of a record, which the sink has learned of. */
static enum status
add_stream(
    struct source_session *s, struct span name, struct source_stream **out)
{
	struct source_stream *t = stream(s, name);
	char path[RECORD_STREAM_MAX];
	enum status st;

	*out = t;
	if (t == NULL)
		return E_NOMEM;
	if (t->is_added)
		return OK;
	snprintf(path, sizeof(path), "%.*s", (int)record_stream_path(name).n,
	    name.p);
	st = s->out->ops->add_stream(
	    s->out, path, t->channel, &t->number, &t->next);
	t->is_added = st == OK;
	if (st == OK) {
		s->has_new_streams = true;
		s->partition->from->report->streams += !t->is_metadata;
	}
	return st;
}

/* Bytes of metadata that follow what the sink has. Some may be known. */
static enum status
add_metadata(struct source_session *s, struct span name, uint64_t offset,
    const uint8_t *data, size_t size)
{
	struct source_stream *t;
	enum status st = add_stream(s, name, &t);
	uint64_t known;

	if (st != OK)
		return st;
	if (offset > t->next) {
		report_error(s->partition->from->report,
		    "%s: bytes %llu to %llu of the metadata are missing",
		    s->key, (unsigned long long)t->next,
		    (unsigned long long)offset);
		return E_PROTOCOL;
	}
	known = t->next - offset;
	if (known >= size)
		return OK;
	st = s->out->ops->metadata(
	    s->out, t->number, data + known, size - known);
	if (st == OK)
		t->next = offset + size;
	return st;
}

/* What the topic of sessions says of streams and metadata. */
static enum status
add_known(struct source_session *s)
{
	struct source_metadata *m;
	enum status st = OK;

	list_each (m, &s->metadata, struct source_metadata, node)
		if (st == OK)
			st = add_metadata(s,
			    (struct span){ m->stream, strlen(m->stream) },
			    m->offset, buf_data(&m->bytes), buf_len(&m->bytes));
	if (st == OK)
		drop_metadata(s);
	return st;
}

static enum status
open_output(struct source_session *s)
{
	struct from_kafka *f = s->partition->from;
	struct send_output_config c = {
		.session = { .hostname = s->host,
		    .name = s->name,
		    .name_has_time = s->description.name_has_time,
		    .creation_time = s->ids.begin_s,
		    .live_timer_us = s->description.live_timer_us },
		.goes_on = source_goes_on,
		.arg = f,
	};
	char why[SEND_ERROR_MAX];
	enum status st;

	memcpy(c.session.identity.b, s->ids.uuid, sizeof(s->ids.uuid));
	st = f->sink->ops->open(f->sink, &c, &s->out, why);
	if (st != OK) {
		s->out = NULL;
		if (why[0] != '\0')
			report_error(f->report, "%s: %s", s->key, why);
		return st;
	}
	return add_known(s);
}

/* Does a trace lack its metadata? Readers ask for it as soon as they see a
 * stream. */
static bool
lacks_metadata(const struct source_session *s)
{
	const struct source_stream *t;

	list_each (t, &s->streams, struct source_stream, node)
		if (t->is_added && t->next == 0 && t->is_metadata)
			return true;
	return false;
}

static enum status
show_streams(struct source_session *s)
{
	enum status st;

	if (!s->has_new_streams || lacks_metadata(s))
		return OK;
	st = s->out->ops->streams_sent(s->out);
	s->has_new_streams = st != OK;
	return st;
}

static void
message_done(void *arg)
{
	rd_kafka_message_destroy(arg);
}

/* Give the packet to the sink; it calls DONE. */
static enum status
give(struct source_session *s, struct source_stream *t, const struct record *r,
    const uint8_t *data, client_done *done, void *arg)
{
	const struct client_packet p = { .data = data,
		.size = r->packet.size,
		.padding = r->packet.padding,
		.index = r->packet.index,
		.done = done,
		.arg = arg };
	enum status st = s->out->ops->packet(s->out, t->number, &p);

	if (st == OK)
		t->next = r->packet.index.packet_seq_num + 1;
	return st;
}

/* One more part of a packet. A sender that crashed may begin it again, or begin
 * another one. */
static enum status
take_part(struct source_session *s, struct source_stream *t,
    const struct record *r, int64_t at)
{
	struct buf whole;
	enum status st;

	if (r->packet.offset == 0) {
		drop_parts(s);
		s->parts_offset = at;
	}
	if (s->parts_offset < 0 || r->packet.offset != buf_len(&s->parts))
		return OK; /* the middle of a packet that begins again later */
	buf_bytes(&s->parts, r->data, r->size);
	if (s->parts.bad) {
		drop_parts(s);
		return E_NOMEM;
	}
	if (buf_len(&s->parts) < r->packet.size)
		return OK;
	whole = s->parts;
	st = give(s, t, r, buf_data(&whole), free, whole.mem);
	if (st == OK) {
		s->parts = (struct buf){ 0 };
		s->parts_offset = -1;
	} else {
		buf_truncate(&s->parts, buf_len(&s->parts) - r->size);
	}
	return st;
}

static enum status
take_packet(struct source_session *s, struct source_stream *t,
    const struct record *r, int64_t at, rd_kafka_message_t **message)
{
	enum status st = show_streams(s);

	if (st != OK || r->packet.index.packet_seq_num < t->next)
		return st;
	if (r->size < r->packet.size)
		return take_part(s, t, r, at);
	st = give(s, t, r, r->data, message_done, *message);
	if (st == OK)
		*message = NULL;
	return st;
}

static enum status
take_loss(
    struct source_session *s, struct source_stream *t, const struct record *r)
{
	const uint64_t end = r->loss.count > UINT64_MAX - r->loss.first_seq
				 ? UINT64_MAX
				 : r->loss.first_seq + r->loss.count;
	enum status st = OK;

	if (end <= t->next)
		return OK;
	s->partition->from->report->missing += r->loss.count;
	if (s->out->ops->lost != NULL)
		st = s->out->ops->lost(s->out, t->number, r->loss.count);
	if (st == OK)
		t->next = end;
	return st;
}

static enum status
take_of_stream(struct source_session *s, const struct record *r, int64_t at,
    rd_kafka_message_t **message)
{
	struct source_stream *t;
	enum status st = add_stream(s, r->stream, &t);

	if (st != OK)
		return st;
	switch (r->kind) {
	case RECORD_METADATA:
		return add_metadata(
		    s, r->stream, r->metadata_offset, r->data, r->size);
	case RECORD_PACKET:
		return take_packet(s, t, r, at, message);
	case RECORD_BEACON:
		st = show_streams(s);
		return st != OK
			   ? st
			   : s->out->ops->beacon(s->out, t->number,
				 r->beacon.timestamp, r->beacon.ctf_stream);
	case RECORD_LOSS:
		return take_loss(s, t, r);
	case RECORD_STREAM_END:
		if (t->is_closed)
			return OK;
		st = s->out->ops->close_stream(s->out, t->number);
		t->is_closed = st == OK;
		return st;
	case RECORD_STREAM:
	case RECORD_SESSION:
	case RECORD_SESSION_END:
	case RECORD_STATE:
		break;
	}
	return OK;
}

/* All before the end is stored and committed first: after a crash the end comes
 * again alone, and makes no second trace. */
static enum status
end_session(struct source_session *s)
{
	enum status st = OK;

	if (s->out != NULL) {
		st = show_streams(s);
		if (st == OK)
			st = source_checkpoint(s->partition);
		if (st == OK)
			st = s->out->ops->finish(s->out);
	}
	if (st == OK) {
		source_session_close(s);
		s->is_over = true;
	}
	return st;
}

/* The session is not known. Somebody has read its beginning: the topic of
 * sessions has it, too. */
static enum status
look_up(struct source_session *s)
{
	struct kafka_partition *p = s->partition;
	enum status st = OK;

	if (!p->has_table)
		st = source_table_read(p);
	if (st != OK || s->has_description || s->is_over)
		return st;
	report_error(p->from->report,
	    "%s: its description is in neither topic: ignored", s->key);
	s->is_over = true;
	return OK;
}

enum status
source_session_take(struct source_session *s, const struct record *r,
    int64_t at, rd_kafka_message_t **message)
{
	enum status st = OK;

	/* A session that has ended may begin again, where its sender believes
	 * it to be. */
	if (r->kind == RECORD_SESSION) {
		s->description = r->session;
		s->has_description = true;
		s->is_over = false;
	}
	if (s->is_over)
		return OK;
	if (r->kind == RECORD_SESSION_END)
		return end_session(s);
	if (!s->has_description)
		st = look_up(s);
	if (st != OK || s->is_over)
		return st;
	if (s->out == NULL)
		st = open_output(s);
	if (st == OK && r->stream.n > 0)
		st = take_of_stream(s, r, at, message);
	s->is_new |= st == OK;
	return st;
}

enum status
source_session_work(struct source_session *s)
{
	enum status st = OK;

	if (s->out == NULL)
		return OK;
	st = show_streams(s);
	return st == OK ? s->out->ops->work(s->out, 0) : st;
}
