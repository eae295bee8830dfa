/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/dat_read.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/compiler.h"
#include "tools/ftrace/dat_options.h"
#include "tools/ftrace/dat_pages.h"
#include "tools/ftrace/order.h"

/* A flag of a section. */
#define FLAG_PACKED 1

/* The options of both versions (trace-cmd 3.4). From 16 on they say where a
 * section begins, and have the section's number. */
enum dat_option {
	OPTION_END = 0,
	OPTION_DATE = 1,
	OPTION_BUFFER = 3,
	OPTION_CLOCK = 4,
	OPTION_UNAME = 5,
	OPTION_OFFSET = 7,
	OPTION_CPUS = 8,
	OPTION_TRACE_ID = 11,
	OPTION_TIME_SHIFT = 12,
	OPTION_TSC2NSEC = 14,
	OPTION_HEADERS = 16,
	OPTION_FTRACE = 17,
	OPTION_FORMATS = 18,
	OPTION_KALLSYMS = 19,
	OPTION_PRINTK = 20,
	OPTION_CMDLINES = 21,
};

struct dat_reading {
	struct dat *d;
	const uint8_t *p; /* the whole input */
	size_t n;
	uint32_t page_size; /* of the header */
	size_t unpacked;    /* bytes decompressed so far */
	unsigned n_options;
	/* Where each section begins; 0: there is none (version 7). */
	uint64_t sections[OPTION_CMDLINES + 1];
	char *why;	/* DAT_WHY_MAX bytes: the first failure */
	bool is_layout; /* only the lengths of texts are read */
	bool has_symbols;
	struct dat_layout layout;
};

/* Notes why reading fails, unless a reason is known. Returns ST. */
static enum status refuse(struct dat_reading *g, enum status st,
    const char *fmt, ...) PRINTF_LIKE(3, 4);

static enum status
refuse(struct dat_reading *g, enum status st, const char *fmt, ...)
{
	va_list ap;

	if (g->why[0] == '\0') {
		va_start(ap, fmt);
		(void)vsnprintf(g->why, DAT_WHY_MAX, fmt, ap);
		va_end(ap);
	}
	return st;
}

static enum status
check_whole(struct dat_reading *g, const struct dat_input *in, const char *what)
{
	return in->r.bad ? refuse(g, E_MORE, "%s: cut short", what) : OK;
}

/* Consumes N bytes, which must be these. Wrong bytes are wrong also before all
 * have arrived. */
static enum status
expect(struct dat_reading *g, struct dat_input *in, const char *word, size_t n,
    const char *why)
{
	const uint64_t left = reader_left(&in->r);

	if (left > 0 && memcmp(in->r.p, word, left < n ? (size_t)left : n) != 0)
		return refuse(g, E_MALFORMED, "%s", why);
	(void)reader_take(&in->r, n);
	return check_whole(g, in, "header");
}

/* A 64-bit length and that many bytes. */
static struct span
read_block(struct dat_input *in)
{
	return dat_input_span(in, dat_input_u64(in));
}

/* The blocks of metadata, which both versions have (trace-cmd 3.2, 6 to 9). */

static enum status
read_headers(struct dat_reading *g, struct dat_input *in)
{
	enum status st = expect(g, in, "header_page", sizeof("header_page"),
	    "header_page is missing");
	struct span text;

	if (st != OK)
		return st;
	text = read_block(in);
	/* An empty text: the kernel has the first layout of pages. */
	if (text.n > 0 && !g->is_layout &&
	    !page_layout_parse(&g->d->page, text))
		st = refuse(
		    g, E_MALFORMED, "header_page does not describe a page");
	if (st == OK)
		st = expect(g, in, "header_event", sizeof("header_event"),
		    "header_event is missing");
	if (st != OK)
		return st;
	(void)read_block(in);
	return check_whole(g, in, "header_event");
}

/* Parses one format text. If it is not valid, or its id is taken, it is left
 * out: its events will be unknown. */
