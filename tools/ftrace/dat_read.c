/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/dat_read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/compiler.h"
#include "tools/ftrace/dat_pages.h"
#include "tools/ftrace/order.h"

#define VERSION_LEN_MAX 16

static const char magic[10] = "\x17\x08\x44tracing";

/* Options of both versions (trace-cmd 3.4). */
enum dat_option {
	OPTION_END = 0,
	OPTION_DATE = 1,
	OPTION_BUFFER = 3,
	OPTION_CLOCK = 4,
	OPTION_UNAME = 5,
	OPTION_OFFSET = 7,
	OPTION_CPUS = 8,
	OPTION_TRACE_ID = 11,
	OPTION_TSC2NSEC = 14,
	/* Places of sections, of the same numbers. */
	OPTION_HEADERS = 16,
	OPTION_FTRACE = 17,
	OPTION_FORMATS = 18,
	OPTION_KALLSYMS = 19,
	OPTION_PRINTK = 20,
	OPTION_CMDLINES = 21,
};

/* What is being read. */
struct dat_reading {
	struct dat *d;
	const uint8_t *p; /* all of it */
	size_t n;
	uint32_t page_size; /* of the header */
	size_t unpacked;    /* bytes so far */
	unsigned n_options;
	/* Where sections are; 0: none (version 7). */
	uint64_t sections[OPTION_CMDLINES + 1];
	char *why; /* DAT_WHY_MAX; the first failure's line */
};

/* Note a failure, with printf's words. Returns ST. */
static enum status dat_fail(struct dat_reading *g, enum status st,
    const char *fmt, ...) PRINTF_LIKE(3, 4);

static enum status
dat_fail(struct dat_reading *g, enum status st, const char *fmt, ...)
{
	va_list ap;

	if (g->why[0] == '\0') {
		va_start(ap, fmt);
		(void)vsnprintf(g->why, DAT_WHY_MAX, fmt, ap);
		va_end(ap);
	}
	return st;
}

/* Layouts of pages and events, symbols and names (trace-cmd 3.2, 6 to 9). */

/* The list of events grows by so many. */
#define EVENTS_STEP 256

static enum status
cut_short(struct dat_reading *g, const char *what)
{
	return dat_fail(g, E_MALFORMED, "%s: cut short", what);
}

/* A 64-bit length and that many bytes. */
static struct span
read_block(struct dat_input *in)
{
	return dat_input_span(in, dat_input_u64(in));
}

static enum status
set_layout(struct dat_reading *g, struct span text)
{
	struct page_layout *l = &g->d->page;
	struct event_field f;
	struct span line;
	bool has_time = false, has_commit = false, has_data = false;

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
	if (has_time && has_commit && has_data && l->commit_at >= 8 &&
	    l->data_at >= l->commit_at + l->commit_size &&
	    l->data_at < PAGE_SIZE_MIN)
		return OK;
	return dat_fail(g, E_MALFORMED, "header_page: not a page's layout");
}

static enum status
dat_read_headers(struct dat_reading *g, struct dat_input *in)
{
	enum status st = OK;
	struct span text;

	if (!dat_input_word(in, "header_page", sizeof("header_page")))
		return dat_fail(g, E_MALFORMED, "there is no header_page");
	text = read_block(in);
	/* Kernels without one have pages as they were from the first. */
	if (!in->r.bad && text.n > 0)
		st = set_layout(g, text);
	if (st != OK)
		return st;
	if (!in->r.bad &&
	    !dat_input_word(in, "header_event", sizeof("header_event")))
		return dat_fail(g, E_MALFORMED, "there is no header_event");
	(void)read_block(in);
	return in->r.bad ? cut_short(g, "header_page") : OK;
}

/* Addresses of a stack: as many as there are, whatever the text says. */
static void
free_stack(struct event_format *f)
{
	struct event_field *last = &f->fields[f->n_fields - 1];

	if (last->kind != FIELD_ARRAY)
		return;
	last->kind = FIELD_REST_ARRAY;
	last->size = 0;
	last->is_address = true;
	f->fixed_size = 0;
	for (unsigned i = 0; i < f->n_fields; i++) {
		const struct event_field *x = &f->fields[i];

		if (x->offset + x->size > f->fixed_size)
			f->fixed_size = x->offset + x->size;
	}
}

