/* SPDX-License-Identifier: MIT */
/* Layouts of pages and events, symbols and names (trace-cmd 3.2, 6 to 9). */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "common/compiler.h"
#include "tools/ftrace/dat_read_internal.h"

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

enum status
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

enum status
dat_read_ftrace(struct dat_reading *g, struct dat_input *in)
{
	static const char ftrace[] = "ftrace";
	const uint32_t count = dat_input_u32(in);

	if (in->r.bad)
		return cut_short(g, "ftrace events");
	return read_texts(
	    g, in, (struct span){ ftrace, sizeof(ftrace) - 1 }, count);
}

enum status
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
enum status
dat_read_kallsyms(struct dat_reading *g, struct dat_input *in)
{
	g->d->n_symbols = count_lines(dat_input_span(in, dat_input_u32(in)));
	return in->r.bad ? cut_short(g, "kallsyms") : OK;
}

enum status
dat_read_printk(struct dat_reading *g, struct dat_input *in)
{
	(void)dat_input_span(in, dat_input_u32(in));
	return in->r.bad ? cut_short(g, "printk formats") : OK;
}

enum status
dat_read_cmdlines(struct dat_reading *g, struct dat_input *in)
{
	g->d->n_names = count_lines(read_block(in));
	return in->r.bad ? cut_short(g, "names of processes") : OK;
}

/* A recorder takes the length of the kernel's file, and then its text, which is
 * shorter if processes have ended meanwhile. */
enum status
dat_read_last_cmdlines(struct dat_reading *g, struct dat_input *in)
{
	uint64_t n = dat_input_u64(in);

	if (n > reader_left(&in->r))
		n = reader_left(&in->r);
	g->d->n_names = count_lines(dat_input_span(in, n));
	return in->r.bad ? cut_short(g, "names of processes") : OK;
}
