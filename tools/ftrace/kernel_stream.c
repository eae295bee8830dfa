/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/kernel_stream.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/compiler.h"
#include "ctf/packet.h"
#include "tools/ftrace/order.h"

size_t
kernel_stream_buffer_size(uint32_t page_size)
{
	return KERNEL_PACKET_HEADER_LEN + KERNEL_PACKET_SIZE +
	       KERNEL_PAGE_GROWTH * (size_t)page_size;
}

static const struct dat_shifts *
find_shifts(const struct kernel_stream_config *config)
{
	const struct dat *d = config->trace->dat;

	return config->cpu < d->n_shifts && d->shifts[config->cpu].n > 0
		   ? &d->shifts[config->cpu]
		   : NULL;
}

enum status
kernel_stream_create(
    struct kernel_stream **out, const struct kernel_stream_config *config)
{
	struct kernel_stream *s = calloc(1, sizeof(*s));

	assert(config->page_size >= PAGE_SIZE_MIN &&
	       config->page_size <= PAGE_SIZE_MAX);
	assert(config->packet != NULL);
	*out = NULL;
	if (s == NULL)
		return E_NOMEM;
	s->config = *config;
	s->layout = config->trace->dat->page;
	s->layout.size = config->page_size;
	s->shifts = find_shifts(config);
	s->page_max = (config->trace->dat->symbols == NULL
			      ? KERNEL_PAGE_GROWTH
			      : KERNEL_PAGE_GROWTH_SYMBOLS) *
		      (size_t)config->page_size;
	assert(config->buffer == NULL || config->trace->dat->symbols == NULL);
	s->mem = config->buffer;
	if (s->mem == NULL)
		s->mem = s->own = malloc(KERNEL_PACKET_HEADER_LEN +
					 KERNEL_PACKET_SIZE + s->page_max);
	if (s->mem == NULL) {
		kernel_stream_destroy(s);
		return E_NOMEM;
	}
	s->at = s->mem + KERNEL_PACKET_HEADER_LEN;
	*out = s;
	return OK;
}

void
kernel_stream_destroy(struct kernel_stream *s)
{
	if (s == NULL)
		return;
	free(s->own);
	free(s);
}

static void
put_packet_header(struct kernel_stream *s, const struct kernel_packet *p)
{
	const bool is_big = s->layout.is_big;
	const uint64_t bits = (uint64_t)p->size * 8;
	uint8_t *at = s->mem;

	assert(p->begin <= p->end);
	assert(p->size > KERNEL_PACKET_HEADER_LEN);
	at = order_store_u32(is_big, at, CTF_MAGIC);
	memcpy(at, s->config.trace->uuid, CTF_UUID_LEN);
	at = order_store_u32(is_big, at + CTF_UUID_LEN, KERNEL_STREAM_CLASS);
	at = order_store_u64(is_big, at, p->cpu);
	at = order_store_u64(is_big, at, p->begin);
	at = order_store_u64(is_big, at, p->end);
	at = order_store_u64(is_big, at, bits); /* content */
	at = order_store_u64(is_big, at, bits); /* packet */
	at = order_store_u64(is_big, at, p->seq);
	at = order_store_u64(is_big, at, p->discarded);
	(void)order_store_u32(is_big, at, p->cpu);
}

enum status
kernel_stream_flush(struct kernel_stream *s)
{
	const struct kernel_packet p = {
		.data = s->mem,
		.size = (uint32_t)(s->at - s->mem),
		.begin = s->begin,
		.end = s->last,
		.discarded = s->discarded,
		.seq = s->seq,
		.cpu = s->config.cpu,
		.n_events = s->n_events,
	};

	if (s->n_events == 0)
		return OK;
	put_packet_header(s, &p);
	s->seq++;
	s->counts.packets++;
	s->counts.bytes += p.size;
	s->counts.events += s->n_events;
	s->n_events = 0;
	s->at = s->mem + KERNEL_PACKET_HEADER_LEN;
	return s->config.packet(s->config.arg, &p);
}

/* The event's encoding, or NULL. Each event begins with its id: the kernel's
 * struct trace_entry. */
static const struct kernel_event *
find_event(
    const struct kernel_stream *s, const struct page_event *e, uint16_t *id)
{
	const struct kernel_trace *t = s->config.trace;
	const struct kernel_event *found;

	if (e->size < sizeof(*id))
		return NULL;
	*id = order_u16(s->layout.is_big, e->data);
	if (t->dat->by_id[*id] == 0)
		return NULL;
	found = &t->events[t->dat->by_id[*id] - 1];
	return found->ops == NULL ? NULL : found;
}

