/* SPDX-License-Identifier: MIT */
/* The header of a packet (CTF 1.8, 5.1). */
#ifndef CTF_PACKET_H
#define CTF_PACKET_H

#include <stdint.h>

/* Begins each packet, in the byte order of the trace. */
#define CTF_MAGIC UINT32_C(0xc1fc1fc1)
/* Bytes of the UUID of a trace. */
#define CTF_UUID_LEN 16

#endif