static enum status
read_format(struct dat_reading *g, struct span system, struct span text)
{
	struct event_format *f;
	struct dat *d = g->d;
	enum status st = event_format_parse(
	    &f, system, text, d->page.commit_size);

	if (st != OK)
		return st == E_NOMEM ? st : OK;
	d->n_fields += f->n_fields;
	if (d->by_id[f->id] != 0) {
		event_format_free(f);
		return OK;
	}
	if (d->n_events == DAT_EVENTS_MAX || d->n_fields > DAT_FIELDS_MAX) {
		event_format_free(f);
		return refuse(g, E_LIMIT, "more events than a kernel has");
	}
	d->events[d->n_events++] = f;
	d->by_id[f->id] = (uint16_t)d->n_events;
	return OK;
}

/* Reads COUNT format texts of SYSTEM, each after its length. */
static enum status
read_texts(struct dat_reading *g, struct dat_input *in, struct span system,
    uint32_t count)
{
	enum status st = OK;

	for (uint32_t i = 0; i < count && st == OK && !in->r.bad; i++) {
		const struct span text = read_block(in);

		if (!in->r.bad && !g->is_layout)
			st = read_format(g, system, text);
	}
	return st == OK ? check_whole(g, in, "event formats") : st;
}

static enum status
read_ftrace(struct dat_reading *g, struct dat_input *in)
{
	return read_texts(
	    g, in, (struct span){ "ftrace", 6 }, dat_input_u32(in));
}

static enum status
read_formats(struct dat_reading *g, struct dat_input *in)
{
	const uint32_t systems = dat_input_u32(in);
	enum status st = OK;

	for (uint32_t i = 0; i < systems && st == OK && !in->r.bad; i++) {
		const struct span system = dat_input_string(in, DAT_NAME_MAX);
		const uint32_t count = dat_input_u32(in);

		if (!in->r.bad)
			st = read_texts(g, in, system, count);
	}
	return st != OK ? st : check_whole(g, in, "event formats");
}

static enum status
read_kallsyms(struct dat_reading *g, struct dat_input *in)
{
	const struct span text = dat_input_span(in, dat_input_u32(in));
	enum status st = check_whole(g, in, "kernel symbols");

	if (st == OK && g->has_symbols)
		st = symbols_create(&g->d->symbols, text);
	return st;
}

/* Skips the printk formats. */
static enum status
skip_text(struct dat_reading *g, struct dat_input *in)
{
	(void)dat_input_span(in, dat_input_u32(in));
	return check_whole(g, in, "printk formats");
}

/* What follows the names of processes in version 6, and the number of CPUs. */
static const char followers[][10] = { "options  ", "flyrecord", "latency  " };

static bool
ends_cmdlines(const uint8_t *p, uint64_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(followers); i++)
		if (n >= 4 + sizeof(followers[i]) &&
		    memcmp(p + 4, followers[i], sizeof(followers[i])) == 0)
			return true;
	return false;
}

/* The length of the names of processes, of which a recorder states TOLD: what
 * the kernel's file had before it was read. In version 7 the section ends it.
 * In version 6 it is text up to the number of CPUs, before the options. */
static uint64_t
cmdlines_length(
    const struct dat_reading *g, const struct dat_input *in, uint64_t told)
{
	const size_t left = (size_t)reader_left(&in->r);
	const uint8_t *p = in->r.p, *found;

	if (g->d->version == 7)
		return told < left ? told : left;
	if (told <= left && ends_cmdlines(p + told, left - told))
		return told;
	found = memmem(p, left, followers[0], sizeof(followers[0]));
	if (found == NULL || found < p + 4 ||
	    memchr(p, '\0', (size_t)(found - 4 - p)) != NULL)
		return told;
	return (uint64_t)(found - 4 - p);
}

