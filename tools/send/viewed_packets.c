/* SPDX-License-Identifier: MIT */
/* What a stream that is viewed says next: a packet, a beacon, its end. */
#include <stdlib.h>

#include "tools/send/heads.h"
#include "tools/send/viewed_internal.h"

/* The first N bytes of a packet. E_NOENT: the relay cannot read it any more. */
static enum status
get_packet(struct viewed *v, const struct viewed_stream *s,
    const struct live_index *i, uint64_t n, struct reader *r)
{
	uint32_t status, length;
	enum status st = viewed_request(v,
	    &(struct live_request){ .cmd = LIVE_CMD_get_packet,
		.id = s->id,
		.offset = i->offset,
		.length = (uint32_t)n },
	    r);

	if (st != OK)
		return st;
	status = reader_u32(r);
	length = reader_u32(r);
	(void)reader_u32(r); /* flags */
	if (status != LIVE_PACKET_OK)
		return E_NOENT;
	return length == n ? OK
			   : viewed_fail(v, E_PROTOCOL,
				 "the relay sent a part of a packet");
}

static enum status
lose(struct viewed *v, struct viewed_stream *s, uint64_t n)
{
	const struct send_output_ops *ops = v->out->ops;

	v->totals->missing += n;
	if (n == 0 || ops->lost == NULL)
		return OK;
	return viewed_of_sink(v, ops->lost(v->out, s->number, n));
}

/* The packet's number in its stream. */
static enum status
number_of(struct viewed *v, const struct viewed_stream *s,
    const struct reader *r, struct relay_index *i)
{
	struct heads h;
	const char *why;
	enum status st = heads_find(
	    &h, &s->trace->tsdl, r->p, reader_left(r), &why);

	if (st != OK)
		return viewed_fail(
		    v, st, "%s/%s: %s", s->trace->path, s->channel, why);
	i->ctf_instance = heads_get(&h, TSDL_STREAM_INSTANCE_ID, 0);
	i->packet_seq_num = heads_get(&h, TSDL_PACKET_SEQ_NUM, s->count);
	return OK;
}

/* May the sink have the next packet already? */
static bool
may_be_had(const struct viewed_stream *s)
{
	return s->position > 0 && s->next <= s->position;
}

/* Does the sink have the packet I already? Its head is enough to know. */
static enum status
is_had(struct viewed *v, struct viewed_stream *s, const struct live_index *i,
    bool *out)
{
	const struct tsdl *t = &s->trace->tsdl;
	const struct tsdl_stream *class = tsdl_stream_of(t, i->ctf_stream);
	struct relay_index index = { 0 };
	struct reader r;
	uint64_t n;
	enum status st;

	*out = false;
	if (!may_be_had(s))
		return OK;
	n = (t->header.size + (class == NULL ? 0 : class->context.size) + 64 +
		7) /
	    8;
	st = get_packet(
	    v, s, i, n < i->packet_size / 8 ? n : i->packet_size / 8, &r);
	if (st == OK)
		st = number_of(v, s, &r, &index);
	*out = st == OK && index.packet_seq_num < s->position;
	return st;
}

static void
free_packet(void *arg)
{
	free(arg);
}

/* Give the packet that R has to the sink. */
static enum status
give_packet(struct viewed *v, struct viewed_stream *s,
    const struct live_index *i, const struct reader *r)
{
	struct client_packet p = {
		.size = (uint32_t)reader_left(r),
		.data = r->p,
		.index = { .packet_size = i->packet_size,
		    .content_size = i->content_size,
		    .timestamp_begin = i->timestamp_begin,
		    .timestamp_end = i->timestamp_end,
		    .events_discarded = i->events_discarded,
		    .ctf_stream = i->ctf_stream },
		.done = free_packet,
	};
	enum status st = number_of(v, s, r, &p.index);
	const uint64_t seq = p.index.packet_seq_num;

	if (st == OK && s->has_next && seq > s->next)
		st = lose(v, s, seq - s->next);
	if (st != OK)
		return st;
	s->has_next = true;
	s->next = seq + 1;
	p.arg = live_viewer_take(&v->viewer);
	st = viewed_of_sink(v, v->out->ops->packet(v->out, s->number, &p));
	if (st != OK)
		client_packet_done(&p);
	return st;
}

