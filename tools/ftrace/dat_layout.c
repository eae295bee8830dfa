/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/dat_layout.h"

#include <assert.h>
#include <string.h>

#include "tools/ftrace/order.h"

/* The options that matter here. */
#define OPTION_END 0
#define OPTION_CLOCK 4
#define OPTION_CPUS 8
#define SECTION_OPTIONS 0
#define SECTION_COMPRESSED 1

/* A walk over the bytes. */
struct walk {
	struct dat_input in;
	const uint8_t *base;
	struct dat_layout *out;
	bool is_malformed;
};

/* Consumes N bytes, which must be these. */
static void
expect(struct walk *w, const void *bytes, size_t n)
{
	const uint8_t *p;
	const uint64_t left = reader_left(&w->in.r);

	/* Wrong bytes are wrong also before all have arrived. */
	if (left > 0 &&
	    memcmp(w->in.r.p, bytes, left < n ? (size_t)left : n) != 0)
		w->is_malformed = true;
	p = reader_take(&w->in.r, n);
	if (p == NULL || w->is_malformed)
		w->in.r.bad = true;
}

static bool
is_whole(const struct walk *w)
{
	return !w->in.r.bad && !w->is_malformed;
}

/* Skips N event formats, each after its length. */
static void
pass_formats(struct walk *w, uint32_t n)
{
	while (n-- > 0 && is_whole(w))
		(void)dat_input_span(&w->in, dat_input_u64(&w->in));
}

/* The clock in use is in brackets: "[local] global counter ...". */
static void
take_clock(struct dat_layout *out, struct span s)
{
	const char *open = s.n == 0 ? NULL : memchr(s.p, '[', s.n);
	const char *close = open == NULL
				? NULL
				: memchr(open, ']', (size_t)(s.p + s.n - open));
	const size_t len = close == NULL ? 0 : (size_t)(close - open - 1);

	if (len == 0 || len >= sizeof(out->clock) ||
	    memchr(open, '\0', len) != NULL)
		return;
	memcpy(out->clock, open + 1, len);
	out->clock[len] = '\0';
}

/* Walks options up to the last. *END is its body, which version 6 does not
 * have. False: the last one is missing. */
static bool
walk_options(struct walk *w, struct span *end)
{
	struct dat_layout *out = w->out;

	while (is_whole(w)) {
		const uint16_t id = dat_input_u16(&w->in);
		const bool has_body = id != OPTION_END || out->version == 7;

		*end = dat_input_span(
		    &w->in, has_body ? dat_input_u32(&w->in) : 0);
		if (!is_whole(w))
			return false;
		if (id == OPTION_END)
			return true;
		if (id == OPTION_CLOCK)
			take_clock(out, *end);
		if (id == OPTION_CPUS && out->version == 7 && end->n >= 4) {
			out->cpus = order_u32(out->is_big, end->p);
			out->has_cpus = true;
		}
	}
	return false;
}

/* The header of both versions. */
static void
walk_header(struct walk *w)
{
	struct dat_layout *out = w->out;
	const uint8_t *p;

	expect(w, DAT_MAGIC, sizeof(DAT_MAGIC) - 1);
	p = reader_take(&w->in.r, 2);
	if (p == NULL)
		return;
	out->version = p[0] - (unsigned)'0';
	if ((out->version != 6 && out->version != 7) || p[1] != '\0') {
		w->is_malformed = true;
		return;
	}
	out->is_big = w->in.is_big = dat_input_u8(&w->in) != 0;
	out->long_size = dat_input_u8(&w->in);
	out->page_size = dat_input_u32(&w->in);
	/* Readers round offsets to it, so it is a power of two. */
	if (is_whole(w) &&
	    (out->page_size < 512 || out->page_size > DAT_PAGE_BYTES_MAX ||
		(out->page_size & (out->page_size - 1)) != 0))
		w->is_malformed = true;
}

/* Version 6: one block after another. The metadata of V1 ends after the printk
 * formats; others of V3 after the options, which may be missing. */
static void
walk_6(struct walk *w)
{
	struct dat_layout *out = w->out;
	struct span end;

	expect(w, "header_page", sizeof("header_page"));
	(void)dat_input_span(&w->in, dat_input_u64(&w->in));
	expect(w, "header_event", sizeof("header_event"));
	(void)dat_input_span(&w->in, dat_input_u64(&w->in));
	pass_formats(w, dat_input_u32(&w->in));
	for (uint32_t systems = dat_input_u32(&w->in);
	     systems > 0 && is_whole(w); systems--) {
		(void)dat_input_string(&w->in, SIZE_MAX);
		pass_formats(w, dat_input_u32(&w->in));
	}
	(void)dat_input_span(&w->in, dat_input_u32(&w->in)); /* kallsyms */
	(void)dat_input_span(
	    &w->in, dat_input_u32(&w->in)); /* printk formats */
	if (!is_whole(w) || reader_left(&w->in.r) == 0)
		return;
	(void)dat_input_span(
	    &w->in, dat_input_u64(&w->in)); /* saved_cmdlines */
	out->has_commands = is_whole(w);
	out->cpus = dat_input_u32(&w->in);
	out->has_cpus = is_whole(w);
	if (!is_whole(w) || reader_left(&w->in.r) == 0)
		return;
	expect(w, "options  ", sizeof("options  "));
	out->has_options = walk_options(w, &end);
	if (is_whole(w) && reader_left(&w->in.r) > 0)
		w->is_malformed = true;
}

