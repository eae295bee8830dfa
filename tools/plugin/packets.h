/* SPDX-License-Identifier: MIT */
/*
 * Packets of a Perfetto trace. A message that is encoded in parts is the parts
 * one behind the other, so that nothing has to wait for the end of the trace.
 */
#ifndef TOOLS_PLUGIN_PACKETS_H
#define TOOLS_PLUGIN_PACKETS_H

#include <stdbool.h>

#include "tools/plugin/perfetto.pb-c.h"
#include "tools/plugin/text.h"

/* Those of one host, with names and threads of its own. Zeroed before use. */
struct packets {
	uint32_t host; /* from 0 */
	bool begun;
};

/* Appends the bytes of MESSAGE. False: no memory. */
bool packets_append(struct text *out, const ProtobufCMessage *message);

/* Appends PACKET, of which the members that all have are set. */
bool packets_put(
    struct packets *p, Perfetto__TracePacket *packet, struct text *out);

/* Appends events of CPU, encoded as for a FtraceEventBundle. */
bool packets_put_bundle(struct packets *p, uint32_t cpu,
    const struct text *events, struct text *out);

#endif
