/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/dat_pages.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "tools/ftrace/dat_read.h"
#include "tools/ftrace/order.h"
#include "tools/ftrace/page_align.h"

/* Bytes examined before TAKE may stop. */
#define PIECE_BYTES ((size_t)1 << 20)

struct pages {
	struct page_align align;
	uint32_t size; /* of a page */
	enum status (*take)(void *arg, const uint8_t *page);
	void *arg;
	enum status st;
};

static void
pass_pages(void *arg, const uint8_t *p, size_t n)
{
	struct pages *g = arg;

	for (; n >= g->size && g->st == OK; n -= g->size, p += g->size)
		g->st = g->take(g->arg, p);
}

static enum status
take_all(struct pages *g, const uint8_t *p, size_t n)
{
	while (n > 0 && g->st == OK) {
		const size_t piece = n < PIECE_BYTES ? n : PIECE_BYTES;

		page_align_bytes(&g->align, p, piece);
		p += piece;
		n -= piece;
	}
	return g->st;
}

static bool
grow(uint8_t **mem, size_t *has, size_t need)
{
	if (need <= *has)
		return true;
	free(*mem);
	*mem = malloc(need);
	*has = *mem == NULL ? 0 : need;
	return *mem != NULL;
}

/* The number of chunks, then for each: its size in the file, its size
 * decompressed, its bytes. */
static enum status
take_chunks(struct pages *g, enum dat_packing packing, struct dat_input *in)
{
	uint32_t chunks = dat_input_u32(in);
	uint8_t *mem = NULL;
	size_t capacity = 0;
	enum status st = in->r.bad ? E_MALFORMED : OK;

	for (; chunks > 0 && st == OK; chunks--) {
		const uint32_t packed = dat_input_u32(in);
		const uint32_t size = dat_input_u32(in);
		const struct span data = dat_input_span(in, packed);

		if (in->r.bad)
			st = E_MALFORMED;
		else if (size > DAT_CHUNK_MAX)
			st = E_LIMIT;
		else if (!grow(&mem, &capacity, size))
			st = E_NOMEM;
		else
			st = dat_unpack(packing, (const uint8_t *)data.p,
			    data.n, mem, size);
		if (st == OK)
			st = take_all(g, mem, size);
	}
	free(mem);
	return st;
}

enum status
dat_pages_each(const struct dat *d, const struct dat_buffer *b,
    const struct dat_pages *cpu, const uint8_t *file, size_t n,
    enum status (*take)(void *arg, const uint8_t *page), void *arg)
{
	struct pages g = { .size = b->page_size, .take = take, .arg = arg };
	struct page_layout layout = d->page;
	struct dat_input in;
	enum status st;

	layout.size = b->page_size;
	st = page_align_init(&g.align, &layout, pass_pages, &g);
	if (st != OK)
		return st;
	if (!b->is_packed) {
		st = take_all(&g, file + cpu->at, cpu->size);
	} else {
		/* The stated size lacks the 4 bytes of the number of chunks. */
		in = dat_input_over(file + cpu->at,
		    n - cpu->at < cpu->size + 4 ? n - cpu->at : cpu->size + 4,
		    d->is_big);
		st = take_chunks(&g, d->packing, &in);
	}
	if (g.st == OK)
		page_align_end(&g.align);
	page_align_free(&g.align);
	return st == OK ? g.st : st;
}

static int
compare_places(const void *a, const void *b)
{
	const struct dat_pages *x = *(const struct dat_pages *const *)a;
	const struct dat_pages *y = *(const struct dat_pages *const *)b;

	return x->at < y->at ? -1 : x->at > y->at;
}

enum status
dat_pages_check(const struct dat *d, unsigned *cpu)
{
	const struct dat_pages **all;
	enum status st = OK;
	size_t n = 0;

	for (unsigned i = 0; i < d->n_buffers; i++)
		n += d->buffers[i].n_cpus;
	all = calloc(n + 1, sizeof(struct dat_pages *));
	if (all == NULL)
		return E_NOMEM;
	n = 0;
	for (unsigned i = 0; i < d->n_buffers; i++)
		for (unsigned k = 0; k < d->buffers[i].n_cpus; k++)
			all[n++] = &d->buffers[i].cpus[k];
	qsort(all, n, sizeof(*all), compare_places);
	for (size_t i = 1; i < n && st == OK; i++)
		if (all[i]->at - all[i - 1]->at < all[i - 1]->size) {
			*cpu = all[i]->cpu;
			st = E_MALFORMED;
		}
	free(all);
	return st;
}

enum dat_packing
dat_packing_of(struct span name)
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

static enum status
unpack_zlib(const uint8_t *p, size_t n, uint8_t *out, size_t out_size)
{
	struct libdeflate_decompressor *z = libdeflate_alloc_decompressor();
	enum libdeflate_result result;

	if (z == NULL)
		return E_NOMEM;
	/* Without a pointer for the size, it must be OUT_SIZE. */
	result = libdeflate_zlib_decompress(z, p, n, out, out_size, NULL);
	libdeflate_free_decompressor(z);
	return result == LIBDEFLATE_SUCCESS ? OK : E_MALFORMED;
}

static enum status
unpack_zstd(const uint8_t *p, size_t n, uint8_t *out, size_t out_size)
{
#ifdef HAVE_ZSTD
	return ZSTD_decompress(out, out_size, p, n) == out_size ? OK
								: E_MALFORMED;
#else
	(void)p;
	(void)n;
	(void)out;
	(void)out_size;
	return E_REFUSED;
#endif
}

enum status
dat_unpack(enum dat_packing packing, const uint8_t *p, size_t n, uint8_t *out,
    size_t out_size)
{
	switch (packing) {
	case DAT_ZLIB:
		return unpack_zlib(p, n, out, out_size);
	case DAT_ZSTD:
		return unpack_zstd(p, n, out, out_size);
	case DAT_PLAIN:
	case DAT_UNKNOWN:
		break;
	}
	return packing == DAT_PLAIN ? E_MALFORMED : E_REFUSED;
}