static enum status
read_cmdlines(struct dat_reading *g, struct dat_input *in)
{
	const uint64_t told = dat_input_u64(in);

	(void)dat_input_span(in, cmdlines_length(g, in, told));
	return check_whole(g, in, "names of processes");
}

/* Appends a buffer to the list. */
static enum status
add_buffer(struct dat_reading *g, struct span name, struct dat_buffer **out)
{
	struct dat *d = g->d;

	if (d->n_buffers == DAT_BUFFERS_MAX)
		return refuse(
		    g, E_LIMIT, "more than %d buffers", DAT_BUFFERS_MAX);
	if (d->buffers == NULL)
		d->buffers = calloc(DAT_BUFFERS_MAX, sizeof(*d->buffers));
	if (d->buffers == NULL)
		return E_NOMEM;
	*out = &d->buffers[d->n_buffers++];
	dat_copy_text((*out)->name, sizeof((*out)->name), name);
	(*out)->page_size = g->page_size;
	return OK;
}

static enum status
add_cpu(
    struct dat_reading *g, struct dat_buffer *b, const struct dat_pages *cpu)
{
	struct dat_pages *more;

	if (cpu->size == 0)
		return OK;
	if (cpu->at > g->n || cpu->size > g->n - cpu->at)
		return refuse(g, E_MALFORMED,
		    "the pages of CPU %u are not in the file", cpu->cpu);
	if (b->n_cpus == DAT_CPUS_MAX || cpu->cpu >= DAT_CPUS_MAX)
		return refuse(g, E_LIMIT, "more than %d CPUs", DAT_CPUS_MAX);
	for (unsigned i = 0; i < b->n_cpus; i++)
		if (b->cpus[i].cpu == cpu->cpu)
			return refuse(
			    g, E_MALFORMED, "CPU %u is listed twice", cpu->cpu);
	more = realloc(b->cpus, (b->n_cpus + 1) * sizeof(*more));
	if (more == NULL)
		return E_NOMEM;
	b->cpus = more;
	b->cpus[b->n_cpus++] = *cpu;
	return OK;
}

/* Reads where the pages of N CPUs are. HAS_NUMBERS: each is preceded by the
 * CPU's number, else they count from 0. */
static enum status
read_cpus(struct dat_reading *g, struct dat_buffer *b, struct dat_input *in,
    uint32_t n, bool has_numbers)
{
	enum status st = OK;

	for (uint32_t i = 0; i < n && st == OK; i++) {
		struct dat_pages cpu = {
			.cpu = has_numbers ? dat_input_u32(in) : i,
		};

		cpu.at = dat_input_u64(in);
		cpu.size = dat_input_u64(in);
		st = in->r.bad ? check_whole(g, in, "a list of CPUs")
			       : add_cpu(g, b, &cpu);
	}
	return st;
}

/* Version 6: a name, and where the CPUs of the buffer are listed, after the
 * word "flyrecord". Version 7: also the list itself; at the place named is the
 * header of the section of pages. */
static enum status
option_buffer(struct dat_reading *g, struct dat_input in)
{
	const uint64_t at = dat_input_u64(&in);
	const struct span name = dat_input_string(&in, DAT_NAME_MAX);
	struct dat_input there;
	struct dat_buffer *b;
	enum status st;
	uint32_t cpus;

	if (g->d->version == 7)
		(void)dat_input_string(&in, DAT_NAME_MAX); /* its clock */
	if (in.r.bad || at >= g->n)
		return refuse(g, E_MALFORMED, "a buffer is not in the file");
	st = add_buffer(g, name, &b);
	if (st != OK)
		return st;
	there = dat_input_over(g->p + at, g->n - at, g->d->is_big);
	if (g->d->version == 6) {
		if (!dat_input_word(&there, "flyrecord", sizeof("flyrecord")))
			return refuse(g, E_MALFORMED,
			    "the pages of a buffer are not listed");
		return read_cpus(g, b, &there, g->d->n_cpus, false);
	}
	b->page_size = dat_input_u32(&in);
	cpus = dat_input_u32(&in);
	(void)dat_input_u16(&there); /* the section's number */
	b->is_packed = (dat_input_u16(&there) & FLAG_PACKED) != 0;
	if (in.r.bad || there.r.bad || b->page_size < PAGE_SIZE_MIN ||
	    b->page_size > PAGE_SIZE_MAX)
		return refuse(g, E_MALFORMED, "a buffer is cut short");
	return read_cpus(g, b, &in, cpus, true);
}

