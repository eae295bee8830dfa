/* SPDX-License-Identifier: MIT */
/*
 * Reads int:INTERFACE by a packet socket of our own, with a ring (packet(7),
 * TPACKET_V3): libtrace 3 reads packets of at most 1,500 bytes there and
 * reports that as their length on the wire, which is wrong for jumbo frames and
 * for what a network card splits or joins; and it lacks the tags of VLANs that
 * the kernel has removed. One thread.
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

/* All interfaces, as Linux's cooked packets of version 2. */
#define INTERFACE_ANY "any"

struct interface;

/* Not OK: WHY is one line, without the name of the input. */
enum status interface_open(struct interface **out, const char *name,
    const struct source_config *config, char why[SOURCE_WHY_MAX]) MUST_CHECK;
void interface_close(struct interface *i); /* NULL is fine */

/* As source_next(). SOURCE_FAILED: errno. */
enum source_got interface_next(struct interface *i, struct record *record,
    const uint8_t **bytes, struct source_wait *wait) MUST_CHECK;
/* Packets that the kernel has dropped so far. */
uint64_t interface_dropped(struct interface *i);

/* What the kernel may queue for libtrace: 0.2 seconds of 200,000 small packets
 * a second. CAP_NET_ADMIN is required to exceed the administrator's
 * limit (net.core.rmem_max), which is one millisecond of them. The kernel takes
 * twice the number. */
#define INTERFACE_BUFFER (16 * 1024 * 1024)

bool interface_is_loopback(const char *interface);
/* Is NAME one that interface_open() knows, now? */
bool interface_is_there(const char *name);

/* Print the interfaces that can be captured. False: errno. */
bool interface_list(void);

/* Tune all packet sockets that are bound to INTERFACE, those that libtrace
 * opened: a larger buffer, and on a loopback no outgoing packets, each of which
 * is also an incoming one. Failures are ignored. */
void interface_tune_bound(const char *interface);

#endif
