/* SPDX-License-Identifier: MIT */
/* What libtrace knows of a packet, as a record; and link types, which have
 * other numbers in libtrace than in pcap files. */
#ifndef TOOLS_CAPTURE_LIBTRACE_PACKET_H
#define TOOLS_CAPTURE_LIBTRACE_PACKET_H

#include <libtrace.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/capture/record.h"
#include "tools/capture/source.h"

/* What libtrace has computed of a packet; -1: nothing yet. */
#ifdef HAVE_LIBTRACE_CACHED /* libtrace 4 */
#define PACKET_CACHE(p) (&(p)->cached)
#else
#define PACKET_CACHE(p) (p)
#endif

/* Fills RECORD, and *BYTES, which belong to P. False: not a packet of the
 * network. */
bool packet_describe(
    libtrace_packet_t *p, struct record *record, const uint8_t **bytes);

/*
 * The length of a packet of libtrace on the wire. trace_get_wire_length() ends
 * the program (an assertion of libtrace 3) when that is 65,536 bytes or more,
 * as in packets that the network card will split, and in any bad file.
 */
/* Returns bytes as pcap counts: without a checksum that was not captured.
 * Libtrace then has the length cached, so that its other calls are safe. */
uint32_t wire_length(libtrace_packet_t *p, libtrace_linktype_t type);

/* TRACE_TYPE_UNKNOWN for one that libtrace does not know. */
libtrace_linktype_t linktype_to_libtrace(uint16_t linktype);

/* libtrace's last error: one line, without the name of the input. */
void libtrace_error(libtrace_t *trace, char why[SOURCE_WHY_MAX]);

/* A filter, if it is valid. libtrace 3 gets the one that was tried, as
 * it does not free what it compiles itself for ring:. libtrace 4 copies what
 * was compiled, and frees it with each copy, so it gets a fresh one. *OUT is
 * the caller's, if not NULL, in any case. */
enum status packet_filter_create(libtrace_filter_t **out, const char *text,
    char why[SOURCE_WHY_MAX]) MUST_CHECK;

#endif
