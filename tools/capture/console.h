/* SPDX-License-Identifier: MIT */
/* Output for the user: a line once a second, and a summary. */
#ifndef TOOLS_CAPTURE_CONSOLE_H
#define TOOLS_CAPTURE_CONSOLE_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/capture/pipeline.h"
#include "tools/capture/sink.h"

#define CONSOLE_NS UINT64_C(1000000000)

struct console {
	bool is_terminal; /* stderr is one: the line is overwritten */
	bool has_line;	  /* a line is shown */
	uint64_t begin_ns;
	uint64_t shown_ns;
	struct pipeline_stats shown;
};

/* Print an error to stderr. */
void console_error(const char *what);

void console_begin(struct console *c);
/* Print the line, if it is time. */
void console_line(
    struct console *c, const struct pipeline_stats *s, const struct sink *sink);
/* End the line, so that other output does not overwrite it. */
void console_end_line(struct console *c);
/* Print the counters on stderr, at any time. */
void console_counts(
    struct console *c, const struct pipeline_stats *s, const struct sink *sink);
void console_summary(const struct console *c, const struct pipeline_stats *s,
    const struct sink *sink);
void console_json(const struct console *c, const struct pipeline_stats *s,
    const struct sink *sink);

/* The same for --from-ctf. */
struct conversion_counts {
	uint64_t read;
	uint64_t discarded; /* packets of the network, during the capture */
	uint64_t missing;   /* CTF packets */
};
void console_conversion(const struct console *c,
    const struct conversion_counts *n, const struct sink *sink);
void console_conversion_json(const struct console *c,
    const struct conversion_counts *n, const struct sink *sink);

#endif
