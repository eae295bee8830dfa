/* SPDX-License-Identifier: MIT */
/* libtrace 3, or --disable-libtrace-parallel: every source is read serially. */
#include "tools/capture/parallel_input.h"

enum status
parallel_input_start(struct parallel_input **out, libtrace_t *trace,
    const struct source_config *config, bool drops_outgoing)
{
	(void)trace;
	(void)config;
	(void)drops_outgoing;
	*out = NULL;
	return OK;
}

void
parallel_input_close(struct parallel_input *in)
{
	(void)in;
}

unsigned
parallel_input_threads(const struct parallel_input *in)
{
	(void)in;
	return 0;
}

enum source_got
parallel_input_run(
    struct parallel_input *in, const struct source_calls *calls, int stop)
{
	(void)in;
	(void)calls;
	(void)stop;
	return SOURCE_FAILED;
}

uint64_t
parallel_input_dropped(const struct parallel_input *in)
{
	(void)in;
	return 0;
}
