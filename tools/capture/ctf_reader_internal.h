/* SPDX-License-Identifier: MIT */
/* Between the files of ctf_reader. */
#ifndef TOOLS_CAPTURE_CTF_READER_INTERNAL_H
#define TOOLS_CAPTURE_CTF_READER_INTERNAL_H

#include <babeltrace2/babeltrace.h>

#include "tools/capture/ctf_dirs.h"
#include "tools/capture/ctf_reader.h"

struct ctf_reader {
	struct ctf_reader_config config;
	struct ctf_reader_counts *counts;
	char *why;
	enum status failed; /* ours, not babeltrace2's */
	bt_graph *graph;
	const bt_component_filter *muxer;
	uint64_t n_ports; /* of the muxer, that are connected */
	bt_message_iterator *iterator;
	uint8_t bytes[RECORD_LEN_MAX];
};

/* Notes a failure, with printf's words; returns ST. */
enum status ctf_reader_fail(struct ctf_reader *r, enum status st,
    const char *fmt, ...) PRINTF_LIKE(3, 4);
/* One message; the caller drops it. */
enum status ctf_reader_take(
    struct ctf_reader *r, const bt_message *message) MUST_CHECK;

#endif
