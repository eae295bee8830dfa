/* SPDX-License-Identifier: MIT */
/* The options of tracepulse-capture; the rows are in options.tbl.h. */
#ifndef TOOLS_CAPTURE_OPTIONS_H
#define TOOLS_CAPTURE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/capture/pipeline.h"
#include "tools/capture/rotation.h"
#include "tools/sink/sink.h"

/* Inputs of one trace. */
#define CAPTURE_INPUTS_MAX 16
/* Bytes of a filter that is given as words. */
#define CAPTURE_FILTER_MAX 4096

enum sink_compression {
	SINK_GZIP,
	SINK_BZIP2,
	SINK_XZ,
	SINK_PLAIN,
};

struct capture_options {
	/* Exit with 0: --help or --version was printed, or ... */
	bool is_done;
	bool lists_formats; /* ... after printing the formats */
	bool lists_interfaces, lists_time_stamps;
	const char *uris[CAPTURE_INPUTS_MAX];
	bool is_file[CAPTURE_INPUTS_MAX]; /* not an interface of that name */
	unsigned n_uris;
	const char *from_ctf; /* NULL: from uris */
	/* NULL: none. It may be made of several words, in FILTER_WORDS. */
	const char *filter;
	char filter_words[CAPTURE_FILTER_MAX];
	bool is_numeric;		      /* in any case */
	uint32_t snaplen;		      /* 0: all */
	bool promiscuous, is_not_promiscuous; /* the default */
	enum capture_direction direction;
	unsigned buffer_kib; /* 0: the default */
	enum { TIME_STAMP_HOST } time_stamp_type;
	enum payload payload;
	const char *anon_key; /* a file; NULL: addresses stay */
	enum anon_checksums checksums;
	unsigned threads;
	enum pipeline_hash hash;
	enum { ORDER_STREAM, ORDER_STRICT } order;

	/* One of these three: see outputs[] in capture.c. */
	const char *relay, *output, *write;
	struct send_sink_config target; /* RELAY or OUTPUT */
	bool live, retry;
	const char *session;
	const char *hostname; /* NULL: this host's */
	uint64_t flush_ns;
	struct rotation rotation;
	uint64_t file_mb, file_s; /* the same, as --write has them */
	bool is_packet_buffered;
	unsigned files; /* 0: no limit */
	enum { PRECISION_NANO, PRECISION_MICRO } precision;
	enum sink_compression compression;
	unsigned level;

	uint64_t count, duration_ns; /* 0: no limit */
	bool stats, json, quiet;
};

/* Fills *O; strings point into ARGV. Not OK: a message is on stderr; exit
 * with 2. */
enum status capture_options_parse(
    struct capture_options *o, int argc, char **argv) MUST_CHECK;

#endif
