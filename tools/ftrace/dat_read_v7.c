/* SPDX-License-Identifier: MIT */
/* Version 7: sections anywhere, and options that say where (trace-cmd 3.4). */
#include "config.h"

#include <stdlib.h>

#include "common/compiler.h"
#include "tools/ftrace/dat_read_internal.h"

#define FLAG_PACKED 1

struct section {
	unsigned id;
	struct dat_input body;
	uint8_t *take_mem; /* of the body, if it was compressed */
};

static enum status
unpack(struct dat_reading *g, struct section *s)
{
	const uint32_t packed = dat_input_u32(&s->body);
	const uint32_t size = dat_input_u32(&s->body);
	const struct span data = dat_input_span(&s->body, packed);
	enum status st;

	if (s->body.r.bad)
		return dat_fail(
		    g, E_MALFORMED, "section %u is cut short", s->id);
	if (size > DAT_UNPACKED_MAX - g->unpacked)
		return dat_fail(g, E_LIMIT, "more metadata than a kernel has");
	g->unpacked += size;
	s->take_mem = malloc(size == 0 ? 1 : size);
	if (s->take_mem == NULL)
		return E_NOMEM;
	st = dat_unpack(
	    g->d->packing, (const uint8_t *)data.p, data.n, s->take_mem, size);
	s->body = dat_input_over(s->take_mem, size, g->d->is_big);
	if (st == E_REFUSED)
		return dat_fail(g, st,
		    "the metadata is compressed in a way that this build does "
		    "not read");
	if (st != OK)
		return dat_fail(g, st,
		    "section %u is not what it was "
		    "compressed from",
		    s->id);
	return OK;
}

/* The section at AT, whose id must be ID. The caller frees take_mem. */
static enum status
open_section(struct dat_reading *g, uint64_t at, unsigned id, struct section *s)
{
	struct dat_input in;
	struct span body;
	unsigned flags;

	*s = (struct section){ .id = id };
	if (at >= g->n)
		return dat_fail(
		    g, E_MALFORMED, "section %u is not in the file", id);
	in = dat_input_over(g->p + at, g->n - at, g->d->is_big);
	if (dat_input_u16(&in) != id)
		return dat_fail(
		    g, E_MALFORMED, "section %u is not where it should be", id);
	flags = dat_input_u16(&in);
	(void)dat_input_u32(&in); /* its name; recorders do not send names */
	body = dat_input_span(&in, dat_input_u64(&in));
	if (in.r.bad)
		return dat_fail(g, E_MALFORMED, "section %u is cut short", id);
	s->body = dat_input_over(body.p, body.n, g->d->is_big);
	return (flags & FLAG_PACKED) != 0 ? unpack(g, s) : OK;
}

/* *NEXT: where the next section of options is; 0: nowhere. */
static enum status
read_list(struct dat_reading *g, struct dat_input *in, uint64_t *next)
{
	enum status st = OK;

	while (st == OK) {
		const uint16_t id = dat_input_u16(in);
		const struct span body = dat_input_span(in, dat_input_u32(in));
		struct dat_input option = dat_input_over(
		    body.p, body.n, in->is_big);

		if (in->r.bad)
			return dat_fail(
			    g, E_MALFORMED, "the options are cut short");
		if (id == OPTION_END) {
			*next = dat_input_u64(&option);
			return option.r.bad ? dat_fail(g, E_MALFORMED,
						  "the options have no end")
					    : OK;
		}
		st = dat_read_option(g, id, option);
	}
	return st;
}

static enum status
read_chain(struct dat_reading *g, uint64_t at)
{
	enum status st = OK;

	for (unsigned i = 0; at != 0 && st == OK; i++) {
		struct section s;

		if (i == DAT_SECTIONS_MAX)
			return dat_fail(
			    g, E_LIMIT, "too many sections of options");
		st = open_section(g, at, OPTION_END, &s);
		if (st == OK)
			st = read_list(g, &s.body, &at);
		free(s.take_mem);
	}
	return st;
}

/* In the order in which they need each other. */
static const struct {
	unsigned id;
	bool is_needed;
	enum status (*read)(struct dat_reading *g, struct dat_input *in);
} blocks[] = {
	{ OPTION_HEADERS, true, dat_read_headers },
	{ OPTION_FTRACE, false, dat_read_ftrace },
	{ OPTION_FORMATS, false, dat_read_formats },
	{ OPTION_KALLSYMS, false, dat_read_kallsyms },
	{ OPTION_PRINTK, false, dat_read_printk },
	{ OPTION_CMDLINES, false, dat_read_last_cmdlines },
};

static enum status
read_section(struct dat_reading *g, size_t i)
{
	const uint64_t at = g->sections[blocks[i].id];
	struct section s;
	enum status st;

	if (at == 0)
		return blocks[i].is_needed
			   ? dat_fail(g, E_MALFORMED, "section %u is missing",
				 blocks[i].id)
			   : OK;
	st = open_section(g, at, blocks[i].id, &s);
	if (st == OK)
		st = blocks[i].read(g, &s.body);
	free(s.take_mem);
	return st;
}

enum status
dat_read_v7(struct dat_reading *g, struct dat_input *in)
{
	const uint64_t at = dat_input_u64(in);
	enum status st;

	if (in->r.bad || at == 0)
		return dat_fail(g, E_MALFORMED, "there are no options");
	st = read_chain(g, at);
	for (size_t i = 0; i < ARRAY_LEN(blocks) && st == OK; i++)
		st = read_section(g, i);
	return st;
}
