/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/page.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "tools/ftrace/event_format.h"
#include "tools/ftrace/order.h"

#define COMMIT_BYTES UINT32_C(0x07ffffff)
#define COMMIT_COUNTED (UINT32_C(1) << 30)
#define COMMIT_LOST (UINT32_C(1) << 31)

/* Types of events; smaller values are lengths in words. */
enum event_type {
	TYPE_LONG = 0,
	TYPE_PADDING = 29,
	TYPE_EXTEND = 30,
	TYPE_ABSOLUTE = 31,
};
#define DELTA_BITS 27
#define DELTA_MASK ((UINT32_C(1) << DELTA_BITS) - 1)
#define WORD 4
/* The bits of an absolute time; the bits above them come from the
 * time before. */
#define ABSOLUTE_BITS 59

/* The offset of the low 32 bits of the commit word. The high ones, if any, are
 * their sign extension or 0. */
static uint32_t
low_at(const struct page_layout *l)
{
	return l->commit_at + (l->is_big ? l->commit_size - WORD : 0);
}

static uint32_t
high_at(const struct page_layout *l)
{
	return l->commit_at + (l->is_big ? 0 : l->commit_size - WORD);
}

static uint32_t
read_commit(const struct page_layout *l, const uint8_t *bytes)
{
	return order_u32(l->is_big, bytes + low_at(l));
}

static void
write_commit(const struct page_layout *l, uint8_t *bytes, uint32_t commit)
{
	/* A commit word of 4 bytes has only the low ones. */
	(void)order_store_u32(l->is_big, bytes + high_at(l),
	    (commit & COMMIT_LOST) != 0 ? UINT32_MAX : 0);
	(void)order_store_u32(l->is_big, bytes + low_at(l), commit);
}

/* Can this be the first event, of at least two words? SIZE: of all events. */
static bool
is_first(const struct page_layout *l, const uint8_t *p, uint32_t size)
{
	const uint32_t word = order_u32(l->is_big, p);
	const uint32_t second = order_u32(l->is_big, p + WORD);
	const uint32_t type = l->is_big ? word >> DELTA_BITS : word & 0x1f;

	if (type == TYPE_LONG)
		return second >= WORD && second <= size - WORD;
	return type >= TYPE_PADDING || (type + 1) * WORD <= size;
}

uint32_t
page_data_bytes(const struct page_layout *l, const uint8_t *bytes)
{
	const uint32_t commit = read_commit(l, bytes);
	const uint32_t high = order_u32(l->is_big, bytes + high_at(l));
	const uint32_t size = commit & ~(COMMIT_LOST | COMMIT_COUNTED);

	if (l->commit_size > WORD && high != 0 &&
	    (high != UINT32_MAX || (commit & COMMIT_LOST) == 0))
		return 0;
	if (size % WORD != 0 || size < 2 * WORD ||
	    size > l->size - l->data_at ||
	    !is_first(l, bytes + l->data_at, size))
		return 0;
	return size;
}

/* The number of lost events follows the data, if there is space. */
static void
read_lost(struct page *p, const struct page_layout *l, uint32_t commit,
    const uint8_t *page_end)
{
	if ((commit & COMMIT_LOST) == 0)
		return;
	p->lost = 1;
	if ((commit & COMMIT_COUNTED) == 0 ||
	    (uint32_t)(page_end - p->end) < l->commit_size)
		return;
	p->lost = l->commit_size == WORD ? order_u32(l->is_big, p->end)
					 : order_u64(l->is_big, p->end);
	p->lost_is_known = true;
	/* More than a buffer can lose; sums must not overflow. */
	if (p->lost > UINT32_MAX)
		p->lost = UINT32_MAX;
}

bool
page_layout_parse(struct page_layout *l, struct span text)
{
	bool has_time = false, has_commit = false, has_data = false;
	struct event_field f;
	struct span line;

	while (event_format_line(&text, &line)) {
		if (event_field_parse(&f, line, 8) != OK)
			continue;
		if (strcmp(f.name, "timestamp") == 0) {
			has_time = f.offset == 0 && f.size == 8;
		} else if (strcmp(f.name, "commit") == 0) {
			has_commit = f.size == 4 || f.size == 8;
			l->commit_at = f.offset;
			l->commit_size = f.size;
		} else if (strcmp(f.name, "data") == 0) {
			has_data = true;
			l->data_at = f.offset;
		}
	}
	return has_time && has_commit && has_data && l->commit_at >= 8 &&
	       l->data_at >= l->commit_at + l->commit_size &&
	       l->data_at < PAGE_SIZE_MIN;
}

