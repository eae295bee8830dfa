/* SPDX-License-Identifier: MIT */
/* What tracepulse-send prints: a line of progress while it runs, on a terminal
 * only, and a summary. */
#ifndef TOOLS_SEND_REPORT_H
#define TOOLS_SEND_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/client/client.h"
#include "tools/send/badnet.h"

struct report {
	bool is_terminal, is_quiet, is_json;
	uint64_t total_bytes; /* of one round */
	uint64_t begin_ns, shown_ns;
	uint64_t sessions;
	struct client_stats sum; /* of the sessions that ended */
	struct badnet_stats channel;
	unsigned streams;
	char path[4096]; /* of the last session, in the relay */
};

/* Print the progress to stderr, at most four times a second. NULL: erase the
 * line. */
void report_progress(struct report *r, const struct client *c);
/* A session ended, in order or with a failure. */
void report_session(struct report *r, const struct client *c);
void report_channel(struct report *r, const struct badnet_stats *s);
/* Print the summary to stdout. */
void report_summary(const struct report *r, const char *url);

#endif
