/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/page_feed.h"

#include <stdlib.h>

static void
free_rests(struct page_feed *f)
{
	for (uint32_t i = 0; f->rests != NULL && i < f->cpus; i++)
		buf_free(&f->rests[i]);
	free(f->rests);
	f->rests = NULL;
}

enum status
page_feed_init(struct page_feed *f, struct recorder_sink *take_sink,
    uint32_t cpus, uint32_t page_size)
{
	*f = (struct page_feed){
		.sink = take_sink, .cpus = cpus, .page_size = page_size
	};
	if (take_sink == NULL)
		return OK;
	f->rests = calloc(cpus, sizeof(*f->rests));
	if (f->rests != NULL)
		return OK;
	page_feed_free(f);
	return E_NOMEM;
}

static void
feed(struct page_feed *f, uint32_t cpu, const uint8_t *p, size_t n)
{
	struct buf *rest = &f->rests[cpu];
	size_t whole;

	if (buf_len(rest) > 0) {
		const size_t missing = f->page_size - buf_len(rest);
		const size_t take = n < missing ? n : missing;

		buf_bytes(rest, p, take);
		p += take;
		n -= take;
		if (buf_len(rest) < f->page_size)
			return;
		f->sink->ops->pages(f->sink, cpu, buf_data(rest), f->page_size);
		buf_consume(rest, f->page_size);
		buf_trim(rest);
	}
	whole = n - n % f->page_size;
	if (whole > 0)
		f->sink->ops->pages(f->sink, cpu, p, whole);
	if (n > whole)
		buf_bytes(rest, p + whole, n - whole);
}

enum status
page_feed_bytes(struct page_feed *f, uint32_t cpu, const uint8_t *p, size_t n)
{
	if (f->sink == NULL)
		return OK;
	feed(f, cpu, p, n);
	if (!f->rests[cpu].bad)
		return OK;
	page_feed_free(f);
	return E_NOMEM;
}

void
page_feed_end(struct page_feed *f)
{
	free_rests(f);
	if (f->sink != NULL)
		f->sink->ops->end(f->sink);
}

void
page_feed_free(struct page_feed *f)
{
	free_rests(f);
	if (f->sink != NULL)
		f->sink->ops->destroy(f->sink);
	f->sink = NULL;
}
