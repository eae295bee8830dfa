/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/page_feed.h"

#include <assert.h>
#include <stdlib.h>

#include "tools/ftrace/live.h"
#include "tools/ftrace/page_align.h"
#include "tools/ftrace/recording.h"

struct page_feed_cpu {
	struct page_feed *feed;
	uint32_t cpu;
	bool is_raw; /* no memory: bytes are stored as they come */
	struct page_align align;
};

static void
deliver(void *arg, const uint8_t *p, size_t n)
{
	const struct page_feed_cpu *c = arg;
	const struct page_feed *f = c->feed;

	assert(n % f->layout.size == 0);
	recording_pages(f->recording, c->cpu, p, n);
	if (f->live != NULL)
		live_pages(f->live, c->cpu, p, n);
}

static void
free_live(struct page_feed *f)
{
	live_destroy(f->live);
	f->live = NULL;
}

uint64_t
page_feed_memory(
    const struct dat_layout *layout, uint32_t cpus, enum page_feed_how how)
{
	const struct page_layout l = page_layout_of(
	    layout->page_size, layout->long_size, layout->is_big);

	return how == PAGE_FEED_STREAM ? cpus * (uint64_t)page_align_memory(&l)
				       : 0;
}

enum status
page_feed_init(struct page_feed *f, struct recording *recording,
    struct live *take_live, const struct dat_layout *layout,
    enum page_feed_how how)
{
	const uint32_t cpus = recording->n_parts;

	*f = (struct page_feed){ .recording = recording,
		.live = take_live,
		.cpus = cpus,
		.is_whole = how == PAGE_FEED_DATAGRAMS,
		.layout = page_layout_of(
		    layout->page_size, layout->long_size, layout->is_big) };
	f->all = calloc(cpus, sizeof(*f->all));
	if (f->all == NULL) {
		free_live(f);
		return E_NOMEM;
	}
	for (uint32_t i = 0; i < cpus; i++) {
		f->all[i].feed = f;
		f->all[i].cpu = i;
		f->all[i].is_raw = how == PAGE_FEED_RAW;
	}
	return OK;
}

/* Handles the first bytes of a CPU. */
static enum status
begin_cpu(struct page_feed *f, struct page_feed_cpu *c)
{
	const uint32_t size = f->layout.commit_size;
	const enum status st = page_align_init(
	    &c->align, &f->layout, size != 4 && size != 8, deliver, c);
	const bool is_first = !f->has_failed;

	if (st == OK)
		return OK;
	c->is_raw = f->has_failed = true;
	free_live(f);
	return is_first ? st : OK;
}

enum status
page_feed_bytes(struct page_feed *f, uint32_t cpu, const uint8_t *p, size_t n)
{
	struct page_feed_cpu *c = &f->all[cpu];
	enum status st = OK;

	assert(cpu < f->cpus);
	if (f->is_whole) {
		deliver(c, p, n);
		return OK;
	}
	if (c->align.rest == NULL && !c->is_raw)
		st = begin_cpu(f, c);
	if (c->is_raw)
		recording_pages(f->recording, cpu, p, n);
	else
		page_align_bytes(&c->align, p, n);
	return st;
}

void
page_feed_end(struct page_feed *f)
{
	for (uint32_t i = 0; f->all != NULL && i < f->cpus; i++)
		if (f->all[i].align.rest != NULL)
			page_align_end(&f->all[i].align);
	if (f->live != NULL)
		live_end(f->live);
}

uint64_t
page_feed_cuts(const struct page_feed *f)
{
	uint64_t cuts = 0;

	for (uint32_t i = 0; f->all != NULL && i < f->cpus; i++)
		cuts += f->all[i].align.cuts;
	return cuts;
}

void
page_feed_free(struct page_feed *f)
{
	for (uint32_t i = 0; f->all != NULL && i < f->cpus; i++)
		page_align_free(&f->all[i].align);
	free(f->all);
	f->all = NULL;
	free_live(f);
}
