/* SPDX-License-Identifier: MIT */
/* The first part of a trace.dat, and what is appended to it. */
#include <stdlib.h>
#include <string.h>

#include "tests/ftrace/vector.h"
#include "tests/lib/unit.h"
#include "tools/ftrace/dat_layout.h"
#include "tools/ftrace/dat_read.h"
#include "tools/ftrace/order.h"

#define CPUS 2

static const char *const plain[] = { "v6-tcp", "v6-udp", "v6-tcp-flush",
	"v6-tcp-missed", "v7-tcp-none" };

/* A whole file of METADATA and the pages of CPUs, as a plan says. */
static struct bytes
put_together(const struct bytes *metadata, const struct bytes pages[CPUS])
{
	struct dat_part cpus[CPUS] = { { 0 } };
	struct dat_layout layout;
	struct dat_plan plan;
	struct bytes out;

	ck_assert_int_eq(
	    dat_read_layout(&layout, metadata->p, metadata->n), OK);
	for (unsigned i = 0; i < CPUS; i++)
		cpus[i].size = pages[i].n;
	ck_assert_int_eq(
	    dat_plan_make(&plan, &layout, metadata->n, cpus, CPUS), OK);
	out = (struct bytes){ calloc(1, plan.size), plan.size };
	ck_assert_ptr_nonnull(out.p);
	memcpy(out.p, metadata->p, metadata->n);
	memcpy(out.p + metadata->n, buf_data(&plan.head), buf_len(&plan.head));
	for (unsigned i = 0; i < CPUS; i++)
		if (pages[i].n > 0)
			memcpy(out.p + cpus[i].offset, pages[i].p, pages[i].n);
	if (buf_len(&plan.tail) > 0)
		memcpy(out.p + plan.tail_offset, buf_data(&plan.tail),
		    buf_len(&plan.tail));
	if (plan.has_patch)
		memcpy(
		    out.p + plan.patch_offset, plan.patch, sizeof(plan.patch));
	dat_plan_free(&plan);
	return out;
}

TEST_ROWS(the_file_is_that_of_the_stock_listener, 5)
{
	const char *name = plain[_i];
	struct bytes metadata = vector_metadata(name),
		     result = vector_part(name, "result"),
		     pages[CPUS] = { vector_part(name, "cpu0"),
			     vector_part(name, "cpu1") },
		     got = put_together(&metadata, pages);

	ck_assert_uint_eq(got.n, result.n);
	ck_assert_mem_eq(got.p, result.p, got.n);
	free(got.p);
	free(pages[0].p);
	free(pages[1].p);
	free(result.p);
	free(metadata.p);
}

/* Its pages are compressed in the stock listener's, and are not in ours; all
 * before them, except for the link to the section after them, is the same. */
TEST(compressed_metadata_stays_as_it_is)
{
	struct bytes metadata = vector_metadata("v7-tcp"),
		     result = vector_part("v7-tcp", "result"),
		     pages[CPUS] = { vector_part("v7-tcp", "cpu0"),
			     vector_part("v7-tcp", "cpu1") },
		     got = put_together(&metadata, pages);
	unsigned different = 0;
	uint64_t offset;

	for (size_t i = 0; i < metadata.n; i++)
		different += got.p[i] != result.p[i];
	ck_assert_uint_le(different, 8);
	offset = order_u64(false, got.p + metadata.n - 8);
	ck_assert_uint_lt(offset, got.n);
	ck_assert_uint_eq(order_u16(false, got.p + offset), 0);
	ck_assert_mem_eq(got.p + 8192, pages[0].p, pages[0].n);
	free(got.p);
	free(pages[0].p);
	free(pages[1].p);
	free(result.p);
	free(metadata.p);
}

TEST_ROWS(what_is_cut_short_is_not_whole, 3)
{
	static const char *const names[] = { "v6-tcp", "v7-tcp-none",
		"v7-tcp" };
	struct bytes all = vector_metadata(names[_i]);
	struct dat_layout layout;
	unsigned whole = 0;

	for (size_t n = 0; n < all.n; n++) {
		struct bytes cut = bytes_copy(all.p, n);
		const enum status st = dat_read_layout(&layout, cut.p, cut.n);

		/* Version 6 may end after the printk formats, as V1 does, and
		 * after the number of CPUs. */
		whole += st == OK;
		ck_assert(st == OK || st == E_MORE);
		free(cut.p);
	}
	ck_assert_uint_eq(whole, _i == 0 ? 2 : 0);
	ck_assert_int_eq(dat_read_layout(&layout, all.p, all.n), OK);
	ck_assert_str_eq(layout.clock, "local");
	ck_assert_uint_eq(layout.page_size, 4096);
	ck_assert(layout.has_cpus);
	ck_assert_uint_eq(layout.cpus, CPUS);
	free(all.p);
}

/* Each byte of what is not text becomes others: an answer comes, and a plan of
 * it stays within the first part. */
TEST_ROWS(any_bytes_are_survived, 2)
{
	static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	struct bytes all = vector_metadata(_i == 0 ? "v6-tcp" : "v7-tcp");

	for (size_t at = 0; at < all.n; at++) {
		const uint8_t was = all.p[at];

		for (size_t v = 0; v < sizeof(values); v++) {
			struct dat_part cpus[CPUS] = { { 4096, 0 }, { 0, 0 } };
			struct dat_layout layout;
			struct dat_plan plan;

			all.p[at] = values[v];
			if (dat_read_layout(&layout, all.p, all.n) != OK)
				continue;
			if (dat_plan_make(&plan, &layout, all.n, cpus, CPUS) ==
			    OK) {
				ck_assert_uint_ge(cpus[0].offset, all.n);
				if (plan.has_patch)
					ck_assert_uint_le(
					    plan.patch_offset, all.n - 8);
			}
			dat_plan_free(&plan);
		}
		all.p[at] = was;
	}
	free(all.p);
}

/* A chain that comes back to its first section. */
TEST(options_in_a_circle_are_no_file)
{
	struct bytes all = vector_metadata("v7-tcp-none");
	struct dat_layout layout;
	const uint64_t first = 0x7937;

	memcpy(all.p + all.n - sizeof(first), &first, sizeof(first));
	ck_assert_int_eq(dat_read_layout(&layout, all.p, all.n), E_MALFORMED);
	free(all.p);
}

/* Where the chain ends cannot be seen: the file then begins with ours. */
TEST(a_compressed_section_of_options_comes_behind_ours)
{
	struct bytes all = vector_metadata("v7-tcp-none"), pages[CPUS] = { 0 },
		     got;
	const uint64_t first = 0x7937;
	uint64_t ours, link;

	all.p[first + 2] = 1;
	got = put_together(&all, pages);
	ours = order_u64(false, got.p + 24);
	ck_assert_uint_gt(ours, all.n);
	ck_assert_uint_eq(order_u16(false, got.p + ours), 0);
	link = ours + 16 + order_u64(false, got.p + ours + 8) - 8;
	ck_assert_uint_eq(order_u64(false, got.p + link), first);
	free(got.p);
	free(all.p);
}
