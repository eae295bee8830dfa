/* SPDX-License-Identifier: MIT */
#include "tools/capture/filter.h"

#include <stdio.h>

enum status
filter_compile(pcap_t *p, const char *text, struct bpf_program *program,
    char why[SOURCE_WHY_MAX])
{
	if (pcap_compile(p, program, text, 1, PCAP_NETMASK_UNKNOWN) == 0)
		return OK;
	snprintf(why, SOURCE_WHY_MAX, "not a filter: %.200s: %.200s", text,
	    pcap_geterr(p));
	return E_REFUSED;
}