/* Events of ftrace itself whose bytes are not what their text says. */
static void
mend(struct event_format *f)
{
	if (f->n_fields == 0 || strcmp(f->system, "ftrace") != 0)
		return;
	if (strcmp(f->name, "kernel_stack") == 0)
		free_stack(f);
	/* Bytes of any kind, which programs write to trace_marker_raw. */
	if (strcmp(f->name, "raw_data") == 0 &&
	    f->fields[f->n_fields - 1].kind == FIELD_REST_TEXT)
		f->fields[f->n_fields - 1].kind = FIELD_REST_ARRAY;
}

/* The first one of an id counts. */
static enum status
add_event(struct dat_reading *g, struct event_format *take_f)
{
	struct dat *d = g->d;
	struct event_format **more;

	d->n_fields += take_f->n_fields;
	if (d->by_id[take_f->id] != 0) {
		event_format_free(take_f);
		d->n_refused++;
		return OK;
	}
	more = d->events;
	if (d->n_events == DAT_EVENTS_MAX || d->n_fields > DAT_FIELDS_MAX) {
		event_format_free(take_f);
		return dat_fail(g, E_LIMIT, "more events than a kernel has");
	}
	if (d->n_events % EVENTS_STEP == 0) {
		more = realloc(
		    d->events, (d->n_events + EVENTS_STEP) * sizeof(*more));
		if (more == NULL) {
			event_format_free(take_f);
			return E_NOMEM;
		}
		d->events = more;
	}
	mend(take_f);
	d->events[d->n_events++] = take_f;
	d->by_id[take_f->id] = (uint16_t)d->n_events;
	return OK;
}

/* COUNT format texts of SYSTEM, each behind its length. */
static enum status
read_texts(struct dat_reading *g, struct dat_input *in, struct span system,
    uint32_t count)
{
	enum status st = OK;

	for (uint32_t i = 0; i < count && st == OK; i++) {
		const struct span text = read_block(in);
		struct event_format *f;

		if (in->r.bad)
			return cut_short(g, "event formats");
		st = event_format_parse(
		    &f, system, text, g->d->page.commit_size);
		if (st == OK) {
			st = add_event(g, f);
		} else if (st != E_NOMEM) {
			/* Its events are passed over, and counted. */
			g->d->n_refused++;
			st = OK;
		}
	}
	return st;
}

static enum status
dat_read_ftrace(struct dat_reading *g, struct dat_input *in)
{
	static const char ftrace[] = "ftrace";
	const uint32_t count = dat_input_u32(in);

	if (in->r.bad)
		return cut_short(g, "ftrace events");
	return read_texts(
	    g, in, (struct span){ ftrace, sizeof(ftrace) - 1 }, count);
}

static enum status
dat_read_formats(struct dat_reading *g, struct dat_input *in)
{
	const uint32_t systems = dat_input_u32(in);
	enum status st = OK;

	for (uint32_t i = 0; i < systems && st == OK && !in->r.bad; i++) {
		const struct span system = dat_input_string(in, DAT_NAME_MAX);
		const uint32_t count = dat_input_u32(in);

		if (!in->r.bad)
			st = read_texts(g, in, system, count);
	}
	if (st == OK && in->r.bad)
		return cut_short(g, "event formats");
	return st;
}

static unsigned
count_lines(struct span text)
{
	struct span line;
	unsigned n = 0;

	while (event_format_line(&text, &line))
		n += line.n > 0;
	return n;
}

/* Addresses in events stay numbers: who wants names of them has the file. */
static enum status
dat_read_kallsyms(struct dat_reading *g, struct dat_input *in)
{
	g->d->n_symbols = count_lines(dat_input_span(in, dat_input_u32(in)));
	return in->r.bad ? cut_short(g, "kallsyms") : OK;
}

static enum status
dat_read_printk(struct dat_reading *g, struct dat_input *in)
{
	(void)dat_input_span(in, dat_input_u32(in));
	return in->r.bad ? cut_short(g, "printk formats") : OK;
}

