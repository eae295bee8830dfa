/* SPDX-License-Identifier: MIT */
/*
 * Reads the packets of traces that tracepulse-capture made with --payload=full,
 * by libbabeltrace2. Without that library every trace is refused. One reader at
 * a time.
 */
#ifndef TOOLS_CAPTURE_CTF_READER_H
#define TOOLS_CAPTURE_CTF_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/capture/record.h"

struct ctf_reader_config {
	const char *dir; /* all traces at and below it are read */
	/* Called for the next packet in time; both arguments are borrowed.
	 * Another status than OK ends the reading, which returns it. */
	enum status (*record)(
	    void *arg, const struct record *r, const uint8_t *bytes);
	void *arg;
};

struct ctf_reader_counts {
	uint64_t read;
	uint64_t discarded; /* packets of the network, during the capture */
	uint64_t missing;   /* CTF packets, on their way to a file */
	bool has_discarded; /* others too, without a number */
};

/* Read everything; ctf_reader_interrupt() ends it early: E_BUSY. Not OK: *WHY
 * is one line, but empty if RECORD failed. */
#define CTF_READER_WHY_MAX 1024
enum status ctf_reader_run(const struct ctf_reader_config *config,
    struct ctf_reader_counts *counts, char why[CTF_READER_WHY_MAX]) MUST_CHECK;
/* May be called by a signal handler, at any time. */
void ctf_reader_interrupt(void);

#endif
