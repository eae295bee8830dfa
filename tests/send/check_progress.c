/* SPDX-License-Identifier: MIT */
#include "tools/send/report.h"

#include "common/clock.h"
#include "common/compiler.h"
#include "tests/lib/unit.h"

#define MIB (UINT64_C(1) << 20)

/* One line, when nothing came before it. */
static const struct {
	uint64_t sessions, total;
	struct progress_now now;
	const char *line;
} lines[] = {
	{ 1, MIB, { .phase = PROGRESS_CONNECTING }, "connecting to here" },
	{ 0, MIB, { .phase = PROGRESS_CONNECTING },
	    "session 3: connecting to here" },
	{ 5, MIB, { .phase = PROGRESS_CONNECTING },
	    "session 3 of 5: connecting to here" },
	{ 1, 2 * MIB,
	    { .phase = PROGRESS_SENDING,
		.bytes = MIB,
		.packets = 7,
		.left_ns = UINT64_MAX },
	    " 50 %  1.0 of 2.0 MiB, 7 packets" },
	{ 1, 0, { .phase = PROGRESS_SENDING, .left_ns = UINT64_MAX },
	    "100 %  0.0 of 0.0 MiB, 0 packets" },
	{ 1, MIB,
	    { .phase = PROGRESS_LINGERING,
		.bytes = MIB,
		.packets = 9,
		.left_ns = 61 * NS_PER_S },
	    "100 %  1.0 of 1.0 MiB, 9 packets; the session stays open for 1 "
	    "min 1 s" },
	{ 1, MIB, { .phase = PROGRESS_FINISHING, .bytes = MIB, .packets = 9 },
	    "100 %  1.0 of 1.0 MiB, 9 packets; waiting for the relay to write "
	    "all packets" },
	{ 1, MIB, { .phase = PROGRESS_ENDING },
	    "  0 %  0.0 of 1.0 MiB, 0 packets; ending the session" },
};

TEST_ROWS(each_phase_has_its_words, ARRAY_LEN(lines))
{
	struct progress p = { .host = "here",
		.total_bytes = lines[_i].total,
		.sessions = lines[_i].sessions };
	char out[PROGRESS_LINE_MAX];

	progress_begin(&p, 3);
	progress_line(&p, &lines[_i].now, out);
	ck_assert_str_eq(out, lines[_i].line);
}

/* The line N samples after the first one, of which each came MS later with
 * BYTES more. */
static void
expect(uint64_t total, unsigned n, uint64_t ms, uint64_t bytes,
    uint64_t left_ns, const char *line)
{
	struct progress p = { .total_bytes = total, .sessions = 1 };
	struct progress_now now = {
		.phase = PROGRESS_SENDING, .ns = NS_PER_S, .left_ns = left_ns
	};
	char out[PROGRESS_LINE_MAX];

	progress_begin(&p, 1);
	progress_line(&p, &now, out);
	for (unsigned i = 0; i < n; i++) {
		now.ns += ms * NS_PER_MS;
		now.bytes += bytes;
		progress_line(&p, &now, out);
	}
	ck_assert_str_eq(out, line);
}

TEST(the_rate_gives_the_time_that_is_left)
{
	expect(100 * MIB, 1, 250, MIB, UINT64_MAX,
	    "  1 %  1.0 of 100.0 MiB, 0 packets, 4.0 MiB/s, 25 s left");
	expect(8 * MIB, 4, 250, MIB / 1024, UINT64_MAX,
	    "  0 %  0.0 of 8.0 MiB, 0 packets, 4 KiB/s, 34 min 7 s left");
	expect(100 * MIB, 1, 1000, 10 * 1024, UINT64_MAX,
	    "  0 %  0.0 of 100.0 MiB, 0 packets, 10 KiB/s, 2 h 50 min left");
	/* that of the trace's clock, if that is known */
	expect(100 * MIB, 1, 250, MIB, 90 * NS_PER_S,
	    "  1 %  1.0 of 100.0 MiB, 0 packets, 4.0 MiB/s, 1 min 30 s left");
	/* at rest, and so slowly that nobody waits for it */
	expect(MIB, 1, 250, 0, UINT64_MAX,
	    "  0 %  0.0 of 1.0 MiB, 0 packets, 0 KiB/s");
	expect(UINT64_MAX / 2, 1, 250, 1, UINT64_MAX,
	    "  0 %  0.0 of 8796093022208.0 MiB, 0 packets, 0 KiB/s");
}

TEST(the_rate_is_that_of_the_last_seconds)
{
	struct progress p = { .total_bytes = 100 * MIB, .sessions = 1 };
	struct progress_now now = {
		.phase = PROGRESS_SENDING, .ns = NS_PER_S, .left_ns = UINT64_MAX
	};
	char out[PROGRESS_LINE_MAX];

	progress_begin(&p, 1);
	for (unsigned i = 0; i < 3 * PROGRESS_SAMPLES; i++) {
		now.ns += NS_PER_S;
		now.bytes += i < 2 * PROGRESS_SAMPLES ? MIB : 2 * MIB;
		progress_line(&p, &now, out);
	}
	ck_assert_str_eq(
	    out, " 64 %  64.0 of 100.0 MiB, 0 packets, 2.0 MiB/s, 18 s left");
	/* a new session begins at rest */
	progress_begin(&p, 2);
	now.bytes = 0;
	progress_line(&p, &now, out);
	ck_assert_str_eq(out, "  0 %  0.0 of 100.0 MiB, 0 packets");
}