static enum status
dat_read_cmdlines(struct dat_reading *g, struct dat_input *in)
{
	g->d->n_names = count_lines(read_block(in));
	return in->r.bad ? cut_short(g, "names of processes") : OK;
}

/* A recorder takes the length of the kernel's file, and then its text, which is
 * shorter if processes have ended meanwhile. */
static enum status
dat_read_last_cmdlines(struct dat_reading *g, struct dat_input *in)
{
	uint64_t n = dat_input_u64(in);

	if (n > reader_left(&in->r))
		n = reader_left(&in->r);
	g->d->n_names = count_lines(dat_input_span(in, n));
	return in->r.bad ? cut_short(g, "names of processes") : OK;
}

/* Options, and the buffers that some of them name (trace-cmd 3.4). */

#define NS_PER_US 1000

/* What is printable of S, up to a NUL, an end of line, or the end of OUT. */
static void
copy_text(char *out, size_t size, struct span s)
{
	size_t n = 0;

	while (n < s.n && n < size - 1 && s.p[n] != '\0' && s.p[n] != '\n') {
		const char c = s.p[n];

		out[n++] = c >= ' ' && c <= '~' ? c : '?';
	}
	out[n] = '\0';
}

/* The clock in use stands in brackets among those that there are. */
static void
option_clock(struct dat *d, struct span s)
{
	const char *open = memchr(s.p, '[', s.n), *close;

	if (open == NULL)
		return;
	s.n -= (size_t)(open + 1 - s.p);
	s.p = open + 1;
	close = memchr(s.p, ']', s.n);
	if (close != NULL)
		copy_text(d->clock, sizeof(d->clock),
		    (struct span){ s.p, (size_t)(close - s.p) });
}

/* "Linux HOST RELEASE MACHINE" */
static void
option_uname(struct dat *d, struct span s)
{
	char text[3 * DAT_NAME_MAX], *rest = text;

	copy_text(text, sizeof(text), s);
	(void)strsep(&rest, " ");
	if (rest != NULL)
		(void)snprintf(
		    d->hostname, sizeof(d->hostname), "%s", strsep(&rest, " "));
	if (rest != NULL)
		(void)snprintf(
		    d->release, sizeof(d->release), "%s", strsep(&rest, " "));
}

/* A number as strtoll(3) has it; the DATE is in us, the OFFSET in ns. */
static void
option_offset(
    struct dat *d, struct span s, enum dat_offset from, int64_t ns_per_unit)
{
	char text[64], *end;
	int64_t v, ns;

	copy_text(text, sizeof(text), s);
	errno = 0;
	v = strtoll(text, &end, 0);
	if (errno != 0 || end == text || *end != '\0' ||
	    __builtin_mul_overflow(v, ns_per_unit, &ns) ||
	    d->offset_from == DAT_OFFSET_DATE)
		return;
	d->offset_from = from;
	d->offset_ns = ns;
}

static struct dat_buffer *
dat_add_buffer(struct dat_reading *g, struct span name)
{
	struct dat *d = g->d;
	struct dat_buffer *b;

	if (d->n_buffers == DAT_BUFFERS_MAX) {
		(void)dat_fail(
		    g, E_LIMIT, "more than %d buffers", DAT_BUFFERS_MAX);
		return NULL;
	}
	if (d->buffers == NULL)
		d->buffers = calloc(DAT_BUFFERS_MAX, sizeof(*d->buffers));
	if (d->buffers == NULL)
		return NULL;
	b = &d->buffers[d->n_buffers++];
	copy_text(b->name, sizeof(b->name), name);
	b->page_size = g->page_size;
	return b;
}

