/* SPDX-License-Identifier: MIT */
/* The header and the context of one packet, as the metadata lays them out. */
#ifndef TOOLS_SEND_HEADS_H
#define TOOLS_SEND_HEADS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/send/tsdl.h"

struct heads {
	const uint8_t *p; /* the packet; borrowed, like the layouts */
	const struct tsdl_layout *header, *context;
	uint64_t context_at; /* bits */
};

/* Find the stream class of the packet that begins at P, where N bytes are, and
 * its context. E_MALFORMED: *WHY is a constant text. */
enum status heads_find(struct heads *h, const struct tsdl *t, const uint8_t *p,
    uint64_t n, const char **why) MUST_CHECK;
bool heads_has(const struct heads *h, enum tsdl_name name);
/* The field of the context, or else of the header; without both OTHERWISE. */
uint64_t heads_get(
    const struct heads *h, enum tsdl_name name, uint64_t otherwise);

#endif
