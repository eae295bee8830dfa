/* SPDX-License-Identifier: MIT */
#include "tools/send/packets.h"

#include <assert.h>
#include <string.h>

#include "ctf/index.h"
#include "tools/send/heads.h"
#include "tools/send/tsdl.h"

static enum status
wrong(struct packets *p, const char *text)
{
	p->error = text;
	return E_MALFORMED;
}

/* Refuse packets that no relay could take. */
static enum status
check_size(struct packets *p, const struct client_packet *k, uint64_t bits)
{
	if (bits == 0 || bits % 8 != 0)
		return wrong(p, "the size of a packet is not in whole bytes");
	if (bits / 8 > p->data.n - p->at)
		return wrong(p, "the last packet is cut short");
	if (bits / 8 > UINT32_MAX)
		return wrong(p, "a packet is larger than 4 GiB");
	if (k->index.content_size > bits)
		return wrong(
		    p, "the content of a packet is larger than the packet");
	return OK;
}

static enum status
next_by_index(struct packets *p, struct client_packet *out)
{
	const uint64_t at = INDEX_HEADER_LEN + p->number * p->record_len;
	struct relay_index *i = &out->index;
	struct index_record rec;
	enum status st;

	if (at + p->record_len > p->index.n)
		return wrong(p, "the index is too short");
	index_decode(p->index.p + at, &rec, p->index_minor);
	if (rec.offset != p->at)
		return wrong(p, "the index has gaps");
	i->packet_size = rec.packet_size;
	i->content_size = rec.content_size;
	i->timestamp_begin = rec.timestamp_begin;
	i->timestamp_end = rec.timestamp_end;
	i->events_discarded = rec.events_discarded;
	i->ctf_stream = rec.ctf_stream;
	i->packet_seq_num = p->number;
	if (p->index_minor > 0) {
		i->ctf_instance = rec.ctf_instance;
		i->packet_seq_num = rec.packet_seq_num;
	}
	st = check_size(p, out, i->packet_size);
	out->size = (uint32_t)(i->packet_size / 8);
	return st;
}

/* A clock field of fewer than 64 bits has wrapped around when its value is
 * below the one before it. */
static uint64_t
get_time(struct packets *p, const struct heads *h, enum tsdl_name name)
{
	const unsigned size = h->context->fields[name].size;
	uint64_t v = heads_get(h, name, 0), wrap;

	if (size < 64) {
		wrap = UINT64_C(1) << size;
		v |= p->last_time & ~(wrap - 1);
		if (v < p->last_time)
			v += wrap;
	}
	if (v > p->last_time)
		p->last_time = v;
	return v;
}

static enum status
next_by_header(struct packets *p, struct client_packet *out)
{
	struct relay_index *i = &out->index;
	struct heads h;
	enum status st = heads_find(
	    &h, p->tsdl, p->data.p + p->at, p->data.n - p->at, &p->error);

	if (st != OK)
		return st;
	if (!heads_has(&h, TSDL_TIMESTAMP_BEGIN) ||
	    !heads_has(&h, TSDL_TIMESTAMP_END))
		return wrong(p, "packets have no time stamps");
	/* Without sizes the file is one packet (CTF 1.8, 5.2). */
	i->packet_size = heads_get(&h, TSDL_PACKET_SIZE,
	    heads_get(&h, TSDL_CONTENT_SIZE, (p->data.n - p->at) * 8));
	i->content_size = heads_get(&h, TSDL_CONTENT_SIZE, i->packet_size);
	i->timestamp_begin = get_time(p, &h, TSDL_TIMESTAMP_BEGIN);
	i->timestamp_end = get_time(p, &h, TSDL_TIMESTAMP_END);
	i->events_discarded = heads_get(&h, TSDL_EVENTS_DISCARDED, 0);
	i->ctf_stream = heads_get(&h, TSDL_STREAM_ID, 0);
	i->ctf_instance = heads_get(&h, TSDL_STREAM_INSTANCE_ID, 0);
	i->packet_seq_num = heads_get(&h, TSDL_PACKET_SEQ_NUM, p->number);
	st = check_size(p, out, i->packet_size);
	out->size = (uint32_t)(i->packet_size / 8);
	if (st == OK && i->packet_size < h.context_at + h.context->size)
		st = wrong(p, "a packet is shorter than its own header");
	return st;
}

enum status
packets_next(struct packets *p, struct client_packet *out)
{
	enum status st;

	assert(p->at <= p->data.n);
	if (p->at == p->data.n)
		return E_NOENT;
	*out = (struct client_packet){ .data = p->data.p + p->at,
		.is_in_file = p->data.has_fd,
		.file = p->data.fd,
		.file_at = p->at };
	st = p->has_index ? next_by_index(p, out) : next_by_header(p, out);
	if (st == OK && out->index.timestamp_begin > out->index.timestamp_end)
		st = wrong(p, "a packet ends before it begins");
	if (st != OK)
		return st;
	p->at += out->size;
	p->number++;
	return OK;
}

void
packets_rewind(struct packets *p)
{
	p->at = p->number = p->last_time = 0;
}

static enum status
walk(struct packets *p)
{
	struct client_packet k;
	enum status st;

	packets_rewind(p);
	p->end = 0;
	while ((st = packets_next(p, &k)) == OK) {
		if (k.index.timestamp_end > p->end)
			p->end = k.index.timestamp_end;
		if (p->stop != NULL && *p->stop)
			return E_STOPPED;
	}
	p->count = p->number;
	if (st == E_NOENT && p->has_index &&
	    p->index.n != INDEX_HEADER_LEN + p->number * p->record_len)
		st = wrong(p, "the index is too long");
	packets_rewind(p);
	return st == E_NOENT ? OK : st;
}

/* Is there an index file that covers the whole data file? */
static bool
try_index(struct packets *p, const char *path)
{
	if (mapped_open(&p->index, path, false) != OK ||
	    p->index.n < INDEX_HEADER_LEN ||
	    index_header_decode(p->index.p, &p->index_minor) != OK)
		return false;
	p->record_len = index_record_len(p->index_minor);
	p->has_index = true;
	return walk(p) == OK;
}

enum status
packets_open(struct packets *p, const char *path, const char *index_path,
    const struct tsdl *tsdl, const volatile sig_atomic_t *stop)
{
	enum status st;

	*p = (struct packets){ .tsdl = tsdl, .error = "", .stop = stop };
	if ((st = mapped_open(&p->data, path, true)) != OK)
		return st;
	if (p->data.n > 0 && try_index(p, index_path))
		return OK;
	mapped_close(&p->index);
	p->has_index = false;
	st = walk(p);
	if (st != OK)
		mapped_close(&p->data);
	return st;
}

void
packets_close(struct packets *p)
{
	mapped_close(&p->data);
	mapped_close(&p->index);
}
