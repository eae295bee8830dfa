/* SPDX-License-Identifier: MIT */
/* Readers that are threads of the source's own, which call us. */
#include "common/clock.h"
#include "tools/capture/pipeline_internal.h"

/* A queue of the kernel's, or of a card, hands packets over in blocks: one that
 * was captured so long ago has come. If not, its time becomes that of the
 * stream, and it is counted as clamped. */
#define QUEUE_DELAY_NS (100 * NS_PER_MS)

static bool
packet_came(
    void *first, unsigned number, struct record *record, const uint8_t *bytes)
{
	struct reader *r = (struct reader *)first + number;
	const uint64_t count = r->pipeline->config.count;
	uint64_t nth = 0;

	if (reader_is_stopped(r))
		return false;
	if (count != 0 && (nth = published_add(&r->first->taken, 1)) > count)
		return false;
	reader_take(r, record, bytes);
	if (r->n_received % READER_CLOCK_PACKETS == 0)
		reader_look_at_clock(r, false, 0);
	return count == 0 || nth < count;
}

static void
time_went_by(void *first, unsigned number)
{
	struct reader *r = (struct reader *)first + number;
	const uint64_t now = reader_wall_ns();

	if (reader_is_stopped(r))
		return;
	if (r->n_received != r->seen || r->idle_since_ns == 0) {
		r->seen = r->n_received;
		r->idle_since_ns = now;
	}
	reader_look_at_clock(
	    r, now - r->idle_since_ns >= QUEUE_DELAY_NS, now - QUEUE_DELAY_NS);
}

void *
reader_run_parallel(void *first)
{
	struct reader *f = first;
	const struct source_calls calls = {
		.arg = first, .packet = packet_came, .tick = time_went_by
	};

	for (unsigned i = 0; i < f->n_readers; i++)
		reader_begin(&f[i]);
	if (source_run(f->source, &calls, f->pipeline->stop) == SOURCE_FAILED)
		f->failed = E_IO;
	reader_look_at_drops(f);
	for (unsigned i = 0; i < f->n_readers; i++)
		reader_end(&f[i]);
	publish(&f->is_over, 1);
	return NULL;
}
