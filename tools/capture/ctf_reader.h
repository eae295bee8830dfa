/* SPDX-License-Identifier: MIT */
/*
 * The packets of traces that tracepulse-capture made with --payload=full, by
 * libbabeltrace2. Without that library all is refused. One at a time in a
 * program.
 */
#ifndef TOOLS_CAPTURE_CTF_READER_H
#define TOOLS_CAPTURE_CTF_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/capture/record.h"

struct ctf_reader_config {
	const char *dir; /* with all traces at, and below, it */
	/* The next packet in time, with its bytes; both are borrowed. What is
	 * not OK ends the reading, which returns it. */
	enum status (*record)(
	    void *arg, const struct record *r, const uint8_t *bytes);
	void *arg;
};

struct ctf_reader_counts {
	uint64_t read;
	uint64_t discarded; /* packets of the network, when it was captured */
	uint64_t missing;   /* packets of CTF, on their way to a file */
	bool has_discarded; /* also some of which nobody knows how many */
};

/* The whole run, which ctf_reader_interrupt() ends early: E_BUSY. Not OK: *WHY
 * is one line, but empty where RECORD failed. */
#define CTF_READER_WHY_MAX 1024
enum status ctf_reader_run(const struct ctf_reader_config *config,
    struct ctf_reader_counts *counts, char why[CTF_READER_WHY_MAX]) MUST_CHECK;
/* May be called by a signal handler, at any time. */
void ctf_reader_interrupt(void);

#endif