/* False: the event was left out; *WHY is the counter for the reason. */
static bool
put_event(struct kernel_stream *s, const struct page_event *e,
    const uint8_t *end, uint64_t **why)
{
	const bool is_big = s->layout.is_big;
	const struct kernel_event *how;
	uint8_t *at = s->at;
	uint16_t id;

	*why = &s->counts.late;
	if (e->time < s->last)
		return false;
	*why = &s->counts.unknown;
	how = find_event(s, e, &id);
	if (how == NULL)
		return false;
	*why = &s->counts.malformed;
	if (e->time > s->config.trace->time_max ||
	    end - at < KERNEL_EVENT_HEADER_LEN)
		return false;
	at = order_store_u16(is_big, at, id);
	at = order_store_u64(is_big, at, e->time);
	at = kernel_event_encode(
	    s->config.trace, how, e->data, e->size, at, end);
	if (at == NULL)
		return false;
	s->at = at;
	return true;
}

static void
put_events(struct kernel_stream *s, struct page *p)
{
	const uint8_t *end = s->at + s->page_max;
	uint64_t page_time = p->time;
	struct page_event e;
	uint64_t *why;

	if (s->shifts != NULL)
		page_time = dat_shift_time(s->shifts, page_time);
	while (page_next(p, &e)) {
		if (s->shifts != NULL)
			e.time = dat_shift_time(s->shifts, e.time);
		if (e.time <= s->config.trace->time_max)
			s->last_event = e.time;
		if (!put_event(s, &e, end, &why)) {
			++*why;
			s->discarded++;
			continue;
		}
		if (s->n_events++ == 0) {
			s->begin = page_time < e.time ? page_time : e.time;
			if (s->begin < s->last)
				s->begin = s->last;
		}
		s->last = e.time;
	}
	if (p->is_malformed) {
		s->counts.malformed++;
		s->discarded++;
	}
}

enum status
kernel_stream_page(struct kernel_stream *s, const uint8_t *page)
{
	enum status st = OK;
	struct page p;

	s->counts.pages++;
	if (page_open(&p, &s->layout, page) != OK) {
		s->counts.malformed++;
		s->discarded++;
		return OK;
	}
	/* Readers report missing events between two packets. */
	if (p.lost > 0)
		st = kernel_stream_flush(s);
	s->counts.lost += p.lost;
	s->discarded += p.lost;
	put_events(s, &p);
	if (st == OK && s->at - s->mem >= KERNEL_PACKET_SIZE)
		st = kernel_stream_flush(s);
	return st;
}

void
kernel_stream_promise(struct kernel_stream *s, uint64_t time)
{
	assert(s->n_events == 0);
	if (time > s->last)
		s->last = time;
}

void
kernel_stream_drop(struct kernel_stream *s, const struct kernel_packet *p)
{
	s->counts.dropped += p->n_events;
	s->discarded += p->n_events;
}

void
kernel_counts_add(struct kernel_counts *sum, const struct kernel_counts *c)
{
	sum->events += c->events;
	sum->packets += c->packets;
	sum->bytes += c->bytes;
	sum->pages += c->pages;
	sum->lost += c->lost;
	sum->unknown += c->unknown;
	sum->malformed += c->malformed;
	sum->late += c->late;
	sum->dropped += c->dropped;
}

struct client_packet
kernel_client_packet(const struct kernel_packet *p)
{
	return (struct client_packet){
		.data = p->data,
		.size = p->size,
		.index = { .packet_size = (uint64_t)p->size * 8,
		    .content_size = (uint64_t)p->size * 8,
		    .timestamp_begin = p->begin,
		    .timestamp_end = p->end,
		    .events_discarded = p->discarded,
		    .ctf_stream = KERNEL_STREAM_CLASS,
		    .ctf_instance = p->cpu,
		    .packet_seq_num = p->seq },
	};
}

enum status
kernel_client_packet_copy(
    struct client_packet *out, const struct kernel_packet *p)
{
	uint8_t *copy = malloc(p->size);

	if (copy == NULL)
		return E_NOMEM;
	memcpy(copy, p->data, p->size);
	*out = kernel_client_packet(p);
	out->data = out->arg = copy;
	out->done = free;
	return OK;
}

void
kernel_file_name(
    char out[DAT_NAME_MAX], const char *name, const char *otherwise)
{
	(void)snprintf(
	    out, DAT_NAME_MAX, "%s", *name == '\0' ? otherwise : name);
	for (char *p = out; *p != '\0'; p++)
		if (*p == '/' || (p == out && *p == '.'))
			*p = '_';
}
