/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/dat_layout.h"

#include <assert.h>
#include <string.h>

#include "tools/ftrace/order.h"

/* Of version 7 (trace-cmd 3.4). */
#define SECTION_OPTIONS 0
#define OPTION_END 0
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
