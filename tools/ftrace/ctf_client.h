/* SPDX-License-Identifier: MIT */
/* A packet of a recording as tools/client takes it. */
#ifndef TOOLS_FTRACE_CTF_CLIENT_H
#define TOOLS_FTRACE_CTF_CLIENT_H

#include "common/compiler.h"
#include "common/status.h"
#include "tools/client/packet.h"
#include "tools/ftrace/ctf_packet.h"

/* A copy of P, which is freed when it is done (client_packet_done()). */
enum status ctf_client_packet(
    struct client_packet *out, const struct ctf_packet *p) MUST_CHECK;

/* The name of a peer's host, as relays and directories take it: OUT has room
 * for DAT_NAME_MAX; "unknown" if there is none. */
void ctf_client_host(char *out, const char *name);

#endif
