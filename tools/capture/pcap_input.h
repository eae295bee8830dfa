/* SPDX-License-Identifier: MIT */
/*
 * Files of packets in pcap's format, read by libpcap: libtrace 3 ends the
 * program, or the file, at a packet of 64 KiB, which a capture of an interface
 * with segmentation offload has many of. One thread at a time per input.
 */
#ifndef TOOLS_CAPTURE_PCAP_INPUT_H
#define TOOLS_CAPTURE_PCAP_INPUT_H

#include <pcap/pcap.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/capture/source.h"

struct pcap_input;

/* What pcap: and pcapfile: of CONFIG->uri name, or a plain name. OK and *OUT is
 * NULL: it is for libtrace, being of another format, compressed, or no file.
 * Nothing was read of it then. Not OK: as source_open(). */
enum status pcap_input_open(struct pcap_input **out,
    const struct source_config *config, char why[SOURCE_WHY_MAX]) MUST_CHECK;
void pcap_input_close(struct pcap_input *in); /* NULL is fine */

/* As source_next(); SOURCE_FAILED: WHY says it. */
enum source_got pcap_input_next(struct pcap_input *in, const char *uri,
    struct record *record, const uint8_t **bytes,
    char why[SOURCE_WHY_MAX]) MUST_CHECK;

/* Compile a filter in pcap's language (pcap-filter(7)) for packets of P's link
 * type; the caller calls pcap_freecode(). E_REFUSED: WHY is one line, without
 * the name of the input. */
enum status pcap_input_compile(pcap_t *p, const char *text,
    struct bpf_program *program, char why[SOURCE_WHY_MAX]) MUST_CHECK;

#endif