static void
walk_chain_7(struct walk *w, uint64_t at, size_t n)
{
	struct span end;
	uint64_t size;
	uint16_t flags;

	for (unsigned i = 0; i < DAT_CHAIN_MAX; i++) {
		if (at > n) {
			w->in.r.bad = true;
			return;
		}
		w->in.r = reader_over(w->base + at, n - (size_t)at);
		if (dat_input_u16(&w->in) != SECTION_OPTIONS && is_whole(w))
			w->is_malformed = true;
		flags = dat_input_u16(&w->in);
		(void)dat_input_u32(&w->in); /* its name, which is not sent */
		size = dat_input_u64(&w->in);
		if (!is_whole(w))
			return;
		if (reader_left(&w->in.r) < size) {
			w->in.r.bad = true;
			return;
		}
		if ((flags & SECTION_COMPRESSED) != 0) {
			w->out->is_link_hidden = true;
			return;
		}
		w->in.r.end = w->in.r.p + size;
		if (!walk_options(w, &end)) {
			/* The whole section has arrived: bytes that its options
			 * lack will not come. */
			w->is_malformed |= w->in.r.bad;
			return;
		}
		if (end.n < 8)
			break;
		w->out->next_link = (uint64_t)((const uint8_t *)end.p -
					       w->base);
		at = order_u64(w->out->is_big, end.p);
		if (at == 0)
			return;
	}
	w->is_malformed = true;
}

/* Version 7: sections in any order, found by a chain of options. */
static void
walk_7(struct walk *w, size_t n)
{
	struct dat_layout *out = w->out;

	(void)dat_input_string(&w->in, SIZE_MAX); /* compression */
	(void)dat_input_string(&w->in, SIZE_MAX); /* its version */
	out->first_link = (uint64_t)(w->in.r.p - w->base);
	out->first_options = dat_input_u64(&w->in);
	if (!is_whole(w))
		return;
	if (out->first_options < out->first_link + 8) {
		w->is_malformed = true;
		return;
	}
	walk_chain_7(w, out->first_options, n);
}

enum status
dat_layout_find(struct dat_layout *out, const uint8_t *p, size_t n)
{
	struct walk w = { .in.r = reader_over(p, n), .base = p, .out = out };

	*out = (struct dat_layout){ .clock = "local" };
	walk_header(&w);
	if (is_whole(&w) && out->version == 6)
		walk_6(&w);
	else if (is_whole(&w))
		walk_7(&w, n);
	if (w.is_malformed)
		return E_MALFORMED;
	return w.in.r.bad ? E_MORE : OK;
}

#define SECTION_PAGES 3
#define SECTION_STRINGS 15
#define OPTION_BUFFER 3
#define SECTION_HEADER 16
/* The names of the added sections, each with its NUL. Stock names the pages
 * "buffer flyrecord" and the name of the buffer, which is empty. */
static const char names[] = "buffer flyrecord \0options\0strings";
#define NAME_PAGES 0
#define NAME_OPTIONS 18
#define NAME_STRINGS 26

static uint64_t
aligned(uint64_t at, uint32_t page_size)
{
	return (at + page_size - 1) / page_size * page_size;
}

/* Version 6: what V1 leaves out, "flyrecord", the list of CPUs, the clock. */
static void
head_6(struct dat_plan *out, const struct dat_layout *layout, uint64_t size,
    struct dat_part *cpus, uint32_t n_cpus)
{
	struct buf *b = &out->head;
	const bool is_big = layout->is_big;
	const uint64_t clock = strlen(layout->clock) + 2;
	uint64_t at;

