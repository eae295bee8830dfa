/* SPDX-License-Identifier: MIT */
/* libtrace's link types and those of pcap files, which are other numbers. */
#ifndef TOOLS_CAPTURE_LINKTYPE_H
#define TOOLS_CAPTURE_LINKTYPE_H

#include <libtrace.h>
#include <stdbool.h>
#include <stdint.h>

/* An enum linktype; LINKTYPE_UNKNOWN for one that has no number there. */
uint16_t linktype_from_libtrace(libtrace_linktype_t type);
/* TRACE_TYPE_UNKNOWN for one that libtrace does not know. */
libtrace_linktype_t linktype_to_libtrace(uint16_t linktype);
/* Not what a capture card says of itself. */
bool linktype_is_network(libtrace_linktype_t type);

#endif
