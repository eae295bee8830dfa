/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/page_align.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ftrace/order.h"

/* How much newer than the page before it a page may be, 39 hours, and mostly
 * is, 69 s, in ns. Bytes inside a page sometimes look like the head of a page,
 * but rarely like one of the next 69 s. */
#define STEP_MAX (UINT64_C(1) << 47)
#define STEP_NEAR (UINT64_C(1) << 36)
/* A search reads at most the bytes of this many pages. */
#define READ_PAGES_MAX 4

/* Bytes that suffice to decide how a page goes on: another page that begins
 * inside it, and the head of the page after that. */
static size_t
lookahead(const struct page_layout *l)
{
	return 2 * (size_t)l->size + page_head(l);
}

/* Another page, for the modified one. */
size_t
page_align_memory(const struct page_layout *layout)
{
	return lookahead(layout) + layout->size;
}

enum status
page_align_init(struct page_align *a, const struct page_layout *layout,
    void (*pages)(void *arg, const uint8_t *p, size_t n), void *arg)
{
	*a = (struct page_align){
		.layout = *layout,
		.pages = pages,
		.arg = arg,
		.is_off = page_head(layout) > layout->size,
	};
	a->rest = malloc(page_align_memory(layout));
	if (a->rest == NULL)
		return E_NOMEM;
	a->changed = a->rest + lookahead(layout);
	return OK;
}

void
page_align_free(struct page_align *a)
{
	free(a->rest);
	*a = (struct page_align){ .is_off = true };
}

static bool
is_newer(const struct page_layout *l, const uint8_t *p, uint64_t after,
    uint64_t step)
{
	const uint64_t time = order_u64(l->is_big, p);

	return time >= after && time - after < step;
}

/* Do these bytes look like the head of a page of time AFTER or at most STEP
 * later? */
static bool
is_head(const struct page_layout *l, const uint8_t *p, uint64_t after,
    uint64_t step)
{
	return is_newer(l, p, after, step) && page_data_bytes(l, p) > 0;
}

/* Is the whole page readable? IS_NEAR: its time is as expected, so it may be
 * without events. */
static bool
is_readable(const struct page_layout *l, const uint8_t *p, bool is_near)
{
	struct page_event e;
	struct page page;
	bool has_event = is_near;

	if (page_open(&page, l, p) != OK)
		return false;
	if (page.bytes == page.end)
		return is_near;
	if (page_data_bytes(l, p) == 0)
		return false;
	while (page_next(&page, &e))
		has_event = true;
	return has_event && !page.is_malformed;
}

static bool
is_readable_behind(const struct page_layout *l, const uint8_t *p, uint64_t time)
{
	return is_readable(l, p, is_newer(l, p, time, STEP_NEAR));
}

/* Do N bytes include the head of the next page? */
static bool
has_next(const struct page_layout *l, size_t n)
{
	return n >= l->size + page_head(l);
}

/* How likely a page begins at P, judged by its head. That another page, or
 * nothing, follows it says more than its time does. */
enum likely {
	LIKELY_NOT,
	LIKELY_LITTLE,
	LIKELY_BY_TIME,
	LIKELY_BY_NEXT,
	LIKELY_BY_BOTH,
};
static enum likely
likely(const struct page_layout *l, const uint8_t *p, size_t n, uint64_t after)
{
	const uint64_t time = order_u64(l->is_big, p);
	const bool is_near = is_newer(l, p, after, STEP_NEAR);

	if (!is_head(l, p, after, STEP_MAX))
		return LIKELY_NOT;
	if (n == l->size ||
	    (has_next(l, n) && is_head(l, p + l->size, time, STEP_NEAR)))
		return is_near ? LIKELY_BY_BOTH : LIKELY_BY_NEXT;
	return is_near ? LIKELY_BY_TIME : LIKELY_LITTLE;
}

/* The offset of the most likely page inside the page at P, up to its size; 0:
 * none. */