enum status
page_open(struct page *p, const struct page_layout *l, const uint8_t *bytes)
{
	const uint32_t commit = read_commit(l, bytes);

	assert(l->size >= PAGE_SIZE_MIN && l->data_at < l->size);
	*p = (struct page){ .bytes = bytes + l->data_at,
		.time = order_u64(l->is_big, bytes),
		.is_big = l->is_big };
	if ((commit & COMMIT_BYTES) > l->size - l->data_at)
		return E_MALFORMED;
	p->end = p->bytes + (commit & COMMIT_BYTES);
	read_lost(p, l, commit, bytes + l->size);
	return OK;
}

static bool
broken(struct page *p)
{
	p->is_malformed = true;
	p->bytes = p->end;
	return false;
}

/* The word after the first word of an event. */
static bool
second_word(const struct page *p, uint32_t *out)
{
	if (p->end - p->bytes < 2 * WORD)
		return false;
	*out = order_u32(p->is_big, p->bytes + WORD);
	return true;
}

/* Takes an event of SIZE bytes that follow HEADER bytes. */
static bool
take_event(struct page *p, uint32_t header, uint32_t size, uint32_t delta,
    struct page_event *out)
{
	/* Both are far below 2^32: the size of a long event was checked. */
	const uint32_t whole = header + (size + WORD - 1) / WORD * WORD;

	if ((size_t)(p->end - p->bytes) < whole)
		return broken(p);
	p->time += delta;
	*out = (struct page_event){ p->bytes + header, size, p->time };
	p->bytes += whole;
	return true;
}

/* Skips what is not an event. False: the rest is not readable. */
static bool
skip(struct page *p, uint32_t type, uint32_t delta)
{
	uint32_t word;
	const uint64_t high = ~UINT64_C(0) << ABSOLUTE_BITS;

	/* Padding without a time extends to the end of the page. */
	if (type == TYPE_PADDING && delta == 0) {
		p->bytes = p->end;
		return true;
	}
	if (!second_word(p, &word))
		return broken(p);
	if (type == TYPE_ABSOLUTE) {
		p->time = (p->time & high) |
			  (((uint64_t)word << DELTA_BITS | delta) & ~high);
	} else if (type == TYPE_EXTEND) {
		p->time += (uint64_t)word << DELTA_BITS | delta;
	} else {
		if (word < WORD || word > (size_t)(p->end - p->bytes) - WORD)
			return broken(p);
		p->time += delta;
		p->bytes += WORD + word;
		return true;
	}
	p->bytes += 2 * WORD;
	return true;
}

bool
page_next(struct page *p, struct page_event *out)
{
	while (p->end - p->bytes >= WORD) {
		const uint32_t word = order_u32(p->is_big, p->bytes);
		const uint32_t type = p->is_big ? word >> DELTA_BITS
						: word & 0x1f;
		const uint32_t delta = p->is_big ? word & DELTA_MASK
						 : word >> 5;
		uint32_t size;

		if (type >= TYPE_PADDING) {
			if (!skip(p, type, delta))
				return false;
			continue;
		}
		if (type != TYPE_LONG)
			return take_event(p, WORD, type * WORD, delta, out);
		if (!second_word(p, &size) || size < WORD ||
		    size > COMMIT_BYTES)
			return broken(p);
		return take_event(p, 2 * WORD, size - WORD, delta, out);
	}
	return p->bytes == p->end ? false : broken(p);
}

bool
page_cut(const struct page_layout *l, uint8_t *bytes, uint32_t n)
{
	const uint8_t *end = bytes + n, *last_end = NULL;
	uint32_t commit = read_commit(l, bytes);
	struct page_event e;
	struct page p;

	assert(n <= l->size);
	if (n <= l->data_at || page_open(&p, l, bytes) != OK)
		return false;
	if (end - p.end < (ptrdiff_t)l->commit_size)
		p.lost_is_known = false;
	if (p.end > end)
		p.end = end;
	while (page_next(&p, &e))
		last_end = p.bytes;
	if (last_end == NULL)
		return false;
	commit = (commit & COMMIT_LOST) |
		 (uint32_t)(last_end - bytes - l->data_at);
	if (p.lost_is_known && l->size - (last_end - bytes) >= l->commit_size) {
		uint8_t *count = bytes + (last_end - bytes);

		commit |= COMMIT_COUNTED;
		if (l->commit_size == WORD)
			(void)order_store_u32(
			    l->is_big, count, (uint32_t)p.lost);
		else
			(void)order_store_u64(l->is_big, count, p.lost);
	}
	write_commit(l, bytes, commit);
	return true;
}

void
page_set_lost(const struct page_layout *l, uint8_t *bytes)
{
	const uint32_t commit = read_commit(l, bytes);

	if ((commit & COMMIT_LOST) == 0)
		write_commit(l, bytes, commit | COMMIT_LOST);
}
