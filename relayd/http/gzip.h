/* SPDX-License-Identifier: MIT */
/* Answers as gzip (RFC 1952), for those who accept it, by libdeflate. */
#ifndef RELAYD_HTTP_GZIP_H
#define RELAYD_HTTP_GZIP_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"

/* The header Accept-Encoding (RFC 9110, 12.5.3); NULL: none was sent. */
bool gzip_is_accepted(const char *accept);
/* Append N bytes at P to B as one member; members one after another are a gzip
 * file as well. Without memory B is bad. */
void gzip_add(struct buf *b, const void *p, size_t n);

#endif
