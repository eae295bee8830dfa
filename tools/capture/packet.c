/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/capture/packet.h"

#include <time.h>

#include "common/clock.h"
#include "tools/capture/linktype.h"
#include "tools/capture/wire.h"

/* pcap's number of the link type, also of one that libtrace has no name for. */
static uint16_t
link_type_of(const libtrace_packet_t *p, libtrace_linktype_t type)
{
	const uint16_t known = linktype_from_libtrace(type);

	if (known == LINKTYPE_UNKNOWN && p->type >= TRACE_RT_DATA_DLT &&
	    p->type <= TRACE_RT_DATA_DLT_END)
		return (uint16_t)(p->type - TRACE_RT_DATA_DLT);
	return known;
}

bool
packet_describe(libtrace_packet_t *p, struct record *r, const uint8_t **bytes)
{
	libtrace_linktype_t type = trace_get_link_type(p);
	struct timespec ts;
	uint32_t left = 0;
	int direction;

	r->wire_len = wire_length(p, type); /* before anything else */
	*bytes = trace_get_packet_buffer(p, &type, &left);
	if (*bytes == NULL)
		left = 0;
	if (!linktype_is_network(type))
		return false;
	ts = trace_get_timespec(p);
	direction = trace_get_direction(p);
	r->ns = (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
	r->cap_len = left;
	r->link_type = link_type_of(p, type);
	r->direction = direction == TRACE_DIR_OUTGOING ||
			       direction == TRACE_DIR_INCOMING ||
			       direction == TRACE_DIR_OTHER
			   ? (uint8_t)direction
			   : DIRECTION_UNKNOWN;
	r->kind = RECORD_PACKET;
	return true;
}
