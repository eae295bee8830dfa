/* SPDX-License-Identifier: MIT */
/*
 * A source of packets: an input of libtrace, by its serial interface, which is
 * the same in libtrace 3 and 4, or one of our own readers. libtrace reads files
 * in a process of its own (file_input.h). One thread at a time
 * per source; the first source_open() must precede all threads (libtrace
 * registers its formats then).
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
	/* An interface, a file, or a URI of libtrace; borrowed. */
	const char *uri;
	bool is_file;	    /* URI is no interface */
	const char *filter; /* in pcap's language; NULL: none */
	uint32_t snaplen;   /* bytes of a packet, at most; 0: all */
	bool promiscuous;
	size_t buffer; /* of an interface: bytes shared with the kernel; 0:
			  the default */
	/* The number of libtrace's own threads that may read it, if it has
	 * queues for them (parallel_input.h); up to 1: none. */
	unsigned threads;
	bool by_flow; /* both directions of a flow to one of them */
};

struct source;

/* The part of a URI after its format: a file or an interface. The whole URI if
 * it has no format: formats have small letters only, so that files may have
 * colons in their names, as those of times do. */
static inline const char *
source_place(const char *uri)
{
	const size_t n = strspn(uri, "abcdefghijklmnopqrstuvwxyz");

	return n > 0 && uri[n] == ':' ? uri + n + 1 : uri;
}

/* What a user may do about a problem; "" if nothing is known. */
static inline const char *
source_advice(const char *problem)
{
	return strstr(problem, "not permitted") != NULL
		   ? " (root or CAP_NET_RAW is required)"
		   : "";
}

/* Open and start a source: if live, it captures from now on, with a capability
 * that may then be dropped. Not OK: *WHY is one line. */
#define SOURCE_WHY_MAX 512
enum status source_open(struct source **out, const struct source_config *config,
    char why[SOURCE_WHY_MAX]) MUST_CHECK;
void source_close(struct source *s); /* NULL is fine */

/* Does the source capture live? Then the reader must not wait, and packets may
 * be dropped. */
bool source_is_live(const struct source *s);

enum source_got {
	SOURCE_PACKET,
	SOURCE_NOTHING, /* live: wait as struct source_wait tells */
	SOURCE_END,
	SOURCE_FAILED, /* see source_error() */
};

struct source_wait {
	int fd;		/* readable when there are packets; -1: none */
	int timeout_ms; /* ask again after it; -1: not needed */
};

/* The next packet: fills RECORD, and *BYTES, which has
 * record->cap_len bytes and is valid until the next call. */
enum source_got source_next(struct source *s, struct record *record,
    const uint8_t **bytes, struct source_wait *wait) MUST_CHECK;
const char *source_error(const struct source *s);

/* The number of libtrace's own threads that read it; 0: none, use
 * source_next(). */
unsigned source_threads(const struct source *s);

struct source_calls {
	void *arg;
	/* Called in thread THREAD for each packet, as of source_next(). False:
	 * stop. BYTES are valid during the call. */
	bool (*packet)(void *arg, unsigned thread, struct record *record,
	    const uint8_t *bytes);
	/* Called in thread THREAD at intervals. */
	void (*tick)(void *arg, unsigned thread);
};

/* To be called once, instead of source_next(): makes CALLS until STOP is
 * readable, a call returns false, or the source ends or fails. No call is made
 * afterwards. */
enum source_got source_run(
    struct source *s, const struct source_calls *calls, int stop) MUST_CHECK;

/* Packets that the kernel or the device has dropped so far. */
uint64_t source_dropped(struct source *s);

/* Print the formats that libtrace knows. */
void source_list_formats(void);

#endif