	if (!layout->has_commands) {
		order_put_u64(b, is_big, 0);
		order_put_u32(b, is_big, n_cpus);
	}
	if (!layout->has_options) {
		buf_bytes(b, "options  ", sizeof("options  "));
		order_put_u16(b, is_big, 0);
	}
	buf_bytes(b, "flyrecord", sizeof("flyrecord"));
	at = size + buf_len(b) + (uint64_t)n_cpus * 16 + 8 + clock;
	for (uint32_t i = 0; i < n_cpus; i++) {
		at = aligned(at, layout->page_size);
		cpus[i].offset = at;
		at += cpus[i].size;
		order_put_u64(b, is_big, cpus[i].offset);
		order_put_u64(b, is_big, cpus[i].size);
	}
	order_put_u64(b, is_big, clock);
	buf_u8(b, '[');
	buf_bytes(b, layout->clock, clock - 2);
	buf_u8(b, ']');
	out->size = at;
}

static void
put_section(
    struct buf *b, bool is_big, uint16_t id, uint32_t name, uint64_t size)
{
	order_put_u16(b, is_big, id);
	order_put_u16(b, is_big, 0); /* not compressed */
	order_put_u32(b, is_big, name);
	order_put_u64(b, is_big, size);
}

/* The option that says where the pages of each CPU are. */
static void
put_buffer(struct buf *b, const struct dat_layout *layout, uint64_t pages_at,
    const struct dat_part *cpus, uint32_t n_cpus)
{
	const bool is_big = layout->is_big;
	const size_t clock = strlen(layout->clock) + 1;
	uint32_t filled = 0;

	for (uint32_t i = 0; i < n_cpus; i++)
		filled += cpus[i].size > 0;
	order_put_u16(b, is_big, OPTION_BUFFER);
	order_put_u32(b, is_big, (uint32_t)(8 + 1 + clock + 8 + filled * 20));
	order_put_u64(b, is_big, pages_at);
	buf_u8(b, 0); /* the name of the buffer */
	buf_bytes(b, layout->clock, clock);
	order_put_u32(b, is_big, layout->page_size);
	order_put_u32(b, is_big, filled);
	for (uint32_t i = 0; i < n_cpus; i++) {
		if (cpus[i].size == 0)
			continue;
		order_put_u32(b, is_big, i);
		order_put_u64(b, is_big, cpus[i].offset);
		order_put_u64(b, is_big, cpus[i].size);
	}
}

/* Version 7: a section of pages, then one of options, which the first part will
 * link to, then the names of both. */
static void
plan_7(struct dat_plan *out, const struct dat_layout *layout, uint64_t size,
    struct dat_part *cpus, uint32_t n_cpus)
{
	const bool is_big = layout->is_big;
	struct buf options = { 0 }, link = { 0 };
	uint64_t at = size + SECTION_HEADER;

	for (uint32_t i = 0; i < n_cpus; i++) {
		if (cpus[i].size == 0)
			continue;
		cpus[i].offset = aligned(at, layout->page_size);
		at = cpus[i].offset + cpus[i].size;
	}
	put_section(&out->head, is_big, SECTION_PAGES, NAME_PAGES,
	    at - size - SECTION_HEADER);
	put_buffer(&options, layout, size, cpus, n_cpus);
	order_put_u16(&options, is_big, OPTION_END);
	order_put_u32(&options, is_big, 8);
	/* If the end of the chain cannot be changed, this section goes before
	 * the first one. */
	order_put_u64(&options, is_big,
	    layout->is_link_hidden ? layout->first_options : 0);
	put_section(&out->tail, is_big, SECTION_OPTIONS, NAME_OPTIONS,
	    buf_len(&options));
	buf_bytes(&out->tail, buf_data(&options), buf_len(&options));
	put_section(
	    &out->tail, is_big, SECTION_STRINGS, NAME_STRINGS, sizeof(names));
	buf_bytes(&out->tail, names, sizeof(names));
	out->tail_offset = at;
	out->size = at + buf_len(&out->tail);
	out->has_patch = true;
	out->patch_offset = layout->is_link_hidden ? layout->first_link
						   : layout->next_link;
	order_put_u64(&link, is_big, at);
	out->tail.bad |= options.bad || link.bad;
	if (!link.bad)
		memcpy(out->patch, buf_data(&link), sizeof(out->patch));
	buf_free(&options);
	buf_free(&link);
}

enum status
dat_plan_make(struct dat_plan *out, const struct dat_layout *layout,
    uint64_t size, struct dat_part *cpus, uint32_t n_cpus)
{
	assert(layout->version == 6 || layout->version == 7);
	assert(layout->page_size > 0);
	*out = (struct dat_plan){ 0 };
	if (layout->has_cpus && layout->cpus != n_cpus)
		return E_PROTOCOL;
	if (layout->version == 6)
		head_6(out, layout, size, cpus, n_cpus);
	else
		plan_7(out, layout, size, cpus, n_cpus);
	return out->head.bad || out->tail.bad ? E_NOMEM : OK;
}

void
dat_plan_free(struct dat_plan *p)
{
	buf_free(&p->head);
	buf_free(&p->tail);
}
