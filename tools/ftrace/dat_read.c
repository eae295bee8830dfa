/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/dat_read.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ftrace/dat_read_internal.h"

#define VERSION_LEN_MAX 16

static const char magic[10] = "\x17\x08\x44tracing";

enum status
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
