/* SPDX-License-Identifier: MIT */
/* What a recorder's pages go through, when memory runs out. */
#include <stdlib.h>

#include "tests/ftrace/vector.h"
#include "tests/lib/fault.h"
#include "tests/lib/unit.h"
#include "tools/ftrace/page_feed.h"

#define CPUS 2
/* No recording has so many. */
#define ALLOCATIONS_MAX 1000

static bool
may_use(void *arg, uint64_t bytes)
{
	(void)arg;
	(void)bytes;
	return true;
}

/* A recording without files. */
static enum status
record(struct page_feed *f, const struct bytes *metadata,
    const struct bytes *pages)
{
	const struct recordings in = { .dir_fd = -1, .prefix = "trace" };
	const struct page_feed_config config = {
		.is_end = true,
		.page_size_max = PAGE_SIZE_MAX,
		.may_use = may_use,
	};
	const char *why;
	enum status st = recording_create(&f->recording, &in, "host:1", CPUS);

	if (st == OK)
		st = recording_metadata(f->recording, metadata->p, metadata->n);
	if (st == OK)
		st = page_feed_begin(f, &config, &why);
	for (uint32_t i = 0; i < CPUS && st == OK; i++)
		page_feed_bytes(f, i, pages->p, pages->n);
	page_feed_end(f);
	page_feed_free(f);
	return st;
}

TEST(any_allocation_may_fail)
{
	struct bytes metadata = vector_metadata("v6-tcp"),
		     pages = vector_part("v6-tcp", "cpu0");
	bool has_failed = true, is_refused = false;

	for (unsigned n = 1; has_failed; n++) {
		struct page_feed f = { .name = "host:1" };
		enum status st;

		ck_assert_uint_lt(n, ALLOCATIONS_MAX);
		fault_arm(n);
		st = record(&f, &metadata, &pages);
		has_failed = fault_disarm();
		/* Without memory for dividing pages they are stored as they
		 * come. */
		ck_assert(st == OK || (has_failed && st == E_NOMEM));
		is_refused |= st != OK;
	}
	ck_assert(is_refused);
	free(pages.p);
	free(metadata.p);
}
