/* SPDX-License-Identifier: MIT */
/* What flush reads of the kernel, and tells it. */
#include "tests/lib/unit.h"
#include "tools/ftrace/flush_percent.h"
#include "tools/ftrace/flush_targets.h"

static const char stats[] = "entries: 12\n"
			    "overrun: 3\n"
			    "commit overrun: 99\n"
			    "bytes: 640\n"
			    "oldest event ts: 14218.696992\n"
			    "now ts: 14276.712896\n"
			    "dropped events: 77\n"
			    "read events: 40\n";

START_TEST(what_waits_and_what_is_gone)
{
	struct flush_stats s;

	ck_assert(flush_stats_parse(stats, &s));
	ck_assert_uint_eq(s.waiting, 12);
	ck_assert_uint_eq(s.gone, 43);
}
END_TEST

START_TEST(other_text_is_refused)
{
	static const char *const texts[] = { "", "entries: 12\n", "\n\n",
		"entries: 1\noverrun: 2\nread events:\n",
		"entries: 1\ncommit overrun: 2\nread events: 3\n",
		"entries: x\noverrun: 2\nread events: 3\n" };
	struct flush_stats s;

	ck_assert(!flush_stats_parse(texts[_i], &s));
}
END_TEST

/* As the kernel has it: a recorder is woken when full pages, and one, are this
 * part of the buffer. */
START_TEST(a_recorder_is_woken_by_some_full_pages)
{
	for (uint64_t pages = 8; pages < 100000; pages++) {
		const uint64_t percent = flush_percent_of(pages);
		uint64_t full = (percent * pages + 99) / 100 - 1;

		ck_assert_uint_ge(full, FLUSH_PAGES);
		ck_assert_uint_le(full, FLUSH_PAGES + 1 + pages / 100);
	}
}
END_TEST

START_TEST(a_buffer_that_is_small_or_unknown_is_as_ever)
{
	ck_assert_uint_eq(flush_percent_of(0), 50);
	ck_assert_uint_eq(flush_percent_of(1), 50);
	ck_assert_uint_eq(flush_percent_of(7), 50);
}
END_TEST

int
main(void)
{
	const struct unit units[] = {
		{ what_waits_and_what_is_gone, 0, 0 },
		{ other_text_is_refused, 6, 0 },
		{ a_recorder_is_woken_by_some_full_pages, 0, 0 },
		{ a_buffer_that_is_small_or_unknown_is_as_ever, 0, 0 },
	};

	return unit_run("flush", units, sizeof(units) / sizeof(*units));
}
