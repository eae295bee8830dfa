/* SPDX-License-Identifier: MIT */
/*
 * Reads files in the formats pcap and pcapng by libpcap: libtrace 3 ends the
 * program, or the file, at a packet of 64 KiB, of which captures with
 * segmentation offload have many. One thread at a time per input.
 */
#ifndef TOOLS_CAPTURE_PCAP_INPUT_H
#define TOOLS_CAPTURE_PCAP_INPUT_H

#include <pcap/pcap.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/capture/source.h"

struct pcap_input;

/* The first bytes of a file or pipe, as they are in memory, without removing
 * them; waits for a pipe. */
bool pcap_input_peek(int fd, uint32_t *magic) MUST_CHECK;

/* Read FD, borrowed, the file of CONFIG->uri. OK with *OUT NULL: libtrace must
 * read it, as it has another format; nothing was read of it then. Not OK: as
 * source_open(). */
enum status pcap_input_open(struct pcap_input **out,
    const struct source_config *config, int fd,
    char why[SOURCE_WHY_MAX]) MUST_CHECK;
void pcap_input_close(struct pcap_input *in); /* NULL is fine */

/* As source_next(); SOURCE_FAILED: WHY is one line. */
enum source_got pcap_input_next(struct pcap_input *in, const char *uri,
    struct record *record, const uint8_t **bytes,
    char why[SOURCE_WHY_MAX]) MUST_CHECK;

/* Compile a filter in pcap's language (pcap-filter(7)) for packets of P's link
 * type; the caller calls pcap_freecode(). E_REFUSED: WHY is one line, without
 * the name of the input. */
enum status pcap_input_compile(pcap_t *p, const char *text,
    struct bpf_program *program, char why[SOURCE_WHY_MAX]) MUST_CHECK;

/* libpcap's number for a link type of files. */
int pcap_input_dlt(uint16_t link_type);

#endif
