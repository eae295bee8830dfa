/* SPDX-License-Identifier: MIT */
/*
 * The stream of one CPU: takes pages of the ring buffer in order, and makes CTF
 * packets (trace-cmd 4.3). A packet holds several pages; it ends at
 * KERNEL_PACKET_SIZE, where events were lost, and with kernel_stream_flush().
 * Time never goes back: an event that is older than the last one is left out
 * and counted as discarded, as are events that the kernel lost, events that the
 * metadata does not describe, and events whose bytes do not match their format.
 * The page size determines the memory; streams may share it if each is flushed
 * before another one gets pages. Single owner.
 */
#ifndef TOOLS_FTRACE_KERNEL_STREAM_H
#define TOOLS_FTRACE_KERNEL_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/client/packet.h"
#include "tools/ftrace/kernel_trace.h"

/* A packet ends after the page that makes it this long. */
#define KERNEL_PACKET_SIZE (64 * 1024)
/* A page grows at most by this factor. Ordinary events grow by 5 percent; those
 * of a peer may refer to the same bytes repeatedly. */
#define KERNEL_PAGE_GROWTH 4
/* With the names of symbols, which have 20 letters for 8 bytes. */
#define KERNEL_PAGE_GROWTH_SYMBOLS 32

struct kernel_packet {
	const uint8_t *data; /* borrowed for the call */
	uint32_t size;
	uint64_t begin, end; /* clock of the trace */
	uint64_t discarded;  /* events of the stream so far */
	uint64_t seq;
	unsigned cpu;
	uint32_t n_events;
};

/* Totals of one stream or of several. */
struct kernel_counts {
	uint64_t events, packets, bytes;
	uint64_t pages;
	uint64_t lost;	    /* by the kernel; 1 for each gap of unknown size */
	uint64_t unknown;   /* events without a description */
	uint64_t malformed; /* events and pages that are not readable */
	uint64_t late;	    /* events older than the one before */
	uint64_t dropped;   /* events of packets that nobody took */
};

struct kernel_stream_config {
	const struct kernel_trace *trace; /* borrowed */
	unsigned cpu;
	uint32_t page_size;
	uint8_t *buffer; /* kernel_stream_buffer_size() bytes, borrowed; NULL:
			  allocate them */
	/* Called with each complete packet. On failure the stream fails. */
	enum status (*packet)(void *arg, const struct kernel_packet *p);
	void *arg;
};

/* To be read by others, and changed only by kernel_stream.c. */
struct kernel_stream {
	struct kernel_counts counts;
	uint64_t last; /* the time of the last event or promise; 0: none */
	uint64_t last_event; /* the same, even if it was left out; no promise */
	struct kernel_stream_config config;
	struct page_layout layout;
	size_t page_max;		 /* what a page may become */
	const struct dat_shifts *shifts; /* of the CPU; NULL: none */
	uint64_t seq, discarded;
	uint8_t *own; /* NULL: MEM is borrowed */
	/* The current packet. */
	uint8_t *mem, *at;
	uint32_t n_events;
	uint64_t begin;
};

/* The bytes of memory in which a packet is built. */
size_t kernel_stream_buffer_size(uint32_t page_size);
enum status kernel_stream_create(struct kernel_stream **out,
    const struct kernel_stream_config *config) MUST_CHECK;
void kernel_stream_destroy(struct kernel_stream *s); /* NULL is fine */

/* PAGE has page_size bytes. Returns OK or what packet() returned. */
enum status kernel_stream_page(
    struct kernel_stream *s, const uint8_t *page) MUST_CHECK;
/* Completes the packet, unless it is empty. */
enum status kernel_stream_flush(struct kernel_stream *s) MUST_CHECK;
/* Viewers were told that no event before TIME follows. Call it after
 * a flush. */
void kernel_stream_promise(struct kernel_stream *s, uint64_t time);
/* Packet P was not taken: counts its events as discarded from here on. */
void kernel_stream_drop(struct kernel_stream *s, const struct kernel_packet *p);
void kernel_counts_add(
    struct kernel_counts *sum, const struct kernel_counts *c);

/* The same packet; its bytes are borrowed, and nothing is called when it is
 * done. */
struct client_packet kernel_client_packet(const struct kernel_packet *p);
/* Copies P; client_packet_done() frees the copy. */
enum status kernel_client_packet_copy(
    struct client_packet *out, const struct kernel_packet *p) MUST_CHECK;

/* A name from a peer as one component of a path. An empty NAME becomes
 * OTHERWISE. */
void kernel_file_name(
    char out[DAT_NAME_MAX], const char *name, const char *otherwise);

#endif