static enum status
take_packet(
    struct viewed *v, struct viewed_stream *s, const struct live_index *i)
{
	struct reader r;
	bool is_known;
	enum status st;

	if (i->packet_size == 0) /* "look for new streams" (live 4.9) */
		return OK;
	if (i->packet_size % 8 != 0 || i->packet_size / 8 > UINT32_MAX ||
	    i->content_size > i->packet_size)
		return viewed_fail(v, E_PROTOCOL,
		    "%s/%s: a packet of %llu bits", s->trace->path, s->channel,
		    (unsigned long long)i->packet_size);
	st = is_had(v, s, i, &is_known);
	v->totals->had += st == OK && is_known;
	if (st == OK && !is_known) {
		st = get_packet(v, s, i, i->packet_size / 8, &r);
		if (st == OK)
			st = give_packet(v, s, i, &r);
	}
	s->count++;
	if (st != E_NOENT)
		return st;
	/* If the sink did not have it, the next packet is behind a gap. */
	if (may_be_had(s))
		return OK;
	s->next += s->has_next;
	return lose(v, s, 1);
}

static enum status
take_beacon(
    struct viewed *v, struct viewed_stream *s, const struct live_index *i)
{
	if (i->timestamp_end <= s->beacon)
		return OK;
	s->beacon = i->timestamp_end;
	v->has_news = true;
	return viewed_of_sink(v, v->out->ops->beacon(v->out, s->number,
				     i->timestamp_end, i->ctf_stream));
}

/* A stream has ended, and with the last one its trace. */
static enum status
end_stream(struct viewed *v, struct viewed_stream *s)
{
	struct viewed_trace *t = s->trace;
	enum status st = viewed_of_sink(
	    v, v->out->ops->close_stream(v->out, s->number));

	list_del(&s->node);
	free(s->channel);
	free(s);
	v->has_news = v->is_stale = true;
	if (st != OK || !list_empty(&t->streams))
		return st;
	st = viewed_fetch_metadata(v, t);
	if (st == OK)
		st = viewed_announce(v, t);
	if (st == OK)
		st = viewed_of_sink(
		    v, v->out->ops->close_stream(v->out, t->number));
	t->is_over = true;
	return st;
}

enum status
viewed_ask_next(struct viewed *v, struct viewed_stream *s, bool *is_packet)
{
	struct live_index i = { 0 };
	struct reader r;
	enum status st = viewed_ask(v, LIVE_CMD_get_next_index, s->id, &r);

	*is_packet = false;
	if (st != OK)
		return st;
	live_index_decode(&r, &i);
	v->is_stale |= (i.flags & LIVE_FLAG_NEW_STREAM) != 0;
	s->trace->is_stale |= (i.flags & LIVE_FLAG_NEW_METADATA) != 0 &&
			      s->trace->has_metadata_id;
	/* Before a packet that needs it, and before times that lie after the
	 * beginning of a new stream (live 4.6). */
	if (v->is_stale || s->trace->is_stale)
		st = viewed_catch_up(v);
	if (st != OK)
		return st;
	switch (i.status) {
	case LIVE_INDEX_OK:
		*is_packet = v->has_news = true;
		return take_packet(v, s, &i);
	case LIVE_INDEX_INACTIVE:
		return take_beacon(v, s, &i);
	case LIVE_INDEX_RETRY:
		return OK;
	case LIVE_INDEX_HUP:
		return end_stream(v, s);
	default:
		return viewed_fail(v, E_PROTOCOL,
		    "%s/%s: the relay cannot read it", s->trace->path,
		    s->channel);
	}
}