static enum status
refuse_shift(struct dat_reading *g, enum status st)
{
	return st == E_MALFORMED ? refuse(g, st,
				       "the corrections of its times are cut "
				       "short")
				 : st;
}

static enum status
read_option(struct dat_reading *g, unsigned id, struct dat_input body)
{
	struct dat *d = g->d;
	const struct span all = { (const char *)body.r.p,
		(size_t)reader_left(&body.r) };

	if (++g->n_options > DAT_READ_OPTIONS_MAX)
		return refuse(g, E_LIMIT, "too many options");
	switch (id) {
	case OPTION_DATE: /* in us */
		dat_option_offset(d, all, DAT_OFFSET_DATE, 1000);
		break;
	case OPTION_OFFSET: /* in ns */
		dat_option_offset(d, all, DAT_OFFSET_GIVEN, 1);
		break;
	case OPTION_CLOCK:
		dat_option_clock(d, all);
		break;
	case OPTION_UNAME:
		dat_option_uname(d, all);
		break;
	case OPTION_CPUS:
		d->n_cpus = dat_input_u32(&body);
		g->layout.has_cpus = !body.r.bad;
		break;
	case OPTION_TRACE_ID:
		d->trace_id = dat_input_u64(&body);
		d->has_trace_id = !body.r.bad;
		break;
	case OPTION_TIME_SHIFT:
		if (!g->is_layout)
			return refuse_shift(g, dat_option_shift(d, body));
		break;
	case OPTION_TSC2NSEC:
		d->tsc_mult = dat_input_u32(&body);
		d->tsc_shift = dat_input_u32(&body);
		d->has_tsc = !body.r.bad && d->tsc_mult > 0 &&
			     d->tsc_shift < 64;
		break;
	case OPTION_BUFFER:
		return !g->is_layout ? option_buffer(g, body) : OK;
	default:
		if (d->version == 7 && id >= OPTION_HEADERS &&
		    id <= OPTION_CMDLINES)
			g->sections[id] = dat_input_u64(&body);
		break;
	}
	return OK;
}

/* Reads options up to the last. *END is the body of that, which version 6 does
 * not have. */
static enum status
read_options(struct dat_reading *g, struct dat_input *in, struct dat_input *end)
{
	for (;;) {
		const uint16_t id = dat_input_u16(in);
		const bool has_body = id != OPTION_END || g->d->version == 7;
		const struct span body = dat_input_span(
		    in, has_body ? dat_input_u32(in) : 0);
		enum status st;

		*end = dat_input_over(body.p, body.n, in->is_big);
		if (in->r.bad || id == OPTION_END)
			return check_whole(g, in, "options");
		st = read_option(g, id, *end);
		if (st != OK)
			return st;
	}
}

/* Reads the CPUs of the main buffer, and the clock unless it is known. */
static enum status
read_table(struct dat_reading *g, struct dat_input *in)
{
	struct dat_buffer *b;
	enum status st = add_buffer(g, (struct span){ "", 0 }, &b);

	if (st == OK)
		st = read_cpus(g, b, in, g->d->n_cpus, false);
	if (st == OK && g->d->clock[0] == '\0') {
		const struct span clock = read_block(in);

		/* Older writers have none. */
		if (!in->r.bad)
			dat_option_clock(g->d, clock);
	}
	return st;
}

/* Reads the parts that a recorder may leave out; each is whole, or missing with
 * all that follow it. */
