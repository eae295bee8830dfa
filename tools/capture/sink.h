/* SPDX-License-Identifier: MIT */
/* The output of a capture. One thread calls a sink. A failure is final, and
 * described by sink->error, one line. */
#ifndef TOOLS_CAPTURE_SINK_H
#define TOOLS_CAPTURE_SINK_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/capture/batch.h"
#include "tools/capture/ctf.h"
#include "tools/capture/record.h"

#define SINK_ERROR_MAX 640
#define SINK_POLLFDS 2

struct sink;

struct sink_ops {
	/* Take a CTF packet of that stream: events after CTF_HEADER_LEN bytes,
	 * which the sink fills. The sink owns B, and calls batch_done(). */
	enum status (*packet)(
	    struct sink *sink, unsigned stream, struct batch *b);
	/* Take a packet of the network; NULL: the sink takes CTF packets. The
	 * arguments are borrowed. E_STOPPED: it takes no more, which is no
	 * failure. */
	enum status (*record)(
	    struct sink *sink, const struct record *r, const uint8_t *bytes);
	/* No later packet of this stream is older than NS. NULL: not needed. */
	enum status (*beacon)(struct sink *sink, unsigned stream, uint64_t ns);
	/* What to wait for, and when to call work(). NULL: nothing. */
	unsigned (*pollfds)(struct sink *sink, struct pollfd out[SINK_POLLFDS],
	    uint64_t *at_ns);
	enum status (*work)(struct sink *sink);
	/* Complete the output. */
	enum status (*finish)(struct sink *sink);
	/* Release everything except the memory of the sink. */
	void (*destroy)(struct sink *sink);
};

struct sink_config {
	struct ctf_trace trace; /* strings are borrowed */
	unsigned n_streams;
	/* May a call that is waiting go on? */
	bool (*may_wait)(void *arg);
	void *arg;
};

struct sink {
	const struct sink_ops *ops;
	struct sink_config config;
	char error[SINK_ERROR_MAX];
	uint64_t written; /* packets of the network */
	uint64_t events;  /* packets and statistics */
	uint64_t ctf_packets, bytes;
	bool uses_stdout; /* for packets, so the summary goes elsewhere */
	uint64_t
	    left_out; /* packets whose link type the output does not support */
};

/* Fill the header of a packet, which has number SEQ in its stream, where LOST
 * packets of the network were lost after the pipeline. Returns its contents. */
struct ctf_packet sink_header(const struct sink *sink, unsigned stream,
    struct batch *b, uint64_t seq, uint64_t lost);
/* Note a failure, with printf's words. Returns ST. */
enum status sink_fail(struct sink *sink, enum status st, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* Count a CTF packet that was delivered, as its batch has these. */
void sink_count(struct sink *sink, uint32_t packets, uint32_t n, uint32_t used);
/* Complete the output. It is a failure if no packet could be written because
 * of their link types. */
enum status sink_finish(struct sink *sink) MUST_CHECK;
void sink_destroy(struct sink *sink); /* NULL is fine */

/* Create, or empty, the file PATH for writing; "-" is standard output. It must
 * not be an input. The caller closes *FD. Not OK: sink->error. */
enum status sink_open_file(
    struct sink *sink, const char *path, int *fd) MUST_CHECK;

/* For the functions below: a struct of SIZE bytes that begins with its sink;
 * NULL without memory, and WHY says so. */
void *sink_new(size_t size, const struct sink_ops *ops,
    const struct sink_config *config, char why[SINK_ERROR_MAX]);
/* ST is the result of opening SINK: sets *OUT, or copies the error to WHY and
 * destroys the sink. Returns ST. */
enum status sink_opened(struct sink **out, struct sink *sink, enum status st,
    char why[SINK_ERROR_MAX]) MUST_CHECK;

/*
 * The sinks. A new one is a file with these operations and a function that
 * makes it, a line in capture.c's table of outputs, and rows of its options.
 * OPTIONS are borrowed. Not OK: WHY is one line.
 */
struct capture_options;
typedef enum status sink_create(struct sink **out,
    const struct sink_config *config, const struct capture_options *options,
    char why[SINK_ERROR_MAX]) MUST_CHECK;
/* Takes CTF packets, to options->target. */
sink_create sink_ctf_create;
/* Takes records, to a file or an output of libtrace. */
sink_create sink_file_create;

/* What sink_file_create() makes for pcap files and, if IS_NG, pcapng files
 * without compression; PATH "-" is standard output. */
enum status sink_pcap_create(struct sink **out,
    const struct sink_config *config, const char *path, bool is_ng,
    const struct capture_options *options, char why[SINK_ERROR_MAX]) MUST_CHECK;

#endif
