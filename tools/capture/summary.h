/* SPDX-License-Identifier: MIT */
/* A packet in a few words. No state, any thread. */
#ifndef TOOLS_CAPTURE_SUMMARY_H
#define TOOLS_CAPTURE_SUMMARY_H

#include <stddef.h>

#include "tools/capture/headers.h"
#include "tools/capture/record.h"

/* Bytes of the longest, with its NUL. */
#define SUMMARY_LEN 176

/* UTF-8, for example "10.77.0.2:53206 → 10.77.0.1:5345 TCP SYN 74": from where
 * to where, protocol, what kind of packet of it, bytes on the wire. H: of R's
 * bytes. Returns the length without the NUL. */
size_t summary_write(
    char out[SUMMARY_LEN], const struct record *r, const struct headers *h);

#endif