static enum status
read_rest(struct dat_reading *g, struct dat_input *in)
{
	struct dat_input end;
	enum status st;

	if (reader_left(&in->r) == 0)
		return OK; /* V1 sends no more */
	st = read_cmdlines(g, in);
	g->layout.has_commands = st == OK;
	if (st != OK)
		return st;
	g->d->n_cpus = dat_input_u32(in);
	g->layout.has_cpus = !in->r.bad;
	if (g->d->n_cpus > DAT_CPUS_MAX)
		return refuse(g, E_MALFORMED, "invalid number of CPUs");
	if (in->r.bad || reader_left(&in->r) == 0)
		return check_whole(g, in, "number of CPUs");
	if (dat_input_word(in, "options  ", sizeof("options  "))) {
		st = read_options(g, in, &end);
		g->layout.has_options = st == OK;
	} else if (g->is_layout) {
		st = expect(g, in, "options  ", sizeof("options  "),
		    "options are missing");
	}
	if (st != OK || reader_left(&in->r) == 0)
		return st;
	if (g->is_layout)
		return refuse(g, E_MALFORMED, "unexpected bytes after options");
	if (dat_input_word(in, "latency  ", sizeof("latency  ")))
		return refuse(g, E_REFUSED,
		    "it has no events, only the text of a latency tracer");
	if (!dat_input_word(in, "flyrecord", sizeof("flyrecord")))
		return refuse(g, E_MALFORMED, "the pages are missing");
	return read_table(g, in);
}

/* The blocks in their order in version 6; each needs what those before it say.
 */
static const struct {
	unsigned id;
	enum status (*read)(struct dat_reading *g, struct dat_input *in);
} blocks[] = {
	{ OPTION_HEADERS, read_headers },
	{ OPTION_FTRACE, read_ftrace },
	{ OPTION_FORMATS, read_formats },
	{ OPTION_KALLSYMS, read_kallsyms },
	{ OPTION_PRINTK, skip_text },
	{ OPTION_CMDLINES, read_cmdlines },
};

static enum status
read_v6(struct dat_reading *g, struct dat_input *in)
{
	enum status st = OK;

	for (size_t i = 0; blocks[i].id != OPTION_CMDLINES && st == OK; i++)
		st = blocks[i].read(g, in);
	return st == OK ? read_rest(g, in) : st;
}

struct section {
	unsigned id;
	struct dat_input body;
	bool is_packed;
	uint8_t *take_mem; /* memory of the body, if it was decompressed */
};

static enum status
unpack(struct dat_reading *g, struct section *s)
{
	const uint32_t packed = dat_input_u32(&s->body);
	const uint32_t size = dat_input_u32(&s->body);
	const struct span data = dat_input_span(&s->body, packed);
	enum status st;

	if (s->body.r.bad)
		return refuse(g, E_MALFORMED, "section %u is cut short", s->id);
	if (size > DAT_UNPACKED_MAX - g->unpacked)
		return refuse(g, E_LIMIT, "more metadata than a kernel has");
	g->unpacked += size;
	s->take_mem = malloc(size == 0 ? 1 : size);
	if (s->take_mem == NULL)
		return E_NOMEM;
	st = dat_unpack(
	    g->d->packing, (const uint8_t *)data.p, data.n, s->take_mem, size);
	s->body = dat_input_over(s->take_mem, size, g->d->is_big);
	return st == OK ? OK
			: refuse(g, st, "cannot decompress its metadata%s",
			      st == E_REFUSED ? " in this build" : "");
}