static enum status
dat_add_cpu(struct dat_reading *g, struct dat_buffer *b, unsigned cpu,
    uint64_t at, uint64_t size)
{
	struct dat_pages *more;

	if (size == 0)
		return OK;
	if (at > g->n || size > g->n - at)
		return dat_fail(g, E_MALFORMED,
		    "the pages of CPU %u are not in the file", cpu);
	if (b->n_cpus == DAT_CPUS_MAX || cpu >= DAT_CPUS_MAX)
		return dat_fail(g, E_LIMIT, "more than %d CPUs", DAT_CPUS_MAX);
	for (unsigned i = 0; i < b->n_cpus; i++)
		if (b->cpus[i].cpu == cpu)
			return dat_fail(
			    g, E_MALFORMED, "CPU %u is there twice", cpu);
	more = realloc(b->cpus, (b->n_cpus + 1) * sizeof(*more));
	if (more == NULL)
		return E_NOMEM;
	b->cpus = more;
	b->cpus[b->n_cpus++] = (struct dat_pages){ cpu, at, size };
	return OK;
}

/* Version 6: a name, and where another "flyrecord" is. */
static enum status
buffer_v6(struct dat_reading *g, struct dat_input in)
{
	const uint64_t at = dat_input_u64(&in);
	const struct span name = dat_input_string(&in, DAT_NAME_MAX);
	struct dat_buffer *b;
	enum status st = OK;

	if (in.r.bad || at >= g->n)
		return dat_fail(g, E_MALFORMED, "a buffer is not in the file");
	b = dat_add_buffer(g, name);
	if (b == NULL)
		return g->why[0] == '\0' ? E_NOMEM : E_LIMIT;
	in = dat_input_over(g->p + at, g->n - at, g->d->is_big);
	if (!dat_input_word(&in, "flyrecord", sizeof("flyrecord")))
		return dat_fail(g, E_MALFORMED, "a buffer has no data");
	for (unsigned i = 0; i < g->d->n_cpus && st == OK && !in.r.bad; i++) {
		const uint64_t begin = dat_input_u64(&in);

		st = dat_add_cpu(g, b, i, begin, dat_input_u64(&in));
	}
	return st != OK	  ? st
	       : in.r.bad ? dat_fail(g, E_MALFORMED, "a buffer is cut short")
			  : OK;
}

/* Version 7: all of it, but for the flags, which are the section's. */
static enum status
buffer_v7(struct dat_reading *g, struct dat_input in)
{
	const uint64_t at = dat_input_u64(&in);
	const struct span name = dat_input_string(&in, DAT_NAME_MAX);
	struct dat_input section;
	struct dat_buffer *b;
	enum status st = OK;
	uint32_t cpus;

	(void)dat_input_string(&in, DAT_NAME_MAX); /* its clock */
	if (in.r.bad || at >= g->n)
		return dat_fail(g, E_MALFORMED, "a buffer is not in the file");
	b = dat_add_buffer(g, name);
	if (b == NULL)
		return g->why[0] == '\0' ? E_NOMEM : E_LIMIT;
	b->page_size = dat_input_u32(&in);
	cpus = dat_input_u32(&in);
	section = dat_input_over(g->p + at, g->n - at, g->d->is_big);
	(void)dat_input_u16(&section); /* its id */
	b->is_packed = (dat_input_u16(&section) & 1) != 0;
	for (uint32_t i = 0; i < cpus && st == OK && !in.r.bad; i++) {
		const uint32_t cpu = dat_input_u32(&in);
		const uint64_t begin = dat_input_u64(&in);

		st = dat_add_cpu(g, b, cpu, begin, dat_input_u64(&in));
	}
	if (st == OK &&
	    (in.r.bad || section.r.bad || b->page_size < PAGE_SIZE_MIN ||
		b->page_size > PAGE_SIZE_MAX))
		return dat_fail(g, E_MALFORMED, "a buffer is cut short");
	return st;
}

