/* SPDX-License-Identifier: MIT */
/*
 * Sources with several queues, read by threads of libtrace 4, one for each
 * queue, which call us. With libtrace 3 every source is read serially.
 *
 * Written after the documentation of that interface, and tested with a
 * substitute for it (tests/capture/double), never with libtrace 4 itself.
 */
#ifndef TOOLS_CAPTURE_PARALLEL_INPUT_H
#define TOOLS_CAPTURE_PARALLEL_INPUT_H

#include <libtrace.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/capture/source.h"

struct parallel_input;

/* Start TRACE, which is configured and belongs to the caller; it must outlive
 * the parallel input. It captures from now on, but no calls are made before
 * parallel_input_run(). OK with *OUT NULL: read it serially, it was not
 * touched. E_REFUSED: see libtrace's error. */
enum status parallel_input_start(struct parallel_input **out, libtrace_t *trace,
    const struct source_config *config, bool drops_outgoing) MUST_CHECK;
void parallel_input_close(struct parallel_input *in); /* NULL is fine */

unsigned parallel_input_threads(const struct parallel_input *in);
/* As source_run(). SOURCE_FAILED: see libtrace's error. */
enum source_got parallel_input_run(struct parallel_input *in,
    const struct source_calls *calls, int stop) MUST_CHECK;
/* Packets that the source has dropped, as last counted. Any thread. */
uint64_t parallel_input_dropped(const struct parallel_input *in);

#endif