static size_t
find_page(const struct page_align *a, const uint8_t *p, size_t n)
{
	const struct page_layout *l = &a->layout;
	const uint64_t after = is_head(l, p, a->time, STEP_NEAR)
				   ? order_u64(l->is_big, p)
				   : a->time;
	size_t found = 0, left = READ_PAGES_MAX * (size_t)l->size;
	/* A readable page is cut only for a page that is more likely than by
	 * its time. */
	enum likely best = is_readable_behind(l, p, a->time) ? LIKELY_BY_TIME
							     : LIKELY_NOT;

	for (size_t at = 1; at <= l->size && n - at >= l->size; at++) {
		const enum likely how = likely(l, p + at, n - at, after);
		size_t data;

		if (how <= best)
			continue;
		data = page_data_bytes(l, p + at);
		if (data > left)
			break;
		left -= data;
		if (!is_readable(l, p + at, false))
			continue;
		found = at;
		best = how;
	}
	return found;
}

/* Is there a page at P, and does what has arrived of the next one look like a
 * page, too? If time jumps, both must be readable. */
static bool
is_page(const struct page_align *a, const uint8_t *p, size_t n)
{
	const struct page_layout *l = &a->layout;
	const uint64_t time = order_u64(l->is_big, p);
	const uint8_t *next = p + l->size;

	/* Reading a page takes long; do it only if necessary. */
	if (has_next(l, n) && is_head(l, next, time, STEP_NEAR) &&
	    is_head(l, p, a->time, STEP_NEAR))
		return true;
	if (!is_readable_behind(l, p, a->time))
		return false;
	return !has_next(l, n) || is_head(l, next, time, STEP_MAX) ||
	       (n >= 2 * (size_t)l->size && is_readable_behind(l, next, time));
}

/* How many bytes are needed to decide whether there is a page, if N do not
 * suffice. */
static size_t
wanted(const struct page_layout *l, size_t n)
{
	if (n < l->size)
		return l->size;
	if (!has_next(l, n))
		return l->size + page_head(l);
	return n < 2 * (size_t)l->size ? 2 * (size_t)l->size : lookahead(l);
}

static void
pass_changed(struct page_align *a)
{
	a->pages(a->arg, a->changed, a->layout.size);
}

/* Passes on the whole events in the first N bytes of the page at P, which is at
 * most STEP newer than the one before. Returns true if events are missing. */
static bool
pass_cut(struct page_align *a, const uint8_t *p, size_t n, uint64_t step)
{
	const struct page_layout *l = &a->layout;

	assert(n <= l->size);
	if (n < page_head(l) || !is_head(l, p, a->time, step))
		return true;
	memset(a->changed, 0, l->size);
	memcpy(a->changed, p, n);
	if (page_cut(l, a->changed, (uint32_t)n)) {
		a->time = order_u64(l->is_big, p);
		if (a->has_gap)
			page_set_lost(l, a->changed);
		a->has_gap = false;
		pass_changed(a);
	}
	return page_data_bytes(l, p) > n - l->data_at;
}

static void
pass_after_gap(struct page_align *a, const uint8_t *p)
{
	memcpy(a->changed, p, a->layout.size);
	page_set_lost(&a->layout, a->changed);
	a->has_gap = false;
	pass_changed(a);
}

/* Handles bytes at P that are not a page. Returns how many were consumed. */
static size_t
repair_page(struct page_align *a, const uint8_t *p, size_t n)
{
	const uint32_t size = a->layout.size;
	const size_t next = find_page(a, p, n);

	a->misses = next == size ? 0 : a->misses + 1;
	a->is_off = a->misses == PAGE_ALIGN_MISSES_MAX;
	if (next == 0 || next == size) {
		if (is_readable(&a->layout, p, false))
			a->time = order_u64(a->layout.is_big, p);
		a->pages(a->arg, p, size);
		return size;
	}
	if (pass_cut(a, p, next, STEP_NEAR)) {
		a->has_gap = true;
		a->cuts++;
	}
	return next;
}

