/* SPDX-License-Identifier: MIT */
/* Output of tracepulse-send: a progress line while it runs, on a terminal only,
 * errors, and a summary. */
#ifndef TOOLS_SEND_REPORT_H
#define TOOLS_SEND_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "tools/client/client.h"
#include "tools/sink/badnet.h"
#include "tools/sink/sink.h"
#include "tools/send/trace.h"

/* The line that shows how far a session is. */

/* The rate is measured since the oldest of these. */
#define PROGRESS_SAMPLES 16
#define PROGRESS_LINE_MAX 512

enum progress_phase {
	PROGRESS_CONNECTING,
	PROGRESS_SENDING,
	PROGRESS_FOLLOWING, /* what is recorded is sent as it comes */
	PROGRESS_LINGERING, /* all is sent, and the session stays open */
	PROGRESS_FINISHING, /* all is sent, and the relay writes it */
	PROGRESS_ENDING,    /* a signal arrived, and the session is closed */
};

struct progress {
	const char *host;
	uint64_t total_bytes;	    /* of one session */
	uint64_t session, sessions; /* from 1; 0: without end */
	struct progress_sample {
		uint64_t ns, bytes;
	} samples[PROGRESS_SAMPLES]; /* ring */
	unsigned n_samples;	     /* so far */
};

/* How far it is. Times are of one monotonic clock. */
struct progress_now {
	enum progress_phase phase;
	uint64_t ns, bytes, packets;
	/* Until all is sent, or until the session is closed; UINT64_MAX:
	 * computed from the rate. */
	uint64_t left_ns;
};

/* A session begins. */
void progress_begin(struct progress *p, uint64_t session);
/* The line, without a newline. Counts as a sample of the rate. */
void progress_line(struct progress *p, const struct progress_now *now,
    char out[PROGRESS_LINE_MAX]);

struct report {
	bool is_terminal, is_quiet, is_json;
	struct progress progress;
	uint64_t begin_ns, shown_ns;
	uint64_t sessions;
	struct client_stats sum; /* of the sessions that ended */
	struct badnet_stats channel;
	unsigned streams;
	/* Packets that were gone before they could be read; and with --follow
	 * those that began before a beacon that was sent. */
	uint64_t missing, late;
	char path[4096];  /* where the sink put the last session, or all */
	char error[4608]; /* the first that went wrong; "": nothing */
	int signal;	  /* that ended it before its end; 0: none */
};

/* Print the progress to stderr, at most four times a second. */
bool report_is_due(const struct report *r);
void report_progress(struct report *r, const struct progress_now *now);
/* Erase its line. */
void report_progress_end(struct report *r);
/* Print a line to stderr; the first one is also the error of the summary. */
void report_error(struct report *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same, but it is no failure. */
void report_note(struct report *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* An output has done S. */
void report_add(struct report *r, const struct send_stats *s);
/* A session was opened and ended, in order or with a failure; what the sink
 * answered for is noted with the streams of T. */
void report_session(
    struct report *r, const struct send_output *o, struct traces *t);
/* Print the summary to stdout. T: all traces; NULL: they could not be read. */
void report_summary(
    const struct report *r, const struct traces *t, const char *url);

#endif
