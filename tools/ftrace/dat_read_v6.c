/* SPDX-License-Identifier: MIT */
/* Version 6: everything in one row (trace-cmd 3.2). */
#include "config.h"

#include "tools/ftrace/dat_read_internal.h"

/* The words that say what comes next, with their NUL. */
static const char options_word[] = "options  ";
static const char pages_word[] = "flyrecord";
static const char latency_word[] = "latency  ";

static enum status
read_options(struct dat_reading *g, struct dat_input *in)
{
	enum status st = OK;

	while (st == OK) {
		const uint16_t id = dat_input_u16(in);
		struct span body;

		if (in->r.bad)
			return dat_fail(
			    g, E_MALFORMED, "the options are cut short");
		if (id == OPTION_END)
			return OK;
		body = dat_input_span(in, dat_input_u32(in));
		if (in->r.bad)
			return dat_fail(
			    g, E_MALFORMED, "an option is cut short");
		st = dat_read_option(
		    g, id, dat_input_over(body.p, body.n, in->is_big));
	}
	return st;
}

/* Where the pages of each CPU are, and the clock. */
static enum status
read_table(struct dat_reading *g, struct dat_input *in)
{
	struct dat_buffer *b = dat_add_buffer(g, (struct span){ "", 0 });
	enum status st = b == NULL ? E_NOMEM : OK;

	for (unsigned i = 0; i < g->d->n_cpus && st == OK && !in->r.bad; i++) {
		const uint64_t at = dat_input_u64(in);
		const uint64_t size = dat_input_u64(in);

		if (!in->r.bad)
			st = dat_add_cpu(g, b, i, at, size);
	}
	if (st == OK && in->r.bad)
		return dat_fail(g, E_MALFORMED, "the table is cut short");
	if (st == OK && g->d->clock[0] == '\0') {
		const struct span clock = dat_input_span(in, dat_input_u64(in));

		/* Older writers have none. */
		if (!in->r.bad)
			st = dat_read_option(g, OPTION_CLOCK,
			    dat_input_over(clock.p, clock.n, in->is_big));
	}
	return st;
}

/* What may be missing in what a recorder sends: a part is whole, or not there
 * at all. */
static enum status
read_rest(struct dat_reading *g, struct dat_input *in)
{
	enum status st;

	if (reader_left(&in->r) == 0)
		return OK; /* V1 sends no more */
	st = dat_read_cmdlines(g, in);
	if (st != OK || reader_left(&in->r) == 0)
		return st;
	g->d->n_cpus = dat_input_u32(in);
	if (in->r.bad || g->d->n_cpus > DAT_CPUS_MAX)
		return dat_fail(g, E_MALFORMED, "no valid number of CPUs");
	if (dat_input_word(in, options_word, sizeof(options_word)))
		st = read_options(g, in);
	if (st != OK || reader_left(&in->r) == 0)
		return st;
	if (dat_input_word(in, latency_word, sizeof(latency_word)))
		return dat_fail(
		    g, E_REFUSED, "it has the text of a latency tracer only");
	if (!dat_input_word(in, pages_word, sizeof(pages_word)))
		return dat_fail(
		    g, E_MALFORMED, "no pages where they should be");
	return read_table(g, in);
}

enum status
dat_read_v6(struct dat_reading *g, struct dat_input *in)
{
	enum status st = dat_read_headers(g, in);

	if (st == OK)
		st = dat_read_ftrace(g, in);
	if (st == OK)
		st = dat_read_formats(g, in);
	if (st == OK)
		st = dat_read_kallsyms(g, in);
	if (st == OK)
		st = dat_read_printk(g, in);
	return st == OK ? read_rest(g, in) : st;
}
