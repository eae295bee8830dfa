/* SPDX-License-Identifier: MIT */
/*
 * int:INTERFACE by a packet socket of our own (packet(7)). libtrace 3 reads
 * packets of at most 1,500 bytes there and tells that as their length on the
 * wire, which is false of jumbo frames and of what a network card divides or
 * joins; and it has no tags of VLANs that the kernel has taken off. One thread.
 */
#ifndef TOOLS_CAPTURE_INTERFACE_H
#define TOOLS_CAPTURE_INTERFACE_H

#include <pcap/pcap.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/capture/record.h"
#include "tools/capture/source.h"

struct interface;

/* OK with *OUT NULL: its link type is not known here, ask libtrace. Not OK:
 * WHY is one line, without the input's name. */
enum status interface_open(struct interface **out, const char *name,
    const struct source_config *config, char why[SOURCE_WHY_MAX]) MUST_CHECK;
void interface_close(struct interface *i); /* NULL is fine */

/* As source_next(). SOURCE_FAILED: errno. */
enum source_got interface_next(struct interface *i, struct record *record,
    const uint8_t **bytes, struct source_wait *wait) MUST_CHECK;
/* Packets that the kernel had no room for, so far. */
uint64_t interface_dropped(struct interface *i);

/* What the kernel may keep for a reader that is late: 0.2 seconds of 200,000
 * small packets a second. It takes CAP_NET_ADMIN to have more than the
 * administrator allows (net.core.rmem_max), which is one millisecond of them.
 * The kernel takes twice the number. */
#define INTERFACE_BUFFER (16 * 1024 * 1024)

bool interface_is_loopback(const char *interface);

/* A larger buffer, and of a loopback no outgoing packets, each of which also
 * comes in. What cannot be set stays as it is. */
void interface_tune(int fd, bool is_loopback);
/* The same of all packet sockets that are bound to INTERFACE. */
void interface_tune_bound(const char *interface);

#endif