/* Returns how many bytes were consumed; fewer than lookahead() are left. */
static size_t
take_bytes(struct page_align *a, const uint8_t *p, size_t n, bool is_end)
{
	const uint32_t size = a->layout.size;
	size_t from = 0, at = 0; /* pages between them are not passed on yet */

	while (n - at >= size) {
		if (!a->has_begun) {
			a->is_off |= !is_readable(&a->layout, p, false);
			a->time = order_u64(a->layout.is_big, p);
			a->has_begun = true;
		}
		if (a->is_off) {
			at += (n - at) / size * size;
			break;
		}
		if (is_page(a, p + at, n - at)) {
			a->time = order_u64(a->layout.is_big, p + at);
			a->misses = 0;
			if (a->has_gap) {
				pass_after_gap(a, p + at);
				from = at + size;
			}
			at += size;
			continue;
		}
		if (n - at < lookahead(&a->layout) && !is_end)
			break;
		if (at > from)
			a->pages(a->arg, p + from, at - from);
		at += repair_page(a, p + at, n - at);
		from = at;
	}
	if (at > from)
		a->pages(a->arg, p + from, at - from);
	a->wanted = wanted(&a->layout, n - at);
	return at;
}

void
page_align_bytes(struct page_align *a, const uint8_t *p, size_t n)
{
	assert(a->n_rest < lookahead(&a->layout));
	while (n > 0) {
		const size_t before = a->n_rest;
		const size_t left = lookahead(&a->layout) - before;
		const size_t more = n < left ? n : left;
		size_t used;

		if (before == 0) {
			used = take_bytes(a, p, n, false);
			a->n_rest = n - used;
			if (a->n_rest > 0)
				memcpy(a->rest, p + used, a->n_rest);
			return;
		}
		memcpy(a->rest + before, p, more);
		a->n_rest += more;
		if (a->n_rest < a->wanted)
			return;
		used = take_bytes(a, a->rest, a->n_rest, false);
		if (used >= before) {
			/* The rest is still in the input. */
			a->n_rest = 0;
			p += used - before;
			n -= used - before;
		} else {
			a->n_rest -= used;
			if (used > 0)
				memmove(a->rest, a->rest + used, a->n_rest);
			p += more;
			n -= more;
		}
	}
}

/* The offset at which another page begins in the N bytes of an incomplete page;
 * if all of its events are present, after them. N: none. */
static size_t
find_head(const struct page_align *a, const uint8_t *p, size_t n)
{
	const struct page_layout *l = &a->layout;
	uint64_t after = a->time;
	size_t at = 1;

	if (n < page_head(l))
		return n;
	if (is_head(l, p, a->time, STEP_MAX)) {
		const size_t end = l->data_at + page_data_bytes(l, p);

		after = order_u64(l->is_big, p);
		at = end <= n ? end : 1;
	}
	for (; n - at >= page_head(l); at++)
		if (is_head(l, p + at, after, STEP_NEAR))
			return at;
	return n;
}

/* Passes on the incomplete last page. It begins where a page is due, so on an
 * idle CPU it may be much newer than the one before. Bytes inside it that look
 * like another page may be one or not: neither becomes events. */
static void
pass_last(struct page_align *a, const uint8_t *p, size_t n)
{
	size_t end;

	if (!a->has_begun && n >= page_head(&a->layout))
		a->time = order_u64(a->layout.is_big, p);
	end = find_head(a, p, n);
	a->cuts += pass_cut(a, p, end, STEP_MAX);
	a->cuts += end < n;
}

void
page_align_end(struct page_align *a)
{
	size_t used;

	if (a->n_rest == 0)
		return;
	used = take_bytes(a, a->rest, a->n_rest, true);
	if (used < a->n_rest && !a->is_off)
		pass_last(a, a->rest + used, a->n_rest - used);
	a->n_rest = 0;
}