static enum status
dat_read_option(struct dat_reading *g, unsigned id, struct dat_input body)
{
	struct dat *d = g->d;
	const struct span all = { (const char *)body.r.p,
		(size_t)reader_left(&body.r) };

	if (++g->n_options > DAT_READ_OPTIONS_MAX)
		return dat_fail(g, E_LIMIT, "too many options");
	switch (id) {
	case OPTION_DATE:
		option_offset(d, all, DAT_OFFSET_DATE, NS_PER_US);
		break;
	case OPTION_OFFSET:
		option_offset(d, all, DAT_OFFSET_GIVEN, 1);
		break;
	case OPTION_CLOCK:
		option_clock(d, all);
		break;
	case OPTION_UNAME:
		option_uname(d, all);
		break;
	case OPTION_CPUS:
		d->n_cpus = dat_input_u32(&body);
		break;
	case OPTION_TRACE_ID:
		d->trace_id = dat_input_u64(&body);
		d->has_trace_id = !body.r.bad;
		break;
	case OPTION_TSC2NSEC:
		d->tsc_mult = dat_input_u32(&body);
		d->tsc_shift = dat_input_u32(&body);
		d->has_tsc = !body.r.bad && d->tsc_mult > 0 &&
			     d->tsc_shift < 64;
		break;
	case OPTION_BUFFER:
		return d->version == 6 ? buffer_v6(g, body)
				       : buffer_v7(g, body);
	default:
		if (d->version == 7 && id >= OPTION_HEADERS &&
		    id <= OPTION_CMDLINES)
			g->sections[id] = dat_input_u64(&body);
		break;
	}
	return OK;
}

/* Version 6: everything in one row (trace-cmd 3.2). */

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

static enum status
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

/* Version 7: sections anywhere, and options that say where (trace-cmd 3.4). */

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

static enum status
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

static enum status
read_version(struct dat_reading *g, struct dat_input *in)
{
	struct span version;

	if (!dat_input_word(in, magic, sizeof(magic)))
		return dat_fail(g, E_MALFORMED, "not a trace.dat");
	version = dat_input_string(in, VERSION_LEN_MAX);
	if (version.n == 1 && (*version.p == '6' || *version.p == '7')) {
		g->d->version = (unsigned)(*version.p - '0');
		return OK;
	}
	return dat_fail(g, in->r.bad ? E_MALFORMED : E_REFUSED,
	    "a trace.dat of another version than 6 or 7");
}

static enum dat_packing
packing_of(struct span name)
{
	static const char *const names[] = {
		[DAT_PLAIN] = "none", [DAT_ZLIB] = "zlib", [DAT_ZSTD] = "zstd"
	};

	for (int i = 0; i < DAT_UNKNOWN; i++)
		if (name.n == strlen(names[i]) &&
		    memcmp(name.p, names[i], name.n) == 0)
			return (enum dat_packing)i;
	return DAT_UNKNOWN;
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
	if (in->r.bad || order > 1 || (long_size != 4 && long_size != 8) ||
	    g->page_size < PAGE_SIZE_MIN || g->page_size > PAGE_SIZE_MAX)
		return dat_fail(
		    g, E_MALFORMED, "the header has no valid sizes");
	/* Until header_page says more. */
	d->page = page_layout_of(g->page_size, long_size, d->is_big);
	if (d->version == 7) {
		d->packing = packing_of(dat_input_string(in, DAT_NAME_MAX));
		(void)dat_input_string(in, DAT_NAME_MAX);
	}
	return in->r.bad ? dat_fail(g, E_MALFORMED, "the header is cut short")
			 : OK;
}

static enum status
read_all(struct dat_reading *g)
{
	struct dat_input in = dat_input_over(g->p, g->n, false);
	enum status st = read_beginning(g, &in);

	if (st == OK)
		st = g->d->version == 6 ? dat_read_v6(g, &in)
					: dat_read_v7(g, &in);
	return st;
}

enum status
dat_read(struct dat **out, const uint8_t *p, size_t n, char why[DAT_WHY_MAX])
{
	struct dat *d = calloc(1, sizeof(*d));
	struct dat_reading g = { .d = d, .p = p, .n = n, .why = why };
	enum status st = E_NOMEM;

	*out = NULL;
	why[0] = '\0';
	if (d != NULL)
		d->by_id = calloc(1, DAT_BY_ID_SIZE);
	if (d != NULL && d->by_id != NULL)
		st = read_all(&g);
	if (st != OK) {
		(void)dat_fail(&g, st, "%s", status_text(st));
		dat_free(d);
		return st;
	}
	*out = d;
	return OK;
}

void
dat_free(struct dat *d)
{
	if (d == NULL)
		return;
	dat_forget_events(d);
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
