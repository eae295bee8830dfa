/* SPDX-License-Identifier: MIT */
/*
 * How long a packet of libtrace was on the wire. Its own answer,
 * trace_get_wire_length(), ends the program (an assertion of libtrace 3) when
 * that is 65,536 bytes or more, which a packet is that the network card will
 * divide, and any that a bad file claims to be.
 */
#ifndef TOOLS_CAPTURE_WIRE_H
#define TOOLS_CAPTURE_WIRE_H

#include <libtrace.h>
#include <stdint.h>

/* Bytes, as pcap counts: without a checksum that was not captured. From then on
 * libtrace does not ask itself, so that other calls are safe. */
uint32_t wire_length(libtrace_packet_t *p, libtrace_linktype_t type);

#endif
