/* SPDX-License-Identifier: MIT */
#undef NDEBUG
#include "tests/ftrace/whole.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ftrace/dat_pages.h"

struct whole {
	struct kernel_stream *stream;
	uint64_t events, end, discarded, seq;
};

static enum status
take_packet(void *arg, const struct kernel_packet *p)
{
	struct whole *w = arg;

	assert(p->n_events > 0 && p->seq == w->seq++);
	assert(p->begin <= p->end && p->begin >= w->end);
	assert(p->discarded >= w->discarded);
	assert(p->size >= KERNEL_PACKET_HEADER_LEN + KERNEL_EVENT_HEADER_LEN);
	/* The bytes that are told are there: sanitizers look at them. */
	for (uint32_t i = 0, x = 0; i < p->size; i++) {
		x += p->data[i];
		assert(x <= i * 255 + 255);
	}
	w->end = p->end;
	w->discarded = p->discarded;
	w->events += p->n_events;
	return OK;
}

static enum status
take_page(void *arg, const uint8_t *page)
{
	struct whole *w = arg;

	return kernel_stream_page(w->stream, page);
}

static void
convert_cpu(const struct kernel_trace *t, const struct dat_buffer *b,
    const struct dat_pages *cpu, const uint8_t *p, size_t n,
    struct kernel_counts *sum)
{
	struct whole w = { 0 };
	const struct kernel_stream_config config = { .trace = t,
		.cpu = cpu->cpu,
		.page_size = b->page_size,
		.packet = take_packet,
		.arg = &w };
	const struct kernel_counts *c;

	assert(kernel_stream_create(&w.stream, &config) == OK);
	if (dat_pages_each(t->dat, b, cpu, p, n, take_page, &w) != OK)
		sum->malformed++;
	assert(kernel_stream_flush(w.stream) == OK);
	c = &w.stream->counts;
	assert(c->events == w.events && c->packets == w.seq);
	assert(w.discarded <= c->lost + c->unknown + c->malformed + c->late);
	kernel_counts_add(sum, c);
	kernel_stream_destroy(w.stream);
}

enum status
whole_convert(const uint8_t *p, size_t n, struct kernel_counts *counts)
{
	const struct kernel_settings settings = { .buffer = "",
		.offset_from = "none",
		.names = n % 2 == 0 ? KERNEL_NAMES_SYSTEM
				    : KERNEL_NAMES_LTTNG };
	char why[DAT_WHY_MAX];
	struct kernel_trace *t;
	struct dat *d;
	enum status st = dat_read_symbols(&d, p, n, n % 4 >= 2, why);

	*counts = (struct kernel_counts){ 0 };
	if (st != OK) {
		assert(why[0] != '\0' && d == NULL);
		return st;
	}
	st = kernel_trace_create(&t, d, &settings, why);
	for (unsigned i = 0; st == OK && i < d->n_buffers; i++)
		for (unsigned k = 0; k < d->buffers[i].n_cpus; k++)
			convert_cpu(t, &d->buffers[i], &d->buffers[i].cpus[k],
			    p, n, counts);
	if (st == OK)
		kernel_trace_destroy(t);
	dat_free(d);
	return st;
}