/* Opens section ID at AT. The caller frees take_mem, also on failure. */
static enum status
open_section(struct dat_reading *g, uint64_t at, unsigned id, struct section *s)
{
	struct dat_input in;
	struct span body;
	unsigned flags;

	*s = (struct section){ .id = id };
	if (at >= g->n)
		return refuse(g, E_MORE, "section %u is not in the file", id);
	in = dat_input_over(g->p + at, g->n - at, g->d->is_big);
	if (dat_input_u16(&in) != id)
		return refuse(
		    g, E_MALFORMED, "section %u is not where it should be", id);
	flags = dat_input_u16(&in);
	(void)dat_input_u32(&in); /* its name; recorders do not send names */
	body = read_block(&in);
	if (in.r.bad)
		return check_whole(g, &in, "a section");
	s->body = dat_input_over(body.p, body.n, g->d->is_big);
	s->is_packed = (flags & FLAG_PACKED) != 0;
	return s->is_packed && !g->is_layout ? unpack(g, s) : OK;
}

/* Reads a section of options at *AT; its last option says where the next one
 * is, or 0. A layout ends at a compressed section. */
static enum status
read_link(struct dat_reading *g, uint64_t *at)
{
	struct dat_input end;
	struct section s;
	enum status st = open_section(g, *at, OPTION_END, &s);

	*at = 0;
	g->layout.is_link_hidden = g->is_layout && s.is_packed;
	if (st == OK && !g->layout.is_link_hidden) {
		st = read_options(g, &s.body, &end);
		g->layout.next_link = (uint64_t)(end.r.p - g->p);
		*at = dat_input_u64(&end);
		/* The section is whole: what it lacks will not come. */
		if (st == E_MORE || (st == OK && end.r.bad))
			st = refuse(g, E_MALFORMED, "options: cut short");
	}
	free(s.take_mem);
	return st;
}

static enum status
read_v7(struct dat_reading *g, struct dat_input *in)
{
	struct dat_layout *l = &g->layout;
	enum status st;
	uint64_t at;

	l->first_link = (uint64_t)(in->r.p - g->p);
	l->first_options = at = dat_input_u64(in);
	st = check_whole(g, in, "header");
	if (st == OK && at < l->first_link + 8)
		return refuse(g, E_MALFORMED, "the options are missing");
	for (unsigned i = 0; at != 0 && st == OK; i++) {
		if (i == DAT_SECTIONS_MAX)
			return refuse(
			    g, E_LIMIT, "too many sections of options");
		st = read_link(g, &at);
	}
	if (g->is_layout)
		return st;
	if (st == OK && g->sections[OPTION_HEADERS] == 0)
		return refuse(g, E_MALFORMED, "header_page is missing");
	for (size_t i = 0; i < ARRAY_LEN(blocks) && st == OK; i++) {
		struct section s;

		at = g->sections[blocks[i].id];
		if (at == 0)
			continue;
		st = open_section(g, at, blocks[i].id, &s);
		if (st == OK)
			st = blocks[i].read(g, &s.body);
		free(s.take_mem);
	}
	return st;
}

static enum status
read_version(struct dat_reading *g, struct dat_input *in)
{
	enum status st = expect(
	    g, in, DAT_MAGIC, sizeof(DAT_MAGIC) - 1, "not a trace.dat file");
	const uint8_t *p;

	if (st != OK)
		return st;
	p = reader_take(&in->r, 2);
	if (p == NULL)
		return check_whole(g, in, "header");
	if ((p[0] != '6' && p[0] != '7') || p[1] != '\0')
		return refuse(g, E_REFUSED,
		    "a trace.dat of a version other than 6 and 7");
	g->d->version = p[0] - (unsigned)'0';
	return OK;
}

/* Items 1 to 5 (trace-cmd 3.2), and the compression of version 7. */
static enum status
read_beginning(struct dat_reading *g, struct dat_input *in)
{
	struct dat *d = g->d;
	enum status st = read_version(g, in);
	uint8_t order, long_size;

	if (st != OK)
		return st;
	order = dat_input_u8(in);
	d->is_big = in->is_big = order == 1;
	long_size = dat_input_u8(in);
	g->page_size = dat_input_u32(in);
	if (in->r.bad)
		return check_whole(g, in, "header");
	if (order > 1 || (long_size != 4 && long_size != 8) ||
	    g->page_size < PAGE_SIZE_MIN || g->page_size > PAGE_SIZE_MAX)
		return refuse(g, E_MALFORMED, "the header has invalid sizes");
	/* Until header_page says more. */
	d->page = page_layout_of(g->page_size, long_size, d->is_big);
	if (d->version == 7) {
		d->packing = dat_packing_of(dat_input_string(in, DAT_NAME_MAX));
		(void)dat_input_string(in, DAT_NAME_MAX);
	}
	return check_whole(g, in, "header");
}

