/* SPDX-License-Identifier: MIT */
/* Filters in pcap's language (pcap-filter(7)), compiled by libpcap. */
#ifndef TOOLS_CAPTURE_FILTER_H
#define TOOLS_CAPTURE_FILTER_H

#include <pcap/pcap.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/capture/source.h"

/* For packets of P's link type; pcap_freecode() is the caller's. E_REFUSED: WHY
 * is one line, without the input's name. */
enum status filter_compile(pcap_t *p, const char *text,
    struct bpf_program *program, char why[SOURCE_WHY_MAX]) MUST_CHECK;

#endif
