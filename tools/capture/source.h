/* SPDX-License-Identifier: MIT */
/*
 * Where packets come from: an input of libtrace, by its serial interface, which
 * is the same in libtrace 3 and 4. Only this file and writer.c know libtrace.
 * One thread at a time per source; the first source_open() before any thread is
 * started (libtrace registers its formats then).
 */
#ifndef TOOLS_CAPTURE_SOURCE_H
#define TOOLS_CAPTURE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/capture/record.h"

struct source_config {
	const char *uri;    /* of libtrace; borrowed */
	const char *filter; /* in pcap's language; NULL: none */
	uint32_t snaplen;   /* bytes of a packet, at most; 0: all */
	bool promiscuous;
	/* So many threads of libtrace's own may read it, if it has queues for
	 * them (parallel_input.h); up to 1: none. */
	unsigned threads;
	bool by_flow; /* both directions of a flow to one of them */
};

struct source;

/* What an URI has behind its format: a file, or an interface. URI itself if it
 * names no format. */
static inline const char *
source_place(const char *uri)
{
	const char *colon = strchr(uri, ':');

	return colon != NULL ? colon + 1 : uri;
}

/* Opened and started: a live source captures from now on, with a capability
 * that may be given up. Not OK: *WHY is one line, ended by a NUL. */
#define SOURCE_WHY_MAX 512
enum status source_open(struct source **out, const struct source_config *config,
    char why[SOURCE_WHY_MAX]) MUST_CHECK;
void source_close(struct source *s); /* NULL is fine */

/* Packets come as time goes by: none can be waited for, some may be dropped. */
bool source_is_live(const struct source *s);

enum source_got {
	SOURCE_PACKET,
	SOURCE_NOTHING, /* live: wait for wait_fd, or for so long */
	SOURCE_END,
	SOURCE_FAILED, /* source_error() says why */
};

struct source_wait {
	int fd;		/* readable: packets are there; -1: none */
	int timeout_ms; /* look again after it; -1: not needed */
};

/* The next packet: RECORD but its order, and *BYTES, which has record->cap_len
 * bytes and is valid until the next call. */
enum source_got source_next(struct source *s, struct record *record,
    const uint8_t **bytes, struct source_wait *wait) MUST_CHECK;
const char *source_error(const struct source *s);

/* How many threads of libtrace's own read it; 0: none, it is for source_next().
 */
unsigned source_threads(const struct source *s);

struct source_calls {
	void *arg;
	/* In thread THREAD: a packet, as of source_next(), which goes on.
	 * False: no more are wanted. BYTES are valid during the call. */
	bool (*packet)(void *arg, unsigned thread, struct record *record,
	    const uint8_t *bytes);
	/* In thread THREAD, again and again: some time went by. */
	void (*tick)(void *arg, unsigned thread);
};

/* Instead of source_next(), once: makes CALLS until STOP is readable, or one
 * wants no more, or the source ends or fails. No call comes after it. */
enum source_got source_run(
    struct source *s, const struct source_calls *calls, int stop) MUST_CHECK;

/* Packets that the kernel, or the device, had no room for, so far. */
uint64_t source_dropped(struct source *s);

/* Print the formats that libtrace knows. */
void source_list_formats(void);

#endif