/* Bytes that belong to several CPUs or buffers would be converted that often.
 */
static enum status
check_overlap(struct dat_reading *g)
{
	unsigned cpu;
	const enum status st = dat_pages_check(g->d, &cpu);

	return st == E_MALFORMED
		   ? refuse(g, st, "pages of CPU %u are listed twice", cpu)
		   : st;
}

static enum status
read_all(struct dat_reading *g)
{
	struct dat_input in = dat_input_over(g->p, g->n, false);
	enum status st = read_beginning(g, &in);

	if (st == OK)
		st = g->d->version == 6 ? read_v6(g, &in) : read_v7(g, &in);
	return st == OK && !g->is_layout ? check_overlap(g) : st;
}

enum status
dat_read(struct dat **out, const uint8_t *p, size_t n, char why[DAT_WHY_MAX])
{
	return dat_read_symbols(out, p, n, false, why);
}

enum status
dat_read_symbols(struct dat **out, const uint8_t *p, size_t n, bool has_symbols,
    char why[DAT_WHY_MAX])
{
	struct dat *d = calloc(1, sizeof(*d));
	struct dat_reading g = {
		.d = d, .p = p, .n = n, .why = why, .has_symbols = has_symbols
	};
	enum status st = E_NOMEM;

	*out = NULL;
	why[0] = '\0';
	if (d != NULL) {
		d->by_id = calloc(1, DAT_BY_ID_SIZE);
		d->events = calloc(DAT_EVENTS_MAX, sizeof(*d->events));
		if (d->by_id != NULL && d->events != NULL)
			st = read_all(&g);
	}
	if (st != OK) {
		st = st == E_MORE ? E_MALFORMED : st;
		(void)refuse(&g, st, "%s", status_text(st));
		dat_free(d);
		return st;
	}
	*out = d;
	return OK;
}

enum status
dat_read_layout(struct dat_layout *out, const uint8_t *p, size_t n)
{
	char why[DAT_WHY_MAX] = "";
	struct dat d = { 0 };
	struct dat_reading g = {
		.d = &d, .p = p, .n = n, .why = why, .is_layout = true
	};
	const enum status st = read_all(&g);
	const uint32_t size = g.page_size;

	*out = g.layout;
	out->version = d.version;
	out->is_big = d.is_big;
	out->long_size = d.page.commit_size;
	out->page_size = size;
	out->cpus = d.n_cpus;
	(void)snprintf(out->clock, sizeof(out->clock), "%s",
	    d.clock[0] == '\0' ? "local" : d.clock);
	/* Readers round offsets to the page size, so it is a power of two. */
	if ((st != OK && st != E_MORE) ||
	    (size != 0 && (size < 512 || (size & (size - 1)) != 0)))
		return E_MALFORMED;
	return st;
}

void
dat_free(struct dat *d)
{
	if (d == NULL)
		return;
	dat_forget_events(d);
	dat_shifts_free(d);
	symbols_destroy(d->symbols);
	free(d->by_id);
	free(d);
}

void
dat_forget_events(struct dat *d)
{
	for (unsigned i = 0; i < d->n_events; i++)
		event_format_free(d->events[i]);
	for (unsigned i = 0; i < d->n_buffers; i++)
		free(d->buffers[i].cpus);
	free(d->events);
	free(d->buffers);
	d->events = NULL;
	d->buffers = NULL;
	d->n_events = d->n_buffers = 0;
}
