/* SPDX-License-Identifier: MIT */
/* The line that shows how far a session is. Text only: who prints it, and how
 * often, is the report's. */
#ifndef TOOLS_SEND_PROGRESS_H
#define TOOLS_SEND_PROGRESS_H

#include <stdint.h>

/* The rate is that of the time since the oldest of these. */
#define PROGRESS_SAMPLES 16
#define PROGRESS_LINE_MAX 512

enum progress_phase {
	PROGRESS_CONNECTING,
	PROGRESS_SENDING,
	PROGRESS_LINGERING, /* all is sent, and the session stays open */
	PROGRESS_FINISHING, /* all is sent, and the relay writes it */
	PROGRESS_ENDING,    /* a signal came, and the session is closed */
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
	/* Until all is sent, or until the session is closed; UINT64_MAX: as the
	 * rate says. */
	uint64_t left_ns;
};

/* A session begins. */
void progress_begin(struct progress *p, uint64_t session);
/* The line, without a newline. Counts as a sample of the rate. */
void progress_line(struct progress *p, const struct progress_now *now,
    char out[PROGRESS_LINE_MAX]);

#endif
