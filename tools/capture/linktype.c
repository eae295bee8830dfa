/* SPDX-License-Identifier: MIT */
#include "tools/capture/linktype.h"

#include <stddef.h>

#include "tools/capture/record.h"

static const struct {
	libtrace_linktype_t libtrace;
	uint16_t pcap;
} rows[] = {
	{ TRACE_TYPE_ETH, LINKTYPE_ETHERNET },
	{ TRACE_TYPE_NONE, LINKTYPE_RAW },
	{ TRACE_TYPE_LINUX_SLL, LINKTYPE_LINUX_SLL },
	{ TRACE_TYPE_PPP, LINKTYPE_PPP },
	{ TRACE_TYPE_HDLC_POS, LINKTYPE_C_HDLC },
	{ TRACE_TYPE_80211, LINKTYPE_IEEE802_11 },
	{ TRACE_TYPE_80211_RADIO, LINKTYPE_RADIOTAP },
	{ TRACE_TYPE_80211_PRISM, 119 },
	{ TRACE_TYPE_OPENBSD_LOOP, LINKTYPE_LOOP },
	{ TRACE_TYPE_LLCSNAP, 100 }, /* ATM_RFC1483 */
	{ TRACE_TYPE_PFLOG, 117 },
};

uint16_t
linktype_from_libtrace(libtrace_linktype_t type)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].libtrace == type)
			return rows[i].pcap;
	return LINKTYPE_UNKNOWN;
}

libtrace_linktype_t
linktype_to_libtrace(uint16_t linktype)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].pcap == linktype)
			return rows[i].libtrace;
	return TRACE_TYPE_UNKNOWN;
}

bool
linktype_is_network(libtrace_linktype_t type)
{
	return type != TRACE_TYPE_DUCK && type != TRACE_TYPE_METADATA &&
	       type != TRACE_TYPE_NONDATA;
}
