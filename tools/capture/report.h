/* SPDX-License-Identifier: MIT */
/* Output for the user: a line once a second, and a summary. */
#ifndef TOOLS_CAPTURE_REPORT_H
#define TOOLS_CAPTURE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/capture/pipeline.h"
#include "tools/capture/sink.h"

#define REPORT_NS UINT64_C(1000000000)

struct report {
	bool is_terminal; /* stderr is one: the line is overwritten */
	bool has_line;	  /* a line is shown */
	uint64_t begin_ns;
	uint64_t shown_ns;
	struct pipeline_stats shown;
};

/* Print an error to stderr. */
void report_error(const char *what);

void report_begin(struct report *r);
/* Print the line, if it is time. */
void report_line(
    struct report *r, const struct pipeline_stats *s, const struct sink *sink);
/* End the line, so that other output does not overwrite it. */
void report_end_line(struct report *r);
void report_summary(const struct report *r, const struct pipeline_stats *s,
    const struct sink *sink);
void report_json(const struct report *r, const struct pipeline_stats *s,
    const struct sink *sink);

/* The same for --from-ctf. */
struct conversion_counts {
	uint64_t read;
	uint64_t discarded; /* packets of the network, during the capture */
	uint64_t missing;   /* CTF packets */
};
void report_conversion(const struct report *r,
    const struct conversion_counts *n, const struct sink *sink);
void report_conversion_json(const struct report *r,
    const struct conversion_counts *n, const struct sink *sink);

#endif
