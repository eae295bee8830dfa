/* SPDX-License-Identifier: MIT */
/*
 * The stream of one CPU: pages of the ring buffer go in, in order, packets of
 * CTF come out (trace-cmd 4.3). Several pages become one packet, which ends
 * with CTF_PACKET_SIZE, where events were lost, and with ctf_stream_flush().
 *
 * Time never goes back: an event that is older than what the stream has already
 * given is left out. It is counted as discarded in the packets, as are events
 * that the kernel lost, those that the metadata does not describe, and those
 * whose bytes are not as described. Memory is fixed by the page size; streams
 * that are flushed before another one gets pages may share it. Single owner.
 */
#ifndef TOOLS_FTRACE_CTF_STREAM_H
#define TOOLS_FTRACE_CTF_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/client/packet.h"
#include "tools/ftrace/ctf_trace.h"

/* A packet ends with the page that makes it longer. */
#define CTF_PACKET_SIZE (64 * 1024)
/* A page may become so many times longer. Ordinary events become 5 percent
 * longer; those of a peer may name the same bytes again and again. */
#define CTF_PAGE_GROWTH 4

struct ctf_packet {
	const uint8_t *data; /* borrowed for the call */
	uint32_t size;
	uint64_t begin, end; /* trace clock */
	uint64_t discarded;  /* of the stream, so far */
	uint64_t seq;
	unsigned cpu;
	uint32_t n_events;
};

/* What happened to a stream, or to several. */
struct ctf_counts {
	uint64_t events, packets, bytes;
	uint64_t pages;
	uint64_t lost;	    /* the kernel said so; 1 where it did not count */
	uint64_t unknown;   /* events that are not described */
	uint64_t malformed; /* events, and pages, that cannot be read */
	uint64_t late;	    /* older than what was given */
	uint64_t dropped;   /* in packets for which there was no room */
};

struct ctf_stream_config {
	const struct ctf_trace *trace; /* borrowed */
	unsigned cpu;
	uint32_t page_size;
	uint8_t *room; /* ctf_stream_room(), borrowed; NULL: it has its own */
	/* A packet is complete. Not OK: the stream fails with it. */
	enum status (*packet)(void *arg, const struct ctf_packet *p);
	void *arg;
};

struct ctf_stream;

/* The bytes in which a packet is put together. */
size_t ctf_stream_room(uint32_t page_size);
enum status ctf_stream_create(
    struct ctf_stream **out, const struct ctf_stream_config *config) MUST_CHECK;
void ctf_stream_destroy(struct ctf_stream *s); /* NULL is fine */

/* PAGE has page_size bytes. OK, or what packet() said. */
enum status ctf_stream_page(
    struct ctf_stream *s, const uint8_t *page) MUST_CHECK;
/* What was put so far becomes a packet, unless there is no event in it. */
enum status ctf_stream_flush(struct ctf_stream *s) MUST_CHECK;
/* It was said that nothing older than TIME comes (after a flush). */
void ctf_stream_promise(struct ctf_stream *s, uint64_t time);
/* Nobody took packet P, whose events are counted as discarded from here on. */
void ctf_stream_drop(struct ctf_stream *s, const struct ctf_packet *p);
/* The time of the last event, or of the last promise; 0: none. */
uint64_t ctf_stream_time(const struct ctf_stream *s);
/* The time of the last event that came in a page, also of one that was left out
 * as it was too old; 0: none. */
uint64_t ctf_stream_came(const struct ctf_stream *s);
const struct ctf_counts *ctf_stream_counts(const struct ctf_stream *s);
void ctf_counts_add(struct ctf_counts *sum, const struct ctf_counts *c);

/* A packet of a recording as tools/client takes it. */

/* A copy of P, which is freed when it is done (client_packet_done()). */
enum status ctf_client_packet(
    struct client_packet *out, const struct ctf_packet *p) MUST_CHECK;

/* The name of a peer's host, as relays and directories take it: OUT has room
 * for DAT_NAME_MAX; "unknown" if there is none. */
void ctf_client_host(char *out, const char *name);

#endif
